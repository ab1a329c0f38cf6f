"""Check losses on texts and on items, and join them into a table."""
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Optional

import numpy as np

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.core.measured import Measured
from csv_plugin.core.texts import TextSet, fingerprint
from csv_plugin.extras.importers.left_out import LeftOut, usable


@dataclass(frozen=True)
class TextLoss:
    """The loss of one model on one text, or on the last part of a text.

    `nats` is `-log p` of all characters from index `start` on, given the
    characters before `start`. A benchmark item is a text too: `text_id` names
    the item, and `text` is its question and its right answer. `where` is the
    file and the line, for error messages. `measured` is what the file states
    about the model and the task.
    """
    text_id: str
    text: str
    nats: float
    start: int = 0
    where: str = ''
    measured: Optional[Measured] = None

    def __post_init__(self) -> None:
        if not 0 <= self.nats < math.inf:
            raise self._error(
                'a finite number of 0 or more',
                repr(self.nats)[:80],
                'Score the text again, or change the sign of log-likelihoods.')
        try:
            self.text_id.encode()
            scored = self.text[self.start:].encode()
        except UnicodeEncodeError as error:
            raise self._error('a text in UTF-8', str(error),
                              'Leave this text out.') from None
        # Upper limit in nats per byte. It detects numbers that are not
        # losses: perplexities, and the -9999 that servers write for minus
        # infinity.
        most_nats = 100.0
        n_bytes = len(scored)
        if self.nats > most_nats * n_bytes:
            raise self._error(
                f'at most {most_nats:g} nats per byte of its text',
                f'{self.nats:g} nats on {n_bytes} bytes',
                'Give the sum of -log p over the tokens of the text.')

    def _error(self, *words: str) -> InputError:
        where = f'{self.where}, loss on {self.text_id!r}'.removeprefix(', ')
        return InputError(where, *words)

    @property
    def n_chars(self) -> int:
        """Number of scored characters."""
        return len(self.text) - self.start

    @property
    def unit(self) -> str:
        """Name of the feature column.

        If only the part from `start` on is scored, the name contains `start`.
        """
        return f'{self.text_id}[{self.start}:]' if self.start else self.text_id


def told_apart(names: Sequence[str], contents: Sequence[str]) -> list[str]:
    """Make the names of items unique.

    The ids of items may begin again in each split or subset of a task. To a
    name that occurs more than once, a hash of the item's content is appended.
    If both name and content are repeated, a number is appended too.

    >>> told_apart(['0', '1', '0', '1'], ['A?', 'B?', 'C?', 'B?'])
    ['0/2d003dcd', '1/7dbe17f0', '0/e8e7bfea', '1/7dbe17f0/2']
    """
    uses = Counter(names)
    seen = Counter[str]()
    unique = []
    for name, content in zip(names, contents):
        if uses[name] > 1:
            data = content.encode('utf-8', 'backslashreplace')
            digest = sha256(data).hexdigest()
            name = f'{name}/{digest[:8]}'
            seen[name] += 1
            if seen[name] > 1:
                name = f'{name}/{seen[name]}'
        unique.append(name)
    return unique


#: A text, and the index of its first scored character.
_Part = tuple[str, int]
#: The loss on the right answer of an item, or why the item is left out.
Answer = TextLoss | str
#: Losses of one model on the right answers of items, by task.
Items = dict[str, list[TextLoss]]


