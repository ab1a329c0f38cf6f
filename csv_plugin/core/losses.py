"""Token losses of one model on a text, and of many models on all texts."""
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.input_error import InputError, check_unique
from csv_plugin.core.mapping import map_losses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import TextSet

#: Nats by which rounding may make a loss or an entropy negative. In float32,
#: `-log p` is the difference of two numbers of the size of the logits: those
#: of 1000 are rounded by 3e-5, and an engine rounds a few times.
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
        token_ids (Optional[NDArray]): Vocabulary index of each token, None if
            not recorded. `(n,)`.
        entropy (Optional[NDArray]): Entropy of the distribution that predicted
            each token, nats; NaN where unscored, None if not recorded. `(n,)`.
        rank (Optional[NDArray]): Number of vocabulary entries with a larger
            logit than the token, 0 for the most likely one; -1 where unscored,
            None if not recorded. `(n,)`.
        sha256 (str): Hash of the UTF-8 text, 64 hexadecimal digits; empty if
            not recorded.

    Raises:
        InputError: There is not one loss, id, entropy and rank per token, one
            of them is out of its range, entropies or ranks are not those of
            the scored tokens, the hash is malformed, or no text has that many
            characters in that many bytes.
    """
    text_id: str
    losses: NDArray[np.float64]
    spans: TokenSpans
    n_chars: int
    token_ids: Optional[NDArray[np.int64]] = None
    entropy: Optional[NDArray[np.float64]] = None
    rank: Optional[NDArray[np.int64]] = None
    sha256: str = ''

    def __post_init__(self) -> None:
        self._keep('losses', _nats, _sound_nats,
                   'finite losses of 0 or more, -log p',
                   'Score the text again, in higher precision.')
        # A character takes 1 to 4 bytes.
        if not self.n_chars <= self.n_bytes <= 4 * self.n_chars:
            raise InputError(
                f'text {self.text_id!r}', '1 to 4 bytes per character',
                f'{self.n_chars} characters and {self.n_bytes} bytes',
                'Count the code points and the UTF-8 bytes of the raw text.')
        unscored = np.isnan(self.losses)
        self._keep('token_ids', _whole_numbers, lambda ids: ids >= 0,
                   '0 or more for every token')
        self._keep(
            'entropy', _nats, lambda nats:
            (np.isnan(nats) == unscored) & _sound_nats(nats),
            'nats, 0 or more, for every scored token, NaN for the others')
        self._keep('rank', _whole_numbers,
                   lambda rank: np.where(unscored, rank == -1, rank >= 0),
                   '0 or more for every scored token, -1 for the others')
        if not re.fullmatch('([0-9a-f]{64})?', self.sha256):
            raise InputError(f'sha256 of text {self.text_id!r}',
                             '64 hexadecimal digits, lower case',
                             repr(self.sha256),
                             'Hash the UTF-8 text, or leave it empty.')

    def _keep(self,
              field: str,
              convert: Callable[[str, ArrayLike], NDArray],
              sound: Callable[[NDArray], NDArray],
              expected: str,
              remedy: str = 'Record it together with the losses.') -> None:
        """Store a field, if it is recorded, as one sound value per token."""
        if getattr(self, field) is None:
            return
        where = f'{field} of text {self.text_id!r}'
        array = convert(where, getattr(self, field))
        if array.shape != (len(self.spans), ):
            raise InputError(where, f'shape {(len(self.spans), )}',
                             str(array.shape), 'Give one value per token.')
        if not sound(array).all():
            token = int(np.argmin(sound(array)))
            raise InputError(where, expected,
                             f'{array[token]} at token {token}', remedy)
        object.__setattr__(self, field, array)

    def __repr__(self) -> str:
        return (f'TokenLosses({self.text_id!r}, {self.n_scored} of '
                f'{len(self.spans)} tokens scored)')

    @property
    def n_bytes(self) -> int:
        """UTF-8 bytes of the text."""
        return self.spans.n_bytes

    @property
    def n_scored(self) -> int:
        """Number of scored tokens."""
        return int(np.count_nonzero(~np.isnan(self.losses)))


def _nats(_: str, values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, np.float64)


def _sound_nats(nats: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Finite numbers of 0 or more except for rounding, and NaN."""
    return ~(nats < -ROUNDING) & ~np.isinf(nats)


