"""Token losses of one model on a text, and of many models on all texts."""
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import (InputError, PublicNames, check_known,
                                         check_unique)
from csv_plugin.core.failed_scoring import MANY, check_models
from csv_plugin.core.formatting import short_repr, shortened
from csv_plugin.core.mapping import map_losses
from csv_plugin.core.spans import TextSpans, TokenSpans
from csv_plugin.core.texts import TextSet

#: Nats by which rounding may make a loss negative. In float32, `-log p` is the
#: difference of two numbers of the size of the logits: those of 1000 are
#: rounded by 3e-5, and an engine rounds a few times.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class TokenLosses:
    """Losses of one model on the tokens of one text.

    Scored: every token whose loss is not NaN. NaN marks a token without a
    loss, such as the first one when no BOS precedes it.

    Args:
        text_id (str): Name of the text.
        losses (NDArray): `-log p` of each token, nats, 0 or more except for
            `ROUNDING`. `(n,)`.
        spans (TokenSpans): Places of the n tokens.
        n_chars (int): Characters (code points) of the raw text.
        sha256 (str): Hash of the UTF-8 text, 64 hexadecimal digits; empty if
            not recorded.

    Raises:
        InputError: There is not one loss per token, one of them is out of its
            range, the hash is malformed, or no text has that many characters
            in that many bytes.
    """
    text_id: str
    losses: NDArray[np.float64]
    spans: TokenSpans
    n_chars: int
    sha256: str = ''

    def __post_init__(self) -> None:
        where = f'losses of text {self.text_id!r}'
        losses = np.asarray(self.losses, np.float64)
        if losses.shape != (len(self.spans), ):
            raise InputError(where, f'shape {(len(self.spans), )}',
                             str(losses.shape), 'Give one value per token.')
        sound = _sound(losses)
        if not sound.all():
            token = int(np.argmin(sound))
            raise InputError(
                where, 'finite losses of 0 or more',
                f'{losses[token]} at token {token}',
                'Score the text again, in higher precision; losses are -log p.'
            )
        # A character takes 1 to 4 bytes.
        if not self.n_chars <= self.n_bytes <= 4 * self.n_chars:
            raise InputError(
                f'text {self.text_id!r}', '1 to 4 bytes per character',
                f'{self.n_chars} characters and {self.n_bytes} bytes',
                'Count the code points and the UTF-8 bytes of the raw text.')
        if not re.fullmatch('([0-9a-f]{64})?', self.sha256):
            raise InputError(f'sha256 of text {self.text_id!r}',
                             '64 hexadecimal digits, lower case',
                             repr(self.sha256),
                             'Hash the UTF-8 text, or leave it empty.')
        object.__setattr__(self, 'losses', losses)

    __repr__ = short_repr

    @property
    def n_bytes(self) -> int:
        """UTF-8 bytes of the text."""
        return self.spans.n_bytes


def _sound(losses: NDArray) -> NDArray[np.bool_]:
    """Finite numbers of 0 or more except for rounding; NaN where unscored."""
    # In 32 bits, the bound itself would be another.
    values = np.asarray(losses, np.float64)
    return ~(values < -ROUNDING) & ~np.isinf(values)


