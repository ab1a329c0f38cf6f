"""Token losses of one model on a text, and of many models on all texts."""
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Booleans, Floats, Integers
from csv_plugin.core.conventions import (InputError, PublicNames, check_known,
                                         check_unique)
from csv_plugin.core.failed_scoring import MANY, check_models
from csv_plugin.core.formatting import short_repr, shortened
from csv_plugin.core.mapping import map_losses
from csv_plugin.core.spans import TextSpans, TokenSpans
from csv_plugin.core.texts import TextSet

#: Largest number of nats by which rounding may make a loss negative. In
#: float32, `-log p` is the difference of two numbers of the size of the
#: logits. Rounding changes a logit of 1000 by 3e-5, and an engine rounds a few
#: times.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class TokenLosses:
    """Losses of one model on the tokens of one text.

    A token without a loss has NaN, such as the first token of a text that no
    BOS token precedes. All other tokens count as scored.

    Args:
        text_id (str): Name of the text.
        losses (NDArray): The loss `-log p` of each of the n tokens in nats,
            0 or more, or negative by at most `ROUNDING`. `(n,)`.
        spans (TokenSpans): The bytes of the text that each token covers.
        n_chars (int): Number of characters (code points) of the raw text.
        sha256 (str): SHA-256 hash of the UTF-8 text, 64 hexadecimal digits;
            empty if it is not recorded.

    Raises:
        InputError: The number of losses is not the number of tokens, a loss is
            infinite or negative, the hash is malformed, or no text has
            `n_chars` characters in `spans.n_bytes` bytes.
    """
    text_id: str
    losses: Floats
    spans: TokenSpans
    n_chars: int
    sha256: str = ''

    def __post_init__(self) -> None:
        where = f'losses of text {self.text_id!r}'
        losses = np.asarray(self.losses, np.float64)
        shape = (len(self.spans), )
        if losses.shape != shape:
            raise InputError(where, f'shape {shape}', f'shape {losses.shape}',
                             'Give one loss for each token.')
        sound = _sound(losses)
        if not sound.all():
            token = int(np.argmin(sound))
            raise InputError(
                where, 'finite losses of 0 or more',
                f'{losses[token]} at token {token}',
                'Score the text again in higher precision. A loss is -log p.')
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
                             'Hash the UTF-8 text, or leave sha256 empty.')
        object.__setattr__(self, 'losses', losses)

    __repr__ = short_repr

    @property
    def n_bytes(self) -> int:
        """Number of UTF-8 bytes of the text."""
        return self.spans.n_bytes


def _sound(losses: NDArray) -> Booleans:
    """Return the mask of valid losses, with the shape of `losses`.

    A loss is valid if it is finite and at least -`ROUNDING`, or if it is NaN,
    which stands for a token that was not scored.
    """
    # Compared in 64 bits: float32 would round the bound.
    values = np.asarray(losses, np.float64)
    is_negative = values < -ROUNDING
    is_infinite = np.isinf(values)
    return ~(is_negative | is_infinite)


