"""Record, and find, the reason why a run has no results on a dataset."""
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import shortened
from csv_plugin.io.files import FilePath, read_bytes, write_text

#: Suffix of a file with the error that occurred in place of a result.
ERROR = '.error.txt'
#: An error is quoted with at most this many characters, about three lines.
_LONGEST = 300
#: Pattern of the last line of a traceback in a log of OpenCompass.
_EXCEPTION = re.compile(r'^[A-Za-z_][\w.]*(?:Error|Exception|Exit)\b.*$', re.M)


@contextmanager
def failure_recorded(result: Path, log: str = '') -> Iterator[None]:
    """Write an error of the body to a file, which the run's summary quotes.

    `result` is the file of predictions or results that the body should write;
    the error is written beside it. `log` is the path, within the run, of a log
    with more about the error.
    """
    note = result.with_suffix(ERROR)
    # If the file cannot be removed or written, the run goes on without it.
    with suppress(OSError):
        note.unlink(missing_ok=True)
    try:
        yield
    except Exception as error:
        line = str(error)
        if not isinstance(error, InputError):
            line = shortened(f'{type(error).__name__}: {error}', _LONGEST)
        line = ' '.join(line.split())
        with suppress(OSError, InputError):
            note.parent.mkdir(parents=True, exist_ok=True)
            write_text(note, f'{line} (see {log})' if log else line)
        raise


def failure_of(work_dir: FilePath, model: str, dataset: str) -> str:
    """Return the error that prevented a result, and where its log is.

    The result is '' if no error is found. `model` and `dataset` are the names
    in the paths of the run's files. Tasks of this package write the error into
    a file `.error.txt`; for OpenCompass's own tasks, the logs are searched.
    """
    root = Path(work_dir)
    for stage, results in (('infer', 'predictions'), ('eval', 'results')):
        folder = root / results / model
        note = folder / f'{dataset}{ERROR}'
        if note.is_file():
            return read_bytes(note).decode('utf-8', 'replace')
        whole = folder / f'{dataset}.json'
        first_part = folder / f'{dataset}_0.json'
        if not whole.exists() and not first_part.exists():
            return _logged_error(root, stage, f'{model}/{dataset}')
    return ''


def _logged_error(root: Path, stage: str, pair: str) -> str:
    """Return the last error in the newest log that names `pair`.

    `pair` is MODEL/DATASET; `stage` is 'infer' or 'eval'.
    """
    # The log begins with a list in brackets of all pairs of its task.
    named = re.compile(rf'[\[,]{re.escape(pair)}[\],]')
    logs = Path(root, 'logs', stage).rglob('*.out')
    newest_first = sorted(
        logs, key=lambda path: path.stat().st_mtime, reverse=True)
    for log in newest_first:
        text = read_bytes(log).decode('utf-8', 'replace')
        if named.search(text):
            errors = _EXCEPTION.findall(text)
            what = errors[-1] if errors else 'its task ended without an error'
            error = shortened(what, _LONGEST)
            return f'{error} (see {log.relative_to(root)})'
    return ''
