"""Records of what numbers were measured on, compared before they are used.

An accuracy or a loss belongs to weights, to items and to a prompt. Two
records agree on a fact if they are the same there, or if one is silent.
"""
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import shortened

#: Facts about the weights, which are the same for all numbers of a model.
WEIGHTS = 'model', 'revision', 'commit', 'dtype', 'quantization', 'adapter'
#: Facts that are the same for all models on a benchmark. The part is 'all' or
#: 'some' of its items.
METRIC, SHOTS = 'metric', 'number of few-shot examples'
N_ITEMS, PART = 'number of items', 'part of the items'
SETTINGS = METRIC, SHOTS, N_ITEMS, PART
#: Facts that are the same even where models are compared on common items, or
#: where the number of items was checked before.
ALIKE = METRIC, SHOTS
#: Facts that are better the same for all models on a benchmark.
VERSION, TEMPLATE = 'version of the task', 'chat template'
SYSTEM = 'system prompt'
_PROMPTS = VERSION, TEMPLATE, SYSTEM
#: Facts that change numbers a little from model to model.
_FORMATS = 'dtype', 'quantization'


@dataclass(frozen=True)
class Measured:
    """What a file states about an accuracy or about losses of one model.

    Args:
        name (str): The model, as the imported table calls it.
        task (str): The benchmark; empty for losses on a validation set.
        file (str): Where the record was read.
        facts (dict[str, Any]): Text or number by fact; None or no entry
            where the file is silent, 'none' if it states that there is none.
    """
    name: str
    task: str = ''
    file: str = ''
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Benchmark and file, to tell numbers of one model apart."""
        return f'{self.task or "losses"} in {Path(self.file).name}'


def check_measured(records: Sequence[Measured],
                   facts: Sequence[str] = SETTINGS) -> None:
    """Check that numbers may stand in one table, or beside each other.

    Raises:
        InputError: As in `check_weights` and `check_settings`.
    """
    check_weights(records)
    check_settings(records, facts)
    warn_of_differences(records)


def check_weights(records: Iterable[Measured]) -> None:
    """Raise an `InputError` if numbers of one model are of several weights."""
    for name, group in _grouped(records, 'name').items():
        found = []
        for fact in WEIGHTS:
            if values := differing(group, fact, 'place'):
                found.append(f'{fact} {values}')
        if found:
            raise InputError(
                f'results of {name!r}', 'those of one model',
                shortened('; '.join(found), 300),
                'Give the folder or file of each, such as outputs/* or '
                'NAME=FILE, or import only benchmarks of one.')


def check_settings(records: Iterable[Measured],
                   facts: Sequence[str] = SETTINGS) -> None:
    """Raise an `InputError` if models differ in a setting of a benchmark."""
    for fact in facts:
        for values, tasks in _differences(records, fact).items():
            raise InputError(
                f'results on {", ".join(map(repr, tasks))}',
                f'one {fact} for all models', values,
                'Measure them alike, or leave the benchmark out.')


def warn_of_differences(records: Sequence[Measured]) -> None:
    """Warn of other prompts and formats, and of some of the items."""
    lines = []
    for fact in _PROMPTS:
        for values, differing_tasks in _differences(records, fact).items():
            names = shortened(', '.join(differing_tasks), 80)
            lines.append(f'results on {names} do not have one {fact}: '
                         f'{values}. Leave out models, or run them alike.')
    for fact in _FORMATS:
        if values := differing(records, fact):
            lines.append(f'models were run with several values of {fact}: '
                         f'{values}. It changes losses and accuracies a '
                         'little.')
    few = {}
    for record in records:
        if record.facts.get(PART) == 'some':
            few[record.task] = record.facts.get(N_ITEMS)
    if few:
        tasks = ', '.join(f'{task} ({n})' for task, n in few.items())
        lines.append('results are of some of the items of '
                     f'{shortened(tasks, 80)}')
    for line in lines:
        warnings.warn(line, stacklevel=4)


def differing(records: Sequence[Measured],
              fact: str,
              owner: str = 'name') -> str:
    """Return each value of a fact with one that has it; empty if they agree.

    `owner` is the field that tells records apart. Of a chat template, which
    every model has of its own, it counts whether there is one.

    >>> templates = dict(a='[INST]', b='<user>', c='none').items()
    >>> differing([Measured(model, facts={TEMPLATE: template})
    ...            for model, template in templates], TEMPLATE)
    'some of a, none of c'
    """
    # What files state may be of any type.
    commits = {str(record.facts.get('commit')) for record in records}
    if fact == 'revision' and len(commits) == 1 and 'None' not in commits:
        return ''  # A branch and a tag may be the same commit.
    first: dict[str, str] = {}
    for record in records:
        value = record.facts.get(fact)
        if fact == TEMPLATE and value not in (None, 'none'):
            value = 'some'
        if value is not None:
            first.setdefault(str(value), getattr(record, owner))
    if len(first) < 2:
        return ''
    return ', '.join(f'{value} of {one}' for value, one in first.items())


def _grouped(records: Iterable[Measured],
             owner: str) -> dict[str, list[Measured]]:
    groups: defaultdict[str, list[Measured]] = defaultdict(list)
    for record in records:
        groups[getattr(record, owner)].append(record)
    return groups


def _differences(records: Iterable[Measured],
                 fact: str) -> dict[str, list[str]]:
    """The tasks with each difference between models."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for task, group in _grouped(records, 'task').items():
        if values := differing(group, fact):
            found[values].append(task or 'the texts')
    return found
