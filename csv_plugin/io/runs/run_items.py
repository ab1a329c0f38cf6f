"""How many items of a benchmark a run has answers to."""
import os
import re
from itertools import count
from pathlib import Path

from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import read_json

#: The beginning of an entry in a file of predictions of OpenCompass, which
#: numbers the items from 0.
_ENTRY = re.compile(rb'\n    "(\d+)": \{')


def items_run(work_dir: FilePath, model: str, dataset: str) -> int:
    """Return the number of items with a prediction, 0 if there are none.

    Names are those of folders and files. The files may be large, so only their
    ends are read.
    """
    folder = Path(work_dir, 'predictions', model)
    whole = folder / f'{dataset}.json'
    if whole.is_file():
        return _entries(whole)
    n_items = 0
    for part in count():
        path = folder / f'{dataset}_{part}.json'
        if not path.is_file():
            break
        n_items += _entries(path)
    return n_items


def _entries(path: Path) -> int:
    """Return the number of entries of a file of predictions."""
    with path.open('rb') as file:
        # Bytes at the end of a file that are searched for the last entry.
        n_bytes = 2**16
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - n_bytes, 0))
        found = _ENTRY.findall(file.read())
    if found:
        return int(found[-1]) + 1
    # The last entry is longer, or another program wrote the file.
    return len(read_json(path, 'Remove it, and run again with -r.'))
