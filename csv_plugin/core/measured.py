"""Records of what numbers were measured on, compared before they are used.

An accuracy or a loss belongs to weights, to items and to a prompt. Two
records agree on a fact if they are the same there, or if one is silent.
"""
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from csv_plugin.core.formatting import counted, shortened
from csv_plugin.core.input_error import InputError

#: Facts about the weights, which are the same for all numbers of a model.
WEIGHTS = 'model', 'revision', 'commit', 'dtype', 'quantization', 'adapter'
#: Facts that must be the same for all models on a benchmark.
SETTINGS = 'metric', 'shots', 'n_items', 'part'
#: Facts that change numbers a little from model to model.
_FORMATS = 'dtype', 'quantization'
#: Facts that are better the same, and how messages call facts.
_PROMPTS = 'version', 'template', 'system'
LABELS = {
    **{fact: fact for fact in (*WEIGHTS, *SETTINGS)},
    'shots': 'number of few-shot examples',
    'n_items': 'number of items',
    'part': 'part of the items',
    'version': 'version of the task',
    'template': 'chat template',
    'system': 'system prompt',
}  # yapf: disable


@dataclass(frozen=True)
class Measured:
    """What a file states about an accuracy or about losses of one model.

    Facts are None where the file is silent.

    Args:
        name (str): The model, as the imported table calls it.
        task (str): The benchmark; empty for losses on a validation set.
        file (str): Where the record was read.
        model (Optional[str]): Name or folder of the weights.
        revision (Optional[str]): Branch, tag or step of the weights.
        commit (Optional[str]): Hash of the weights' repository.
        dtype (Optional[str]): Number format, such as 'bfloat16'.
        quantization (Optional[str]): How weights were quantized, or 'none'.
        adapter (Optional[str]): Weights on top of the model's, or 'none'.
        metric (Optional[str]): Metric and filter, such as 'acc,none'.
        shots (Optional[str]): Number of few-shot examples; several if they
            differ within a group of tasks.
        n_items (Optional[int]): Number of items.
        part (Optional[str]): 'all' or 'some' of the items of the benchmark.
        version (Optional[str]): Version of the task.
        template (Optional[str]): Hash of the chat template, or 'none'.
        system (Optional[str]): The system prompt, or 'none'.
    """
    name: str
    task: str = ''
    file: str = ''
    model: Optional[str] = None
    revision: Optional[str] = None
    commit: Optional[str] = None
    dtype: Optional[str] = None
    quantization: Optional[str] = None
    adapter: Optional[str] = None
    metric: Optional[str] = None
    shots: Optional[str] = None
    n_items: Optional[int] = None
    part: Optional[str] = None
    version: Optional[str] = None
    template: Optional[str] = None
    system: Optional[str] = None

    @property
    def place(self) -> str:
        """Benchmark and file, to tell numbers of one model apart."""
        return f'{self.task or "losses"} in {Path(self.file).name}'


def check_measured(records: Sequence[Measured]) -> None:
    """Check that numbers may stand in one table.

    Different versions of a task, chat templates, system prompts and number
    formats are warnings, as are facts that files do not state.

    Raises:
        InputError: As in `check_weights`, or models were measured on a
            benchmark by several metrics, with several numbers of few-shot
            examples or on several numbers of items.
    """
    check_weights(records)
    for fact in SETTINGS:
        for values, tasks in _differences(records, fact).items():
            raise InputError(
                f'results on {", ".join(map(repr, tasks))}',
                f'one {LABELS[fact]} for all models', values,
                'Measure them alike, or leave the benchmark out.')
    warn_of_prompts(records)
    if cut := {r.task: r.n_items for r in records if r.part == 'some'}:
        few = ', '.join(f'{task} ({n})' for task, n in cut.items())
        warnings.warn(
            f'results are of some of the items of {shortened(few, 80)}',
            stacklevel=3)
    silent = {
        LABELS[fact]: {r.name
                       for r in records if getattr(r, fact) is None}
        for fact in LABELS if fact not in ('metric', 'n_items', 'commit')
    }
    if any(silent.values()) and len(records) > 1:
        stated = ', '.join(f'{label} ({counted(len(names), "model")})'
                           for label, names in silent.items() if names)
        warnings.warn(
            f'not compared, as files do not state it: {stated}.', stacklevel=3)


def check_weights(records: Iterable[Measured]) -> None:
    """Raise an `InputError` if numbers of one model are of several weights."""
    for name, group in _grouped(records, 'name').items():
        found = [
            f'{fact} {values}' for fact in WEIGHTS
            if (values := differing(group, fact, 'place'))
        ]
        if found:
            raise InputError(
                f'results of {name!r}', 'those of one model', '; '.join(found),
                'Import the files of each under a name of its own, as '
                'NAME=FILE, or only benchmarks of one.')


def warn_of_prompts(records: Sequence[Measured]) -> None:
    """Warn of models with other prompts, or with weights in other formats."""
    for fact in _PROMPTS:
        for values, tasks in _differences(records, fact).items():
            warnings.warn(
                f'results on {shortened(", ".join(tasks), 80)} do not have '
                f'one {LABELS[fact]}: {values}. Leave out models, or run them '
                'alike.',
                stacklevel=4)
    for fact in _FORMATS:
        if values := differing(records, fact):
            warnings.warn(
                f'models were run with several values of {fact}: {values}. It '
                'changes losses and accuracies a little.',
                stacklevel=4)


def differing(records: Iterable[Measured],
              fact: str,
              owner: str = 'name') -> str:
    """Return each value of a fact with one that has it; empty if they agree.

    Args:
        records (Iterable[Measured]): Those to compare.
        fact (str): A field of a record.
        owner (str): The field that tells records apart.
    """
    records = tuple(records)
    commits = {record.commit for record in records}
    if fact == 'revision' and len(commits) == 1 and None not in commits:
        return ''  # A branch and a tag may be the same commit.
    first: dict[str, str] = {}
    for record in records:
        value = getattr(record, fact)
        if fact == 'template' and owner == 'name' and value != 'none':
            # Every model has a template of its own.
            value = value and 'some'
        if value is not None:
            first.setdefault(str(value), getattr(record, owner))
    if len(first) < 2:
        return ''
    return ', '.join(f'{value} of {one}' for value, one in first.items())


def _grouped(records: Iterable[Measured],
             field: str) -> dict[str, list[Measured]]:
    groups: dict[str, list[Measured]] = {}
    for record in records:
        groups.setdefault(getattr(record, field), []).append(record)
    return groups


def _differences(records: Iterable[Measured],
                 fact: str) -> Mapping[str, list[str]]:
    """The tasks with each difference between models."""
    found: dict[str, list[str]] = {}
    for task, group in _grouped(records, 'task').items():
        if values := differing(group, fact):
            found.setdefault(values, []).append(task or 'the texts')
    return found
