"""Token-loss dumps where an OpenCompass run leaves them.

The dump of a model lies at `<work_dir>/predictions/<model>/<dataset>.parquet`
or, where the run was partitioned, in `<dataset>_0.parquet` and so on; the
dataset is named after the fingerprint of the validation set.
"""
import os
import re
from pathlib import Path

from csv_plugin.core.errors import InputError
from csv_plugin.io.dumps import TokenLossDump, merge_dumps, read_dump

_NAME = 'salience_texts-'
_DUMP = re.compile(rf'({_NAME}[0-9a-f]+)(?:_(\d+))?\.parquet')


def dataset_abbr(fingerprint: str) -> str:
    """How a validation set is called among the datasets of a run.

    >>> dataset_abbr('0123456789abcdef')
    'salience_texts-0123456789ab'
    """
    return _NAME + fingerprint[:12]


def read_run_dump(work_dir: str | os.PathLike[str], model: str,
                  fingerprint: str) -> TokenLossDump:
    """What a run scored of one model on one validation set.

    Args:
        work_dir (str | os.PathLike[str]): Folder of the run, the one that
            holds `predictions`.
        model (str): The model's abbreviation in the run.
        fingerprint (str): Of the validation set; its first 12 digits count.

    Returns:
        TokenLossDump: Texts sorted by id. Of a partitioned run that was not
        finished there are only those of the finished parts.

    Raises:
        InputError: There is no dump on these texts, one cannot be read, or
            the parts do not fit together.
    """
    found = _dumps(Path(work_dir, 'predictions', model))
    abbr = dataset_abbr(fingerprint)
    if abbr not in found:
        raise InputError(
            'token losses', f'a dump of {abbr}',
            'those of ' + ', '.join(sorted(found)) if found else 'none',
            'Add it to the datasets of the run, or see the logs of the model.')
    # Like the host, prefer what an undivided run wrote.
    parts = found[abbr]
    paths = [parts['']] if '' in parts else parts.values()
    return merge_dumps(map(read_dump, paths), None)


def _dumps(folder: Path) -> dict[str, dict[str, Path]]:
    """Paths by dataset and number of the part, '' for all of it."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob('*.parquet')):
        if match := _DUMP.fullmatch(path.name):
            found.setdefault(match[1], {})[match[2] or ''] = path
    return found
