"""Losses of whole texts, or of their ends, checked and joined to a table."""
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.measured import Measured
from csv_plugin.core.texts import TextSet, fingerprint

#: The most nats a byte or a token: servers write -9999 for log-probabilities
#: of minus infinity, and perplexities are not losses.
MOST_NATS = 100.0


@dataclass(frozen=True)
class TextLoss:
    """The loss of one model on one text, or on the end of it.

    Scored: all characters from `start` on, given those before.

    Args:
        text_id (str): Which text, or which item of a benchmark.
        text (str): The text; of an item, the question and the right answer.
        nats (float): `-log p` of the scored characters.
        start (int): The first of them, 0 for the whole text.
        where (str): The file and the line, for errors.
        measured (Optional[Measured]): What the file states about the model
            and the task, where it states anything.

    Raises:
        InputError: The loss is no finite number of 0 or more, or beyond what
            a language model can lose on so few bytes.
    """
    text_id: str
    text: str
    nats: float
    start: int = 0
    where: str = ''
    measured: Optional[Measured] = None

    def __post_init__(self) -> None:
        where = f'{self.where}, loss on {self.text_id!r}'.removeprefix(', ')
        if not math.isfinite(self.nats):
            raise InputError(where, 'a finite number',
                             repr(self.nats)[:80],
                             'Leave the model out, or score it again.')
        if self.nats < 0:
            raise InputError(
                where, 'a loss of 0 or more', f'{self.nats}',
                'Losses are -log p: change the sign of log-likelihoods.')
        try:
            self.text_id.encode()
            n_bytes = len(self.text[self.start:].encode())
        except UnicodeEncodeError as error:
            raise InputError(where, 'a text in UTF-8', str(error),
                             'Leave it out.') from None
        if self.nats > MOST_NATS * n_bytes:
            raise InputError(
                where, f'{MOST_NATS:g} nats or less a byte of its text',
                f'{self.nats:g} on {n_bytes} bytes',
                'Losses are sums of -log p over the tokens of one text.')

    @property
    def n_chars(self) -> int:
        """Number of scored characters."""
        return len(self.text) - self.start

    @property
    def unit(self) -> str:
        """Name of the feature column; that of an answer is not the text's."""
        return f'{self.text_id}[{self.start}:]' if self.start else self.text_id


def feature_table(losses: Mapping[str, Sequence[TextLoss]],
                  texts: Optional[TextSet] = None) -> FeatureTable:
    """Return the losses of M models on the same texts as feature columns.

    Scored: as in `TextLoss`. Texts without a scored character are left out.

    Args:
        losses (Mapping): Losses of each model on each text, in any order.
        texts (Optional[TextSet]): The texts that all must be on; by default
            those of the first model, sorted by their ids.

    Returns:
        FeatureTable: A column per text, in the order of the texts: nats per
        scored character. Its `uniform` is the text's share of all scored
        characters, which gives the all-token loss, as in
        `features.text_columns`.

    Raises:
        InputError: There is no model, the texts of a model are not those of
            the set, each once, the losses of two models begin at different
            characters of a text, or all losses of a model are the same.
    """
    by_model = check_losses(losses, texts)
    first = next(iter(by_model.values()))
    # Sorted, because programs shuffle the items of a benchmark.
    names = sorted(first) if texts is None else texts.ids
    kept = [first[name] for name in names if first[name].n_chars]
    n_chars = np.array([loss.n_chars for loss in kept], np.float64)
    values = np.array([[scored[loss.text_id].nats for loss in kept]
                       for scored in by_model.values()])
    columns = Columns(
        tuple(loss.unit for loss in kept), n_chars / n_chars.sum(),
        fingerprint((name, first[name].text) for name in names))
    return FeatureTable(
        tuple(by_model), columns, values / n_chars,
        tuple(
            replace(record, name=model) for model, scored in by_model.items()
            for record in _records(scored.values())))


def check_losses(
        losses: Mapping[str, Sequence[TextLoss]],
        texts: Optional[TextSet] = None) -> dict[str, dict[str, TextLoss]]:
    """Return losses by model and text if all are on the same texts.

    Args and errors as in `feature_table`.
    """
    if not losses:
        raise InputError('losses', 'those of a model or more', 'none',
                         'Name the files of a model or more.')
    by_model = {
        model: _by_text(f'losses of {model!r}', scored)
        for model, scored in losses.items()
    }
    expected = next(iter(by_model.values()))
    if texts is not None:
        starts = {name: loss.start for name, loss in expected.items()}
        expected = {
            text.text_id:
            TextLoss(text.text_id, text.text, 0, starts.get(text.text_id, 0))
            for text in texts
        }
    for model, scored in by_model.items():
        _check_texts(f'losses of {model!r}', scored, expected)
    return by_model


def _by_text(where: str, losses: Sequence[TextLoss]) -> dict[str, TextLoss]:
    check_unique(f'texts of the {where}', [loss.text_id for loss in losses])
    scored = [loss.nats for loss in losses if loss.n_chars]
    if not scored:
        raise InputError(where, 'a text with a scored character', 'none',
                         'Score the texts with the model.')
    if len(set(scored)) == 1 < len(scored):
        raise InputError(
            where, 'losses that depend on the text',
            f'{scored[0]:g} on each of {len(scored)} texts',
            'Look for the error of the program that scored them.')
    return {loss.text_id: loss for loss in losses}


def _check_texts(where: str, scored: Mapping[str, TextLoss],
                 expected: Mapping[str, TextLoss]) -> None:
    missing = [name for name in expected if name not in scored]
    unknown = [name for name in scored if name not in expected]
    for names, found in ((missing, 'none on'), (unknown, 'also')):
        if names:
            raise InputError(
                where, f'losses on the {len(expected)} texts of the set',
                f'{found} {names[0]!r} and {len(names) - 1} others',
                'Score all of these texts and no others.')
    for name, same in expected.items():
        loss = scored[name]
        if (loss.text, loss.start) != (same.text, same.start):
            raise InputError(
                f'{where}, text {name!r}', _scored_part(same),
                _scored_part(loss),
                'Score the same parts of the same texts with all models.')


def _scored_part(loss: TextLoss) -> str:
    return f'{loss.text[:100]!r} from character {loss.start} on'


def _records(losses: Iterable[TextLoss]) -> list[Measured]:
    """The records of losses; those of one file share one."""
    records = {id(loss.measured): loss.measured for loss in losses}
    return [record for record in records.values() if record]
