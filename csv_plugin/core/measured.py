"""Records of how accuracies and losses were measured, and checks of them.

An accuracy or a loss belongs to certain weights of a model, items and a
prompt. A record states facts about these. Two records agree on a fact if both
state the same value, or if one of them does not state it.
"""
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import shortened

#: Facts about the weights. They must be the same for all accuracies and losses
#: of a model.
WEIGHTS = 'model', 'revision', 'commit', 'dtype', 'quantization', 'adapter'
#: Facts that must be the same for all models on a benchmark. The value of
#: `EXTENT` is 'all' or 'some': whether all items were run, or only some.
METRIC, SHOTS = 'metric', 'number of few-shot examples'
N_ITEMS, EXTENT = 'number of items', 'part of the items'
SETTINGS = METRIC, SHOTS, N_ITEMS, EXTENT
#: The facts of `SETTINGS` that must be the same even where models are compared
#: on common items, or where the number of items was checked before.
ALIKE = METRIC, SHOTS
#: Facts that should be the same for all models on a benchmark; a difference
#: causes a warning.
VERSION, TEMPLATE = 'version of the task', 'chat template'
SYSTEM = 'system prompt'
_PROMPTS = VERSION, TEMPLATE, SYSTEM
#: Facts that change losses and accuracies a little; a difference between
#: models causes a warning.
_FORMATS = 'dtype', 'quantization'


@dataclass(frozen=True)
class Measured:
    """Facts that a file states about an accuracy or the losses of one model.

    Args:
        name (str): The name of the model in the imported table.
        task (str): The benchmark; empty for losses on a validation set.
        file (str): The file from which the record was read.
        facts (dict[str, Any]): The value of each fact, a text or a number. If
            the file does not state a fact, the value is None or there is no
            entry. If the file states that the model was run without it, such
            as without a chat template, the value is 'none'.
    """
    name: str
    task: str = ''
    file: str = ''
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Benchmark and file name, to tell records of one model apart."""
        what = self.task or 'losses'
        file_name = Path(self.file).name
        return f'{what} in {file_name}'


def check_measured(records: Sequence[Measured],
                   facts: Sequence[str] = SETTINGS) -> None:
    """Check that accuracies or losses may stand in the same table.

    Warn of small differences as `warn_of_differences` does. `facts` are the
    settings that must be the same for all models on a benchmark.

    Raises:
        InputError: As in `check_weights` and `check_settings`.
    """
    check_weights(records)
    check_settings(records, facts)
    warn_of_differences(records)


def check_weights(records: Iterable[Measured]) -> None:
    """Raise an `InputError` if records of a model differ in their weights."""
    for name, group in _grouped(records, 'name').items():
        found = []
        for fact in WEIGHTS:
            values = differing(group, fact, 'place')
            if values:
                found.append(f'{fact} {values}')
        if found:
            raise InputError(
                f'results of {name!r}', 'the same model in all results',
                shortened('; '.join(found), 300),
                'Give the folder or file of each model, such as outputs/* or '
                'NAME=FILE, or import only the benchmarks of one model.')


def check_settings(records: Iterable[Measured],
                   facts: Sequence[str] = SETTINGS) -> None:
    """Raise an `InputError` if models differ in a setting of a benchmark."""
    for fact in facts:
        for values, tasks in _differences(records, fact).items():
            names = ', '.join(map(repr, tasks))
            raise InputError(
                f'results on {names}', f'one {fact} for all models', values,
                f'Evaluate all models with the same {fact}, or leave the '
                'benchmark out.')


def warn_of_differences(records: Sequence[Measured]) -> None:
    """Warn if prompts or number formats differ, or if only some items ran.

    Each kind of difference gets a warning of its own.
    """
    lines = []
    for fact in _PROMPTS:
        for values, differing_tasks in _differences(records, fact).items():
            names = shortened(', '.join(differing_tasks), 80)
            lines.append(f'results on {names} differ in the {fact}: {values}. '
                         f'Run all models with the same {fact}, or leave '
                         'models out.')
    for fact in _FORMATS:
        values = differing(records, fact)
        if values:
            lines.append(f'models were run with several values of {fact}: '
                         f'{values}. Another {fact} changes losses and '
                         'accuracies a little.')
    few = {}
    for record in records:
        if record.facts.get(EXTENT) == 'some':
            few[record.task] = record.facts.get(N_ITEMS)
    if few:
        tasks = ', '.join(f'{task} ({n})' for task, n in few.items())
        names = shortened(tasks, 80)
        lines.append(f'results are of some of the items of {names}')
    for line in lines:
        # The warning names the line that called the function that read the
        # files, which called `check_measured`.
        warnings.warn(line, stacklevel=4)


def differing(records: Sequence[Measured],
              fact: str,
              owner: str = 'name') -> str:
    """Describe how records differ in a fact, or return '' if they agree.

    The description has each value of the fact, with the first record that
    states it. `owner` is the attribute of `Measured` that names the record.
    For chat templates, only whether there is one is compared, as every model
    has its own template.

    >>> templates = dict(a='[INST]', b='<user>', c='none').items()
    >>> differing([Measured(model, facts={TEMPLATE: template})
    ...            for model, template in templates], TEMPLATE)
    'some of a, none of c'
    """
    # The values of facts may have any type, so texts are compared.
    commits = {str(record.facts.get('commit')) for record in records}
    is_one_commit = len(commits) == 1 and 'None' not in commits
    if fact == 'revision' and is_one_commit:
        # A branch and a tag may name the same commit.
        return ''
    first: dict[str, str] = {}
    for record in records:
        value = record.facts.get(fact)
        if fact == TEMPLATE and value not in (None, 'none'):
            value = 'some'
        if value is not None:
            name = getattr(record, owner)
            first.setdefault(str(value), name)
    if len(first) < 2:
        return ''
    return ', '.join(f'{value} of {name}' for value, name in first.items())


def _grouped(records: Iterable[Measured],
             owner: str) -> dict[str, list[Measured]]:
    """Group the records by the attribute whose name is `owner`."""
    groups: defaultdict[str, list[Measured]] = defaultdict(list)
    for record in records:
        key = getattr(record, owner)
        groups[key].append(record)
    return groups


def _differences(records: Iterable[Measured],
                 fact: str) -> dict[str, list[str]]:
    """Return the benchmarks by how their models differ in a fact.

    Keys are the texts of `differing`. Benchmarks whose models agree are left
    out.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for task, group in _grouped(records, 'task').items():
        values = differing(group, fact)
        if values:
            found[values].append(task or 'the texts')
    return found