def _whole_numbers(where: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    # An empty list makes an array of floats, which is fine.
    if array.size and array.dtype.kind not in 'iu':
        raise InputError(where, 'whole numbers', f'the type {array.dtype}',
                         'Pass integers.')
    return array.astype(np.int64)


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
        missing = [model for model in models if model not in self.models]
        if missing:
            raise InputError('losses', 'losses of every model',
                             f'none of {missing[0]!r}',
                             'Collect its losses or leave it out.')
        rows = [self.models.index(model) for model in models]
        return replace(self, models=tuple(models), losses=self.losses[rows])

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Mask of the tokens that every model scored in full, `(T,)`."""
        return ~np.isnan(self.losses).any(axis=0)

    def __repr__(self) -> str:
        return (f'LossTable({len(self.models)} models x '
                f'{self.losses.shape[1]} tokens of {len(self.text_ids)} '
                f'texts {self.fingerprint[:12]})')

    def to_frame(self) -> Any:
        """Return a pandas table in nats, a row per text and token.

        NaN where a token was not scored. pandas must be installed.
        """
        import pandas
        texts = self.text_of_token()
        token = np.arange(len(texts)) - self.token_offsets[texts]
        ids = np.array(self.text_ids, dtype=object)[texts]
        index = pandas.MultiIndex.from_arrays([ids, token],
                                              names=['text_id', 'token'])
        return pandas.DataFrame(self.losses.T, index, list(self.models))

    def text_of_token(self) -> NDArray[np.int64]:
        """Return the index of each token's text, 0..S-1, `(T,)`."""
        return np.repeat(
            np.arange(len(self.text_ids)), np.diff(self.token_offsets))


@dataclass(frozen=True, eq=False)
class TargetTokens:
    """One tokenization of a validation set, without the texts themselves.

    Args:
        text_ids (tuple[str, ...]): S names, in the order of the set.
        hashes (tuple[str, ...]): SHA-256 of each text.
        spans (tuple[TokenSpans, ...]): Tokens of each text.
        fingerprint (str): Validation set; see `texts.fingerprint`.

    Raises:
        InputError: A name occurs twice, or the lengths differ.
    """
    text_ids: tuple[str, ...]
    hashes: tuple[str, ...]
    spans: tuple[TokenSpans, ...]
    fingerprint: str

    def __post_init__(self) -> None:
        check_unique('TargetTokens.text_ids', self.text_ids)
        lengths = len(self.text_ids), len(self.hashes), len(self.spans)
        if len(set(lengths)) > 1:
            raise InputError(
                'TargetTokens', 'one hash and one tokenization '
                f'for each of {lengths[0]} texts',
                f'{lengths[1]} and {lengths[2]}',
                'Make them of one validation set.')

    @classmethod
    def of(cls, texts: TextSet, spans: Sequence[TokenSpans]) -> 'TargetTokens':
        """Make tokens of a validation set, in its order."""
        return cls(texts.ids, tuple(text.sha256 for text in texts),
                   tuple(spans), texts.fingerprint)

    def __repr__(self) -> str:
        return (f'TargetTokens({self.n_tokens} tokens of '
                f'{len(self.text_ids)} texts {self.fingerprint[:12]})')

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all texts, T."""
        return sum(len(spans) for spans in self.spans)

    def check_table(self, table: LossTable) -> None:
        """Raise an `InputError` for losses on other tokens of these texts."""
        counts = [len(spans) for spans in self.spans]
        if np.diff(table.token_offsets).tolist() != counts:
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
            InputError: There is no model, or a model's texts are not these.
        """
        if not losses:
            raise InputError('LossTable', 'at least one model', 'none',
                             'Collect token losses of a model first.')
        rows = [self._ordered(model, texts) for model, texts in losses.items()]
        first = rows[0]
        n_chars = [text.n_chars for text in first]
        for model, texts in zip(losses, rows):
            for text, n in zip(texts, n_chars):
                if text.n_chars != n:
                    raise InputError(
                        f'losses of {model!r}, text {text.text_id!r}',
                        f'a text of {n} characters', f'one of {text.n_chars}',
                        'Score the same texts with all models.')
        return LossTable(
            tuple(losses), self.text_ids, self._mapped(rows),
            np.append(0, np.cumsum([len(spans) for spans in self.spans])),
            np.array(n_chars), np.array([text.n_bytes for text in first]),
            self.fingerprint)

    def _mapped(self,
                rows: Sequence[Sequence[TokenLosses]]) -> NDArray[np.float64]:
        """Losses of M models on the texts in order, `(M, T)`."""
        # Models with one tokenizer share one operator.
        by_tokens: dict[tuple[TokenSpans, ...], list[int]] = defaultdict(list)
        for row, texts in enumerate(rows):
            by_tokens[tuple(text.spans for text in texts)].append(row)
        mapped = np.empty((len(rows), self.n_tokens))
        for source, members in by_tokens.items():
            losses = [
                np.concatenate([text.losses for text in rows[row]])
                for row in members
            ]
            mapped[members] = map_losses(np.array(losses), source, self.spans)
        return mapped

    def _ordered(self, model: str,
                 texts: Sequence[TokenLosses]) -> list[TokenLosses]:
        check_unique(f'losses of {model!r}', [text.text_id for text in texts])
        by_id = {text.text_id: text for text in texts}
        if unknown := by_id.keys() - set(self.text_ids):
            raise InputError(f'losses of {model!r}',
                             'losses on the texts of the training',
                             f'losses on {min(unknown)!r}',
                             'Score the texts that the training used.')
        for text_id, sha256, spans in zip(self.text_ids, self.hashes,
                                          self.spans):
            if text_id not in by_id:
                raise InputError(f'losses of {model!r}',
                                 f'losses on text {text_id!r}', 'none',
                                 'Score all texts of the validation set.')
            text = by_id[text_id]
            # The hash may not be recorded.
            expected = sha256[:12], spans.n_bytes
            found = (text.sha256 or sha256)[:12], text.n_bytes
            if found != expected:
                raise InputError(
                    f'losses of {model!r}, text {text_id!r}',
                    'a text of {1} bytes with the SHA-256 {0}'.format(
                        *expected), '{1} bytes and {0}'.format(*found),
                    'Score the texts that the training used.')
        return [by_id[text_id] for text_id in self.text_ids]