def feature_table(losses: Mapping[str, Sequence[TextLoss]],
                  texts: Optional[TextSet] = None) -> FeatureTable:
    """Return the losses of M models on the same texts as feature columns.

    The column of a text has the models' losses on this text, in nats per
    scored character; see `TextLoss`. Columns are in the order of `texts`, by
    default sorted by id. Texts without a scored character are left out. The
    `uniform` of the columns is the share of each text in all scored
    characters, as in `features.text_columns`. An `InputError` if models have
    losses on different texts or on different parts of the texts.
    """
    by_model = _checked(losses, texts)
    first = next(iter(by_model.values()))
    # Ids are sorted, because programs shuffle the items of a benchmark.
    names = sorted(first) if texts is None else texts.ids
    contents = []
    kept = []
    units = []
    lengths = []
    for name in names:
        loss = first[name]
        contents.append((name, loss.text))
        if loss.n_chars:
            kept.append(name)
            units.append(loss.unit)
            lengths.append(loss.n_chars)
    n_chars = np.array(lengths, np.float64)
    shares = n_chars / n_chars.sum()
    columns = Columns(tuple(units), shares, fingerprint(contents))
    nats = []
    records: list[Measured] = []
    for model, scored in by_model.items():
        nats.append([scored[name].nats for name in kept])
        # The losses of one file share a record.
        shared = {}
        for loss in scored.values():
            if loss.measured:
                shared[id(loss.measured)] = loss.measured
        for record in shared.values():
            records.append(replace(record, name=model))
    per_char = np.array(nats) / n_chars  # (M, texts)
    return FeatureTable(tuple(by_model), columns, per_char, tuple(records))


def item_table(models: Mapping[str, Items], left_out: LeftOut) -> FeatureTable:
    """Return the losses of models on the items that all models have.

    `models` are the losses by task of each model. `left_out` takes the tasks
    and the items that some models lack.
    """

    def shared(task: str) -> dict[str, list[TextLoss]]:
        """Return each model's losses on the items that all models have."""
        ids = []
        counts = []
        for model, items in models.items():
            losses_on_task = items.get(task, ())
            of_model = {loss.text_id for loss in losses_on_task}
            ids.append(of_model)
            counts.append(f'{len(of_model)} of {model}')
        common = set.intersection(*ids)
        if not common:
            raise InputError(task, 'items that all models have',
                             shortened(', '.join(counts), 80),
                             'Run this task with all models.')
        n_others = len(set.union(*ids) - common)
        if n_others:
            left_out.add('part', 'not scored with all models',
                         f'{counted(n_others, "item")} of {task}')
        losses: dict[str, list[TextLoss]] = {}
        for model, items in models.items():
            losses[model] = []
            for loss in items[task]:
                if loss.text_id in common:
                    losses[model].append(loss)
        _checked(losses, None)
        return losses

    tasks: dict[str, None] = {}
    for items in models.values():
        tasks |= dict.fromkeys(items)
    by_task = usable(shared, tasks, 'task', left_out)
    joined: dict[str, list[TextLoss]] = {}
    for model in models:
        joined[model] = []
    for losses in by_task.values():
        for model, of_model in losses.items():
            joined[model] += of_model
    return feature_table(joined)


def _checked(losses: Mapping[str, Sequence[TextLoss]],
             texts: Optional[TextSet]) -> dict[str, dict[str, TextLoss]]:
    """Return the losses by model and id of the text.

    An `InputError` if models have losses on different texts, or on different
    parts of a text.
    """
    if not losses:
        raise InputError('losses', 'losses of at least one model', 'none',
                         'Name the files of at least one model.')
    by_model: dict[str, dict[str, TextLoss]] = {}
    parts: dict[str, _Part] = {}
    for model, each in losses.items():
        where = f'losses of {model!r}'
        names = []
        found = {}
        by_model[model] = {}
        for loss in each:
            name = loss.text_id
            names.append(name)
            found[name] = loss.text, loss.start
            by_model[model][name] = loss
        check_unique(f'texts of the {where}', names)
        if not parts and texts is None:
            parts = found
        elif not parts:
            for text in texts or ():
                _, start = found.get(text.text_id, ('', 0))
                parts[text.text_id] = text.text, start
        for name in sorted(parts.keys() | found.keys()):
            expected_part = parts.get(name)
            found_part = found.get(name)
            if expected_part != found_part:
                raise InputError(
                    f'{where}, text {name!r}', _described(expected_part),
                    _described(found_part),
                    'Score the same parts of the same texts with all models.')
    return by_model


def _described(part: Optional[_Part]) -> str:
    """Return the scored part of a text for an error message."""
    if part is None:
        return 'no such text'
    text, start = part
    return f'{text[:100]!r} from character {start} on'