@dataclass(frozen=True, eq=False)
class TextLosses(Sequence[TokenLosses]):
    """Losses of one model on S texts, which have T tokens in all.

    This is a sequence of one `TokenLosses` per text. Each is made when its
    index is read.

    Args:
        ids (tuple[str, ...]): Names of the S texts.
        hashes (tuple[str, ...]): SHA-256 hash of each text; an empty string
            where it is not recorded.
        n_chars (NDArray): Number of characters of each text. `(S,)`.
        spans (TextSpans): The bytes that each of the T tokens covers.
        losses (NDArray): The loss `-log p` of each token in nats, NaN where a
            token was not scored, in any floating-point type. `(T,)`.
    """
    ids: tuple[str, ...]
    hashes: tuple[str, ...]
    n_chars: Integers
    spans: TextSpans
    losses: NDArray

    def __post_init__(self) -> None:
        n_bytes = self.spans.n_bytes
        # A character takes 1 to 4 bytes.
        possible = np.clip(n_bytes, self.n_chars, 4 * self.n_chars)
        are_possible = np.array_equal(n_bytes, possible)
        are_sound = _sound(self.losses).all()
        if not (are_possible and are_sound):
            # Making each `TokenLosses` raises an error that names the text.
            list(self)

    @classmethod
    def of(cls, texts: Iterable[TokenLosses]) -> 'TextLosses':
        """Return the losses on all given texts, in their order."""
        if isinstance(texts, cls):
            return texts
        ids = []
        hashes = []
        n_chars = []
        spans = []
        # The empty array makes `concatenate` work if there is no text.
        losses = [np.zeros(0)]
        for text in texts:
            ids.append(text.text_id)
            hashes.append(text.sha256)
            n_chars.append(text.n_chars)
            spans.append(text.spans)
            losses.append(text.losses)
        return cls(
            ids=tuple(ids),
            hashes=tuple(hashes),
            n_chars=np.array(n_chars, np.int64),
            spans=TextSpans.of(spans),
            losses=np.concatenate(losses))

    @classmethod
    def concatenate(cls, parts: Sequence['TextLosses']) -> 'TextLosses':
        """Return the texts of all parts, in their order.

        `parts` has at least one element, all of the same model.
        """
        with_texts = [part for part in parts if len(part)]
        if not with_texts:
            return parts[0]
        if len(with_texts) == 1:
            return with_texts[0]
        ids: list[str] = []
        hashes: list[str] = []
        n_chars = []
        spans = []
        losses = []
        for part in with_texts:
            ids += part.ids
            hashes += part.hashes
            n_chars.append(part.n_chars)
            spans.append(part.spans)
            losses.append(part.losses)
        return cls(
            ids=tuple(ids),
            hashes=tuple(hashes),
            n_chars=np.concatenate(n_chars),
            spans=TextSpans.concatenate(spans),
            losses=np.concatenate(losses))

    def select(self, rows: Sequence[int]) -> 'TextLosses':
        """Return the losses on the texts with the given indices."""
        all_rows = range(len(self))
        if [*rows] == [*all_rows]:
            return self
        tokens = self.spans.tokens_of(rows)
        return TextLosses(
            ids=tuple(self.ids[row] for row in rows),
            hashes=tuple(self.hashes[row] for row in rows),
            n_chars=self.n_chars[rows],
            spans=self.spans.select(rows),
            losses=self.losses[tokens])

    def in_order(self, where: str, ids: Sequence[str],
                 hashes: Sequence[str]) -> 'TextLosses':
        """Return the losses on all texts of a validation set, in its order.

        Args:
            where (str): What error messages call these losses.
            ids (Sequence[str]): Names of the texts of the validation set.
            hashes (Sequence[str]): SHA-256 hashes of these texts.

        Raises:
            InputError: These losses lack a text of the validation set, have a
                text that is not in it, or have another hash of a text.
        """
        row_of_id = {text_id: row for row, text_id in enumerate(self.ids)}
        expected = {*ids}
        missing = expected - row_of_id.keys()
        unknown = row_of_id.keys() - expected
        _refuse(where, missing, 'no losses on',
                'Score the missing texts, or give all shards.')
        _refuse(where, unknown, 'losses on unknown texts,',
                'Read the validation set that was scored.')
        rows = [row_of_id[text_id] for text_id in ids]
        found = self.select(rows)
        # Texts without a recorded hash are not compared.
        changed = []
        of_texts = zip(ids, found.hashes, hashes)
        for text_id, recorded, expected_hash in of_texts:
            if recorded and recorded != expected_hash:
                changed.append(text_id)
        _refuse(where, changed, 'losses on another wording of',
                'Score the texts again, as they are now.')
        return found

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, text: Any) -> Any:
        """Return the `TokenLosses` of one text, `TextLosses` for a slice."""
        # A range accepts slices and negative indices, too.
        rows = range(len(self))[text]
        if isinstance(rows, range):
            return self.select(rows)
        tokens = self.spans.tokens_of([rows])
        return TokenLosses(
            text_id=self.ids[rows],
            losses=self.losses[tokens],
            spans=self.spans[rows],
            n_chars=int(self.n_chars[rows]),
            sha256=self.hashes[rows])

    __repr__ = short_repr


def _refuse(where: str, text_ids: Collection[str], problem: str,
            remedy: str) -> None:
    """Raise an `InputError` that lists the texts with a problem, if any."""
    if text_ids:
        listed = ', '.join(map(repr, sorted(text_ids)))
        found = shortened(f'{problem} {listed}', 200)
        raise InputError(where, 'losses on the texts of the validation set',
                         found, remedy)


@dataclass(frozen=True, eq=False)
class LossTable:
    """Losses of M models on one tokenization of S texts, T tokens in all.

    Args:
        models (tuple[str, ...]): Names of the M models, all different.
        text_ids (tuple[str, ...]): Names of the S texts, all different.
        losses (NDArray): The loss `-log p` of each model on each token in
            nats; NaN where the model did not score the token. `(M, T)`.
        spans (TextSpans): The bytes that each of the T tokens covers.
        n_chars (NDArray): Number of characters of each raw text. `(S,)`.
        fingerprint (str): Hash of the validation set, as
            `texts.fingerprint` computes it.
    """
    models: tuple[str, ...]
    text_ids: tuple[str, ...]
    losses: Floats
    spans: TextSpans
    n_chars: Integers
    fingerprint: str

    def select(self, models: Sequence[str]) -> 'LossTable':
        """Return the losses of the given models, in the given order.

        Raises:
            InputError: A model is missing from the table, or given twice.
        """
        check_unique('models', models)
        check_known('losses', models, self.models)
        rows = [self.models.index(model) for model in models]
        losses = self.losses[rows]
        return replace(self, models=tuple(models), losses=losses)

    @property
    def scored(self) -> Booleans:
        """Mask of the tokens on which every model has a loss, `(T,)`."""
        lacks_loss = np.isnan(self.losses)
        return ~lacks_loss.any(axis=0)

    @property
    def n_bytes(self) -> Integers:
        """Number of UTF-8 bytes of each raw text, `(S,)`."""
        return self.spans.n_bytes

    __repr__ = short_repr

    def text_of_token(self) -> Integers:
        """Return the index of each token's text, 0..S-1, `(T,)`."""
        return _texts_of_tokens(self.spans.token_offsets)


