"""Losses on benchmark items: which tasks are read, and what is left out."""
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.text_losses import (TextLoss, check_losses,
                                                     feature_table)
from csv_plugin.io.files import FilePath

#: Why an item is left out, in any format.
GENERATED = 'answers were generated, not scored'
NO_RIGHT = 'no right answer among those that were scored'
SEVERAL_RIGHT = 'several right answers'
EMPTY = 'the right answer is empty'
#: The loss on the right answer of an item, or why no model has one.
Answer = TextLoss | str
#: Losses of a model on right answers by task.
Items = dict[str, list[TextLoss]]
_Item = TypeVar('_Item')
_Read = Callable[[], list[_Item | str]]
#: What programs append to the name of a task: examples, or a hash.
_SUFFIX = re.compile(r'\|\d+$|_[0-9a-f]{6,8}$')


def read_items(where: FilePath, tasks: Mapping[str, _Read[_Item]],
               patterns: Sequence[str],
               left_out: LeftOut) -> dict[str, list[_Item]]:
    """Read the items of tasks.

    Args:
        where (FilePath): The folder of the tasks, for errors.
        tasks (Mapping): Functions that read a task: its items, or why one
            cannot be used. A task with an `InputError` is left out whole.
        patterns (Sequence[str]): Names or patterns of tasks, in full or
            without hash or number of examples; none choose all.
        left_out (LeftOut): Takes what cannot be used.

    Raises:
        InputError: A pattern matches no task, or no item can be used.
    """
    chosen = set(() if patterns else tasks)
    for pattern in patterns:
        matching = {
            task
            for task in tasks if fnmatchcase(task, pattern)
            or fnmatchcase(_SUFFIX.sub('', task), pattern)
        }
        if not matching:
            raise InputError(
                os.fspath(where), f'a task that is called {pattern!r}',
                shortened(', '.join(tasks), 200) or 'none',
                'Correct --tasks, or leave it out.')
        chosen |= matching
    items: dict[str, list[_Item]] = {}
    read = {task: tasks[task] for task in tasks if task in chosen}
    for task, found in usable(read, 'task', left_out).items():
        reasons = Counter(item for item in found if isinstance(item, str))
        for reason, n in reasons.items():
            left_out.add('part', reason, f'{counted(n, "item")} of {task}')
        if usable_items := [
                item for item in found if not isinstance(item, str)
        ]:
            items[task] = usable_items
    if not items:
        raise InputError(
            os.fspath(where), 'a task with scored right answers',
            '; '.join(left_out.lines) or 'none',
            'Choose other tasks or files.')
    return items


def item_table(models: Mapping[str, Items], left_out: LeftOut) -> FeatureTable:
    """Return the losses of models on the items that all of them have.

    Raises:
        InputError: No task is left, or as in `text_losses.feature_table`.
    """
    tasks = dict.fromkeys(task for items in models.values() for task in items)
    shared = usable({t: partial(_shared, t, models, left_out)
                     for t in tasks}, 'task', left_out)
    return feature_table({
        model: [loss for losses in shared.values() for loss in losses[model]]
        for model in models
    })


def _shared(task: str, models: Mapping[str, Items],
            left_out: LeftOut) -> dict[str, list[TextLoss]]:
    """Losses on those items of a task that all models have, checked."""
    lacking = [model for model, items in models.items() if task not in items]
    if lacking:
        raise InputError(task, 'losses of all models',
                         f'none of {shortened(", ".join(lacking), 60)}',
                         'Run it with all models.')
    ids = [{loss.text_id for loss in items[task]} for items in models.values()]
    shared = set.intersection(*ids)
    if others := len(set.union(*ids) - shared):
        left_out.add('part', 'not scored with all models',
                     f'{counted(others, "item")} of {task}')
    losses = {
        model: [loss for loss in items[task] if loss.text_id in shared]
        for model, items in models.items()
    }
    check_losses(losses)
    return losses