@dataclass(frozen=True, eq=False)
class TextLosses(Sequence[TokenLosses]):
    """Losses of one model on S texts, T tokens in all: `TokenLosses` by text.

    These are made when they are asked for.

    Args:
        ids (tuple[str, ...]): Length S.
        hashes (tuple[str, ...]): SHA-256 of each text, or empty.
        n_chars (NDArray): Characters of each text. `(S,)`.
        spans (TextSpans): The T tokens.
        losses (NDArray): `-log p` of each token, nats, NaN where unscored, in
            any number format. `(T,)`.
    """
    ids: tuple[str, ...]
    hashes: tuple[str, ...]
    n_chars: NDArray[np.int64]
    spans: TextSpans
    losses: NDArray

    def __post_init__(self) -> None:
        n_bytes = self.spans.n_bytes
        possible = np.clip(n_bytes, self.n_chars, 4 * self.n_chars)
        if not (np.array_equal(n_bytes, possible)
                and _sound(self.losses).all()):
            list(self)  # raises an error that names the text

    @classmethod
    def of(cls, texts: Iterable[TokenLosses]) -> 'TextLosses':
        """Lay the losses on texts end to end."""
        if isinstance(texts, cls):
            return texts
        ids, hashes, n_chars, spans = [], [], [], []
        # Without any text, the losses are an empty array.
        losses = [np.zeros(0)]
        for text in texts:
            ids.append(text.text_id)
            hashes.append(text.sha256)
            n_chars.append(text.n_chars)
            spans.append(text.spans)
            losses.append(text.losses)
        return cls(
            tuple(ids), tuple(hashes), np.array(n_chars, np.int64),
            TextSpans.of(spans), np.concatenate(losses))

    @classmethod
    def concatenate(cls, parts: Sequence['TextLosses']) -> 'TextLosses':
        """Join losses of one model, one part or more."""
        with_texts = [part for part in parts if len(part)]
        if not with_texts:
            return parts[0]
        if len(with_texts) == 1:
            return with_texts[0]
        ids: list[str] = []
        hashes: list[str] = []
        n_chars, spans, losses = [], [], []
        for part in with_texts:
            ids += part.ids
            hashes += part.hashes
            n_chars.append(part.n_chars)
            spans.append(part.spans)
            losses.append(part.losses)
        return cls(
            tuple(ids), tuple(hashes), np.concatenate(n_chars),
            TextSpans.concatenate(spans), np.concatenate(losses))

    def select(self, rows: Sequence[int]) -> 'TextLosses':
        """Return the losses on some texts, by their indices."""
        if list(rows) == list(range(len(self))):
            return self
        return TextLosses(
            tuple(self.ids[row] for row in rows),
            tuple(self.hashes[row] for row in rows), self.n_chars[rows],
            self.spans.select(rows), self.losses[self.spans.tokens_of(rows)])

    def in_order(self, where: str, ids: Sequence[str],
                 hashes: Sequence[str]) -> 'TextLosses':
        """Return losses on all texts of a validation set, in its order."""
        place = {text_id: row for row, text_id in enumerate(self.ids)}
        _refuse(where,
                set(ids) - place.keys(), 'no losses on',
                'Score the missing texts, or give all shards.')
        _refuse(where,
                place.keys() - set(ids), 'losses on unknown texts,',
                'Read the validation set that was scored.')
        found = self.select([place[text_id] for text_id in ids])
        # A hash may not be recorded.
        changed = []
        for text_id, ours, theirs in zip(ids, found.hashes, hashes):
            if ours and ours != theirs:
                changed.append(text_id)
        _refuse(where, changed, 'losses on another wording of',
                'Score the texts again, as they are now.')
        return found

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, text: Any) -> Any:
        if isinstance(text, slice):
            return self.select(range(len(self))[text])
        row = range(len(self))[text]
        return TokenLosses(self.ids[row],
                           self.losses[self.spans.tokens_of([row])],
                           self.spans[row], int(self.n_chars[row]),
                           self.hashes[row])

    __repr__ = short_repr


def _refuse(where: str, text_ids: Collection[str], problem: str,
            remedy: str) -> None:
    if text_ids:
        listed = ', '.join(map(repr, sorted(text_ids)))
        raise InputError(where, 'losses on the texts of the validation set',
                         shortened(f'{problem} {listed}', 200), remedy)


@dataclass(frozen=True, eq=False)
class LossTable:
    """Losses of M models on one tokenization of S texts, T tokens in all.

    Scored: every loss that is not NaN, which may differ between models;
    `scored` marks the tokens that all models scored.

    Args:
        models (tuple[str, ...]): M names, unique.
        text_ids (tuple[str, ...]): S names, unique.
        losses (NDArray): `-log p`, nats. `(M, T)`.
        token_offsets (NDArray): Tokens of text `s` are
            `token_offsets[s]:token_offsets[s + 1]`. `(S + 1,)`.
        n_chars (NDArray): Characters of each raw text. `(S,)`.
        n_bytes (NDArray): UTF-8 bytes of each raw text. `(S,)`.
        fingerprint (str): Validation set; see `texts.fingerprint`.
    """
    models: tuple[str, ...]
    text_ids: tuple[str, ...]
    losses: NDArray[np.float64]
    token_offsets: NDArray[np.int64]
    n_chars: NDArray[np.int64]
    n_bytes: NDArray[np.int64]
    fingerprint: str

    def select(self, models: Sequence[str]) -> 'LossTable':
        """Return the given models, in the given order.

        Raises:
            InputError: A model is missing from the table, or given twice.
        """
        check_unique('models', models)
        check_known('losses', models, self.models)
        rows = [self.models.index(model) for model in models]
        return replace(self, models=tuple(models), losses=self.losses[rows])

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Mask of the tokens that every model scored in full, `(T,)`."""
        return ~np.isnan(self.losses).any(axis=0)

    __repr__ = short_repr

    def text_of_token(self) -> NDArray[np.int64]:
        """Return the index of each token's text, 0..S-1, `(T,)`."""
        return np.repeat(
            np.arange(len(self.text_ids)), np.diff(self.token_offsets))


