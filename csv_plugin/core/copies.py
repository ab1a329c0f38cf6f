"""Name models that have exactly the same losses."""
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from numpy.typing import NDArray

from csv_plugin.core.formatting import grouped


def hash_of(values: NDArray) -> bytes:
    """Return a hash of an array, which is equal for equal arrays."""
    return sha256(values.tobytes()).digest()


def equal_models(losses: Mapping[str, NDArray]) -> list[list[str]]:
    """Return groups of two or more models with exactly the same losses.

    `losses` maps models to arrays with their losses. A single loss for each
    model may be the same by chance, if it is rounded. Then there are no
    groups.
    """
    by_losses = []
    for model, own_losses in losses.items():
        if own_losses.size > 1:
            by_losses.append((hash_of(own_losses), model))
    groups = grouped(by_losses).values()
    return [group for group in groups if len(group) > 1]


def notes_on_copies(noun: str,
                    groups: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a note that names groups of models with the same losses.

    `noun` begins the note. Of more than four groups, the first are named.
    """
    if not groups:
        return
    named = [' = '.join(group) for group in groups]
    most = 4
    shown = '; '.join(named[:most])
    n_more = len(named) - most
    if n_more > 0:
        shown += f'; and {n_more} more'
    yield (f'{noun} with exactly the same losses, of which all but one may be '
           f'wrong uploads: {shown}.')
