"""One model's token losses, joined from shards and held against the texts."""
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.texts import TextSet

#: How many text ids an error names.
_NAMED = 10


def merge_texts(
        where: str,
        shards: Iterable[Sequence[TokenLosses]]) -> dict[str, TokenLosses]:
    """The texts of all shards by text id.

    Args:
        where (str): What to call the shards in an error.
        shards (Iterable): Texts of each; one may be in several shards.

    Returns:
        dict[str, TokenLosses]: Each text once.

    Raises:
        InputError: Shards differ in a text, by as little as a bit.
    """
    merged: dict[str, TokenLosses] = {}
    contradictory = set()
    for shard in shards:
        for text in shard:
            known = merged.setdefault(text.text_id, text)
            if _content(known) != _content(text):
                contradictory.add(text.text_id)
    if contradictory:
        raise InputError(where, 'the same losses wherever a text occurs',
                         f'different ones on {_listed(contradictory)}',
                         'Remove the shards of an earlier run.')
    return merged


def check_texts(where: str, texts: Mapping[str, TokenLosses],
                expected: TextSet) -> None:
    """Refuse texts that are not those of a validation set.

    Args:
        where (str): What to call the texts in an error.
        texts (Mapping[str, TokenLosses]): By text id.
        expected (TextSet): The validation set.

    Raises:
        InputError: A text is missing, not in the set, or other than the
            one of the same id there.
    """
    hashes = {text.text_id: text.sha256 for text in expected}
    _refuse(where,
            hashes.keys() - texts, 'none on',
            'Score the missing texts, or give all shards.')
    _refuse(where,
            texts.keys() - hashes, 'others on unknown texts,',
            'Read the validation set that was scored.')
    changed = {i for i in hashes if texts[i].sha256 != hashes[i]}
    _refuse(where, changed, 'those of an earlier wording of',
            'Score the texts again, as they are now.')


def _refuse(where: str, text_ids: Collection[str], found: str,
            remedy: str) -> None:
    if text_ids:
        raise InputError(where, 'losses on the texts of the validation set',
                         f'{found} {_listed(text_ids)}', remedy)


def _listed(text_ids: Collection[str]) -> str:
    names = ', '.join(map(repr, sorted(text_ids)[:_NAMED]))
    more = len(text_ids) - _NAMED
    return f'{names} and {more} more' if more > 0 else names


def _content(text: TokenLosses) -> tuple[object, ...]:
    """What is equal only for equal rows, bit by bit."""
    return (text.sha256, text.n_chars, text.spans, _bits(text.losses),
            _bits(text.token_ids), _bits(text.entropy), _bits(text.rank))


def _bits(values: Optional[NDArray]) -> Optional[bytes]:
    if values is None:
        return None
    # NaN has many bit patterns, all of which mean unscored.
    return np.where(np.isnan(values), np.nan, values).tobytes()