def _means(losses: NDArray, offsets: NDArray) -> NDArray[np.float64]:
    """Mean loss of each text by its tokens; NaN where none is scored."""
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    scored = ~np.isnan(losses)
    n_texts = len(offsets) - 1
    sums = np.bincount(text, np.where(scored, losses, 0), n_texts)
    counts = np.bincount(text, scored, n_texts)
    with np.errstate(invalid='ignore'):
        return sums / counts


@dataclass(frozen=True, eq=False)
class TargetTokens(PublicNames):
    """One tokenization of a validation set, without the texts themselves.

    Args:
        text_ids (tuple[str, ...]): S names, in the order of the set.
        hashes (tuple[str, ...]): SHA-256 of each text.
        spans (TextSpans): Tokens of each text.
        fingerprint (str): Validation set; see `texts.fingerprint`.
    """
    text_ids: tuple[str, ...]
    hashes: tuple[str, ...]
    spans: TextSpans
    fingerprint: str

    @classmethod
    def of(cls, texts: TextSet, spans: Sequence[TokenSpans]) -> 'TargetTokens':
        """Make tokens of a validation set, in its order."""
        return cls(texts.ids, texts.hashes, TextSpans.of(spans),
                   texts.fingerprint)

    __repr__ = short_repr

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all texts, T."""
        return len(self.spans.starts)

    def check_table(self, table: LossTable) -> None:
        """Raise an `InputError` for losses on other tokens of these texts."""
        offsets = self.spans.token_offsets
        if not np.array_equal(table.token_offsets, offsets):
            raise InputError(
                'losses', f'the {self.n_tokens} tokens of the training',
                f'{table.losses.shape[1]} tokens, or other tokens',
                'Map the losses onto the tokens of the training.')

    def table(self, losses: Mapping[str, Sequence[TokenLosses]]) -> LossTable:
        """Return losses of M models on these tokens (Algorithm 1).

        Scored: the target tokens all of whose bytes the model scored.

        Args:
            losses (Mapping): Each model's losses, its texts in any order.

        Raises:
            InputError: There is no model, a model's texts are not these, or
                its losses are none (see `failed_scoring`).
        """
        if not losses:
            raise InputError('LossTable', 'at least one model', 'none',
                             'Collect token losses of a model first.')
        offsets = self.spans.token_offsets
        ordered = []
        for model, texts in losses.items():
            ordered.append(self._ordered(model, texts))
        rows, means = [], []
        for own in ordered:
            (row, ) = map_losses(own.losses[None], own.spans, self.spans)
            rows.append(row)
            means.append(_means(row, offsets))
        check_models('token losses', tuple(losses), np.array(means), MANY)
        return LossTable(
            tuple(losses), self.text_ids, np.stack(rows), offsets,
            ordered[0].n_chars, self.spans.n_bytes, self.fingerprint)

    def _ordered(self, model: str, texts: Sequence[TokenLosses]) -> TextLosses:
        """Losses on these texts, in their order."""
        where = f'losses of {model!r}'
        found = TextLosses.of(texts)
        check_unique(where, found.ids)
        found = found.in_order(where, self.text_ids, self.hashes)
        n_bytes = found.spans.n_bytes
        for text in np.flatnonzero(n_bytes != self.spans.n_bytes):
            raise InputError(f'{where}, text {self.text_ids[text]!r}',
                             f'a text of {self.spans.n_bytes[text]} bytes',
                             f'one of {n_bytes[text]}',
                             'Score the texts that the training used.')
        return found
