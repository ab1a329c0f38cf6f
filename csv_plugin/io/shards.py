"""Shards of one model's token losses, joined and checked against the texts."""
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.texts import TextSet

#: Number of text ids that an error lists.
_N_LISTED = 10


def merge_dumps(dumps: Iterable[TokenLossDump],
                expected: Optional[TextSet] = None) -> TokenLossDump:
    """Join the shards in which the losses of one model were scored.

    The order of the shards does not matter. A text may occur in several
    shards, if its losses there are equal bit by bit.

    Args:
        dumps (Iterable[TokenLossDump]): At least one.
        expected (Optional[TextSet]): The validation set, whose texts must
            all be in the shards; None to accept any texts.

    Returns:
        TokenLossDump: Each text once, in the order of the validation set if
        it is given, and sorted by text id otherwise.

    Raises:
        InputError: There is no shard, shards were made in different ways
            or contradict each other on a text, or their texts are not those
            of the validation set.
    """
    shards = list(dumps)
    if not shards:
        raise InputError('shards of a dump', 'at least one', 'none',
                         'Give all files that scoring wrote.')
    info = shards[0].info
    for shard in shards:
        _check_same_info(info, shard.info)
        if shard.info.folder != info.folder:
            info = replace(info, folder='')
    where = f'dump of {info.model!r}'
    merged = _merge_texts(where, shards)
    if expected is None:
        order: Sequence[str] = sorted(merged)
    else:
        check_texts(where, merged, expected)
        if info.fingerprint != expected.fingerprint:
            raise InputError(
                where,
                f'the validation set with fingerprint {expected.fingerprint}',
                f'the validation set with fingerprint {info.fingerprint}',
                'Read the validation set that was scored, in its order.')
        order = expected.ids
    return TokenLossDump(info, tuple(merged[text_id] for text_id in order))


def check_texts(where: str, texts: Mapping[str, TokenLosses],
                expected: TextSet) -> None:
    """Refuse texts that are not those of a validation set.

    Args:
        where (str): Name of the texts in an error.
        texts (Mapping[str, TokenLosses]): By text id.
        expected (TextSet): The validation set.

    Raises:
        InputError: A text is missing, is not in the validation set, or
            differs from the text with the same id there.
    """
    hashes = {text.text_id: text.sha256 for text in expected}
    _refuse(where,
            hashes.keys() - texts, 'no losses on',
            'Score the missing texts, or give all shards.')
    _refuse(where,
            texts.keys() - hashes, 'losses on unknown texts,',
            'Read the validation set that was scored.')
    changed = {i for i in hashes if texts[i].sha256 != hashes[i]}
    _refuse(where, changed, 'losses on an earlier wording of',
            'Score the texts again, as they are now.')


def _merge_texts(where: str,
                 shards: Iterable[TokenLossDump]) -> dict[str, TokenLosses]:
    """The texts of all shards by text id; refuse contradicting shards."""
    merged: dict[str, TokenLosses] = {}
    contradictory = set()
    for shard in shards:
        for text in shard.texts:
            first = merged.setdefault(text.text_id, text)
            if _content(first) != _content(text):
                contradictory.add(text.text_id)
    if contradictory:
        raise InputError(where, 'the same losses of a text in all shards',
                         f'different losses on {_listed(contradictory)}',
                         'Remove the shards of an earlier run.')
    return merged


def _check_same_info(first: DumpInfo, info: DumpInfo) -> None:
    for field in fields(DumpInfo):
        # Where a part was scored does not change its losses.
        if field.name == 'folder':
            continue
        values = getattr(first, field.name), getattr(info, field.name)
        if values[0] != values[1]:
            raise InputError(f'shards of the dump of {first.model!r}',
                             f'the same {field.name} in all',
                             f'{values[0]!r} and {values[1]!r}',
                             'Merge only shards that one run wrote.')


def _refuse(where: str, text_ids: Collection[str], problem: str,
            remedy: str) -> None:
    if text_ids:
        raise InputError(where, 'losses on the texts of the validation set',
                         f'{problem} {_listed(text_ids)}', remedy)


def _listed(text_ids: Collection[str]) -> str:
    names = ', '.join(map(repr, sorted(text_ids)[:_N_LISTED]))
    more = len(text_ids) - _N_LISTED
    return f'{names} and {more} more' if more > 0 else names


def _content(text: TokenLosses) -> tuple[object, ...]:
    """All values of a text, equal only if they are equal bit by bit."""
    return (text.sha256, text.n_chars, text.spans, _bits(text.losses),
            _bits(text.token_ids), _bits(text.entropy), _bits(text.rank))


def _bits(values: Optional[NDArray]) -> Optional[bytes]:
    if values is None:
        return None
    # NaN has many bit patterns, and all of them mean "not scored".
    return np.where(np.isnan(values), np.nan, values).tobytes()
