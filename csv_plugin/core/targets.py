"""The tokens that losses of all models are mapped onto."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.losses import LossTable, TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import TextSet


@dataclass(frozen=True, eq=False)
class TargetTokens:
    """One tokenization of a validation set, without the texts themselves.

    Args:
        text_ids (tuple[str, ...]): S names, in the order of the set.
        hashes (tuple[str, ...]): SHA-256 of each text. Length S.
        spans (tuple[TokenSpans, ...]): Tokens of each text. Length S.
        fingerprint (str): Of the set; see `texts.fingerprint`.

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
        """Tokens of a validation set, in its order."""
        return cls(texts.ids, tuple(text.sha256 for text in texts),
                   tuple(spans), texts.fingerprint)

    def __repr__(self) -> str:
        return (f'TargetTokens({self.n_tokens} tokens of '
                f'{len(self.text_ids)} texts {self.fingerprint[:12]})')

    @property
    def n_tokens(self) -> int:
        """T, the tokens of all texts."""
        return sum(len(spans) for spans in self.spans)

    def check_table(self, table: LossTable) -> None:
        """Refuse losses that are on other tokens.

        Args:
            table (LossTable): Losses on the same texts.

        Raises:
            InputError: A text has more or fewer tokens than expected.
        """
        counts = [len(spans) for spans in self.spans]
        if np.diff(table.token_offsets).tolist() != counts:
            raise InputError(
                'losses', f'the {self.n_tokens} tokens of the training',
                f'{table.losses.shape[1]} tokens, or other tokens',
                'Map the losses onto the tokens of the training.')

    def table(self, losses: Mapping[str, Sequence[TokenLosses]]) -> LossTable:
        """Losses of M models on these tokens (Algorithm 1).

        Scored: the target tokens all of whose bytes the model scored.

        Args:
            losses (Mapping): Each model's losses, its texts in any order.

        Raises:
            InputError: There is no model, or a model's texts are not these.
        """
        ordered = {
            model: self._ordered(model, texts)
            for model, texts in losses.items()
        }
        return LossTable.from_models(ordered, self.spans, self.text_ids,
                                     self.fingerprint)

    def _ordered(self, model: str,
                 texts: Sequence[TokenLosses]) -> list[TokenLosses]:
        check_unique(f'losses of {model!r}', [text.text_id for text in texts])
        by_id = {text.text_id: text for text in texts}
        if unknown := by_id.keys() - set(self.text_ids):
            raise InputError(f'losses of {model!r}',
                             'losses on the texts of the training',
                             f'losses on {min(unknown)!r}',
                             'Score the texts that the training used.')
        for text_id, sha256 in zip(self.text_ids, self.hashes):
            if text_id not in by_id:
                raise InputError(f'losses of {model!r}',
                                 f'losses on text {text_id!r}', 'none',
                                 'Score all texts of the validation set.')
            recorded = by_id[text_id].sha256
            if recorded and recorded != sha256:
                raise InputError(f'losses of {model!r}, text {text_id!r}',
                                 f'a text with the SHA-256 {sha256[:12]}',
                                 recorded[:12],
                                 'Score the texts that the training used.')
        return [by_id[text_id] for text_id in self.text_ids]