def _texts_of_tokens(offsets: NDArray) -> Integers:
    """Return the index of each token's text, `(T,)`.

    `offsets`, `(S + 1,)`, are as `TextSpans.token_offsets`.
    """
    n_tokens = np.diff(offsets)
    texts = np.arange(len(n_tokens))
    return np.repeat(texts, n_tokens)


def _means(losses: NDArray, offsets: NDArray) -> Floats:
    """Return the mean loss per scored token of each text, `(S,)`.

    `losses`, `(T,)`, are of one model, and `offsets`, `(S + 1,)`, are as
    `TextSpans.token_offsets`. A text without a scored token has NaN.
    """
    text = _texts_of_tokens(offsets)
    n_texts = len(offsets) - 1
    scored = ~np.isnan(losses)
    known_losses = np.where(scored, losses, 0)
    sums = np.bincount(text, known_losses, n_texts)
    counts = np.bincount(text, scored, n_texts)
    with np.errstate(invalid='ignore'):
        return sums / counts


@dataclass(frozen=True, eq=False)
class TargetTokens(PublicNames):
    """One tokenization of a validation set, without the texts themselves.

    Args:
        text_ids (tuple[str, ...]): Names of the S texts, in the order of the
            validation set.
        hashes (tuple[str, ...]): SHA-256 hash of each text.
        spans (TextSpans): The bytes that each token of each text covers.
        fingerprint (str): Hash of the validation set, as
            `texts.fingerprint` computes it.
    """
    text_ids: tuple[str, ...]
    hashes: tuple[str, ...]
    spans: TextSpans
    fingerprint: str

    @classmethod
    def of(cls, texts: TextSet, spans: Sequence[TokenSpans]) -> 'TargetTokens':
        """Return the tokens of a validation set.

        `spans` has the tokens of each text, in the order of `texts`.
        """
        return cls(
            text_ids=texts.ids,
            hashes=texts.hashes,
            spans=TextSpans.of(spans),
            fingerprint=texts.fingerprint)

    __repr__ = short_repr

    @property
    def n_tokens(self) -> int:
        """Number T of tokens of all texts together."""
        return len(self.spans.starts)

    def check_table(self, table: LossTable) -> None:
        """Raise an `InputError` if a table's losses are on other tokens."""
        if table.spans != self.spans:
            raise InputError(
                'losses', f'losses on the {self.n_tokens} tokens that the '
                'predictor was trained on',
                f'losses on {table.losses.shape[1]} tokens of another '
                'tokenization', 'Make the table with `Predictor.loss_table`.')

    def table(self, losses: Mapping[str, Sequence[TokenLosses]]) -> LossTable:
        """Return losses of M models on these tokens (Algorithm 1).

        A model has a loss on a token here if it scored all bytes of the token,
        with any tokenizer. Otherwise the loss is NaN.

        Args:
            losses (Mapping): The losses of each model by its name, with the
                texts in any order.

        Raises:
            InputError: There is no model, a model's texts are not the texts of
                the validation set, or its losses show that its scoring failed
                (see `failed_scoring`).
        """
        if not losses:
            raise InputError('losses', 'losses of at least one model', 'none',
                             'Collect the token losses of a model first.')
        offsets = self.spans.token_offsets
        ordered = []
        for model, texts in losses.items():
            ordered.append(self._ordered(model, texts))
        rows = []
        means = []
        for own in ordered:
            one_row = own.losses[None]
            (row, ) = map_losses(one_row, own.spans, self.spans)
            rows.append(row)
            means.append(_means(row, offsets))
        models = tuple(losses)
        check_models('token losses', models, np.array(means), MANY)
        return LossTable(
            models=models,
            text_ids=self.text_ids,
            losses=np.stack(rows),
            spans=self.spans,
            n_chars=ordered[0].n_chars,
            fingerprint=self.fingerprint)

    def _ordered(self, model: str, texts: Sequence[TokenLosses]) -> TextLosses:
        """Return the losses of a model with texts in the order of `text_ids`.

        Raises:
            InputError: The texts are not the texts of the validation set.
        """
        where = f'losses of {model!r}'
        found = TextLosses.of(texts)
        check_unique(where, found.ids)
        found = found.in_order(where, self.text_ids, self.hashes)
        n_bytes = found.spans.n_bytes
        is_other = n_bytes != self.spans.n_bytes
        for text in np.flatnonzero(is_other):
            raise InputError(f'{where}, text {self.text_ids[text]!r}',
                             f'a text of {self.spans.n_bytes[text]} bytes',
                             f'a text of {n_bytes[text]} bytes',
                             'Score the texts that the training used.')
        return found
