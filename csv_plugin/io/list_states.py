"""How far the models of a list are scored, by the files in one folder."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.io.claims import read_claims
from csv_plugin.io.dumps import read_dump_info
from csv_plugin.io.files import read_text, write_text

#: States of a model, in the order in which it passes through them.
STATES = ('missing', 'claimed', 'failed', 'done')


@dataclass(frozen=True)
class ListState:
    """How far a model is.

    Args:
        model (str): Its name.
        state (str): One of `STATES`: nobody works on it; a process does; the
            last one that did ended with an error; its dump is there.
        reason (str): Who works on it, or why it is not done; one line.
    """
    model: str
    state: str
    reason: str = ''


def error_note(folder: Path, name: str) -> Path:
    """The file that says why a model could not be scored."""
    return folder / f'{name}.error.txt'


@contextmanager
def error_noted(folder: Path, name: str) -> Iterator[None]:
    """Keep the error that ends the body of the `with` statement.

    The note of an earlier call is removed.

    Args:
        folder (Path): Of the dumps.
        name (str): Of the model.

    Raises:
        Exception: As in the body.
    """
    note = error_note(folder, name)
    note.unlink(missing_ok=True)
    try:
        yield
    except Exception as error:
        kind = '' if isinstance(error, InputError) else type(error).__name__
        # On a full disk, the error is raised all the same.
        with suppress(OSError, InputError):
            write_text(note, ' '.join(f'{kind} {error}'.split()))
        raise


def list_states(folder: Path,
                names: Sequence[str],
                progress: Progress = iter) -> list[ListState]:
    """How far the models of a list are.

    Args:
        folder (Path): Of their dumps.
        names (Sequence[str]): Of the models.
        progress (Progress): Wraps the models.

    Returns:
        list[ListState]: In the order of the names. A dump counts as done if
        it is as it was written.

    Raises:
        InputError: There is no such folder.
    """
    if not folder.is_dir():
        raise InputError(
            str(folder), 'the folder of the dumps', 'none',
            'Give --out of the calls of salience losses.')
    claims = read_claims(folder)
    states = []
    for name in progress(names):
        claim, note = claims.get(name), error_note(folder, name)
        dump = folder / f'{name}.parquet'
        if dump.exists():
            states.append(_of_dump(name, dump))
        elif claim and not claim.is_dead():
            states.append(ListState(name, 'claimed', str(claim)))
        elif note.exists():
            states.append(ListState(name, 'failed', read_text(note)))
        else:
            reason = f'left by {claim}' if claim else ''
            states.append(ListState(name, 'missing', reason))
    return states


def _of_dump(name: str, dump: Path) -> ListState:
    try:
        read_dump_info(dump)
    except InputError as error:
        return ListState(name, 'failed', str(error))
    return ListState(name, 'done')
