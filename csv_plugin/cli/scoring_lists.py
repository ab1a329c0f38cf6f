"""Scoring the models of a list, beside other calls that do the same."""
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Optional

from csv_plugin.core.conventions import shortened
from csv_plugin.core.escaping import one_line
from csv_plugin.io.claims import HeldClaim, claimed, read_claims
from csv_plugin.io.list_states import error_note, error_noted
from csv_plugin.io.model_lists import ListedModel
from csv_plugin.io.weight_files import read_ahead

#: Most characters of the names that a line lists.
_WIDTH = 100


def score_list(models: Mapping[str, ListedModel], out: Path,
               shard: tuple[int, int], score: Callable[[str, HeldClaim], None],
               told: Callable[[str], AbstractContextManager[None]]) -> None:
    """Score the models that no other call works on.

    The models of the call's own part come first, and are looked at even if
    they are done or have failed. Of the other parts it takes what nobody has
    begun, or whose process has died; but nothing after a model of its own has
    failed, which may be the fault of the machine.

    Args:
        models (Mapping[str, ListedModel]): By name.
        out (Path): Folder of the dumps.
        shard (tuple[int, int]): The part of the call, from 1, and the number
            of parts.
        score (Callable): Scores a model that this call has claimed.
        told (Callable): Wraps the work on a model, and tells of its errors.
    """
    out.mkdir(parents=True, exist_ok=True)
    order = _in_turn(list(models), *shard)
    n_own = len(list(models)[shard[0] - 1::shard[1]])
    others = []
    with _ends_after_sigterm():
        for i, name in enumerate(order):
            is_done = _dump(out, name).exists()
            if i == n_own and any(
                    error_note(out, own).exists() for own in order[:n_own]):
                break
            if i >= n_own and (is_done or error_note(out, name).exists()):
                continue
            with told(name), claimed(out, name) as claim:
                if claim is None:
                    others.append(name)
                elif i < n_own or not _dump(out, name).exists():
                    if not is_done:
                        _read_next(models, out, order[i + 1:])
                    with error_noted(out, name):
                        score(name, claim)
    left = [name for name in others if not _dump(out, name).exists()]
    if left:
        print(
            one_line(f'Others work on {len(left)} models: '
                     f'{shortened(", ".join(left), _WIDTH)}'))


def _in_turn(names: list[str], number: int, count: int) -> list[str]:
    """All names; the parts that follow one's own come next.

    >>> _in_turn(['a', 'b', 'c', 'd', 'e'], 2, 3)
    ['b', 'e', 'c', 'a', 'd']
    """
    return [
        name for part in range(count)
        for name in names[(number - 1 + part) % count::count]
    ]


def _dump(out: Path, name: str) -> Path:
    return out / f'{name}.parquet'


def _read_next(models: Mapping[str, ListedModel], out: Path,
               names: list[str]) -> None:
    """Read the weights that are likely to be loaded next."""
    taken = read_claims(out)
    for name in names:
        if name not in taken and not _dump(out, name).exists():
            read_ahead(models[name].path)
            return


@contextmanager
def _ends_after_sigterm() -> Iterator[None]:
    """Give claims free when the process is asked to end, as by Slurm."""

    def end(number: int, frame: Optional[FrameType]) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
