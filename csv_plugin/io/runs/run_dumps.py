"""Token-loss dumps where an OpenCompass run leaves them.

The dump of a model lies at `<work_dir>/predictions/<model>/<dataset>.parquet`
or, where the run was partitioned, in `<dataset>_0.parquet` and so on; the
dataset is named after the fingerprint of the validation set. Where a dump
could not be made, a `<dataset>.error.txt` says why.
"""
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.files import atomic_path
from csv_plugin.io.shards import merge_dumps

_NAME = 'salience_texts-'
_PART = re.compile(rf'({_NAME}[0-9a-f]+)(?:_(\d+))?')
_ERROR = '.error.txt'


def dataset_abbr(fingerprint: str) -> str:
    """How a validation set is called among the datasets of a run.

    >>> dataset_abbr('0123456789abcdef')
    'salience_texts-0123456789ab'
    """
    return _NAME + fingerprint[:12]


@contextmanager
def reason_kept(dump: Path) -> Iterator[None]:
    """Note beside a dump why it could not be made, for the summary.

    Runs go on after a model that failed, and its log is far away.

    Args:
        dump (Path): What the body of the `with` statement makes; its errors
            are noted and raised, the note of an earlier run is removed.

    Raises:
        InputError: In place of an OSError, such as that of a full disk.
    """
    note = dump.with_suffix(_ERROR)
    note.unlink(missing_ok=True)
    try:
        yield
    except OSError as error:
        failure = InputError(
            str(dump), 'a file that can be written',
            f'the error {str(error)!r}',
            'Make room on the disk and run again with -r.')
        _write(note, str(failure))
        raise failure from error
    except Exception as error:
        kind = '' if isinstance(error, InputError) else type(error).__name__
        _write(note, f'{kind} {error}')
        raise


def _write(note: Path, reason: str) -> None:
    # Without room or a folder for it; the error itself is told all the same.
    with suppress(OSError, InputError), atomic_path(note) as temporary:
        temporary.write_text(' '.join(reason.split()), 'utf-8')


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
    folder = Path(work_dir, 'predictions', model)
    found, failed = _files(folder, '.parquet'), _files(folder, _ERROR)
    abbr = dataset_abbr(fingerprint)
    parts = found.get(abbr, {})
    # Like the host, prefer what an undivided run wrote.
    if '' in parts:
        return merge_dumps([read_dump(parts[''])], None)
    for part, note in failed.get(abbr, {}).items():
        if part not in parts and (part or not parts):
            line = note.read_text('utf-8', 'replace').rstrip('.')
            raise InputError('token losses', f'a dump of {abbr}',
                             f'this error: {line}',
                             'Run again with -r to try again.')
    if not parts:
        raise InputError(
            'token losses', f'a dump of {abbr}',
            'those of ' + ', '.join(sorted(found)) if found else 'none',
            'Add it to the datasets of the run, or see the logs of the model.')
    return merge_dumps(map(read_dump, parts.values()), None)


def _files(folder: Path, suffix: str) -> dict[str, dict[str, Path]]:
    """Paths by dataset and number of the part, '' for all of it."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob('*' + suffix)):
        if match := _PART.fullmatch(path.name.removesuffix(suffix)):
            found.setdefault(match[1], {})[match[2] or ''] = path
    return found
