"""Why a run has no predictions or results of a model on a dataset."""
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import shortened
from csv_plugin.io.files import FilePath, read_bytes, write_text

#: End of the names of notes of errors, which stand for missing results.
ERROR = '.error.txt'
#: Most characters of an error that is quoted: some three lines of a screen.
_LONGEST = 300
#: The last line of a traceback in a log of OpenCompass.
_EXCEPTION = re.compile(r'^[A-Za-z_][\w.]*(?:Error|Exception|Exit)\b.*$', re.M)


@contextmanager
def failure_recorded(result: Path, log: str = '') -> Iterator[None]:
    """Write errors to a file that the summary of the run quotes.

    `result` is the file of predictions or results that an error prevents,
    `log` is the file, within the run, that has more.
    """
    note = result.with_suffix(ERROR)
    # On a full disk, or without the folder, there is no file.
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
    """Return the error that prevented a result, and its log; '' if none.

    Names are those of folders and files. Tasks of this package leave a note of
    the error; of those of OpenCompass, the log of the task is read.
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
    """Return the last error in the newest log of a model and dataset."""
    # The log begins with the pairs of the task, in brackets.
    named = re.compile(rf'[\[,]{re.escape(pair)}[\],]')
    logs = (root / 'logs' / stage).rglob('*.out')
    for log in sorted(logs, key=lambda path: -path.stat().st_mtime):
        text = read_bytes(log).decode('utf-8', 'replace')
        if named.search(text):
            errors = _EXCEPTION.findall(text)
            what = errors[-1] if errors else 'its task ended without an error'
            return f'{shortened(what, _LONGEST)} (see {log.relative_to(root)})'
    return ''
