"""Count the items of a benchmark that a model has answered in a run."""
import os
import re
from itertools import count
from pathlib import Path

from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import read_json

#: Pattern of the beginning of an entry in OpenCompass's files of predictions.
#: Entries are numbered from 0.
_ENTRY = re.compile(rb'\n    "(\d+)": \{')


def items_run(work_dir: FilePath, model: str, dataset: str) -> int:
    """Return the number of items with a prediction, 0 if there are none.

    `model` and `dataset` are the names in the paths of the run's files. As
    files of predictions may be large, only the end of each file is read if
    possible.
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
    """Return the number of entries in a file of predictions."""
    with path.open('rb') as file:
        # The last entry is searched for in this many bytes at the end.
        n_bytes = 2**16
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - n_bytes, 0))
        found = _ENTRY.findall(file.read())
    if found:
        return int(found[-1]) + 1
    # The last entry is longer, or the file has another layout.
    return len(read_json(path, 'Remove it, and run again with -r.'))
