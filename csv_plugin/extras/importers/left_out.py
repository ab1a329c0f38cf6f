"""Read the usable parts of outputs, and collect why parts are left out."""
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath

#: Reasons for leaving out an item, the same for all programs.
GENERATED = 'answers were generated, not scored'
NO_RIGHT = 'no right answer among the answers that were scored'
SEVERAL_RIGHT = 'several right answers'
EMPTY = 'the right answer is empty'
#: What programs append to the name of a task: the number of few-shot examples
#: ('|5') or a hash ('_1a2b3c').
_SUFFIX = re.compile(r'\|\d+$|_[0-9a-f]{6,8}$')

_Value = TypeVar('_Value')


def right_answer(label: Any, n_answers: int) -> int | str:
    """Return the index of the only right answer of an item.

    `label` is an index or a list of indices, of `n_answers` answers. If there
    is not exactly one valid index, return the reason for leaving the item
    out.
    """
    labels = label if isinstance(label, list) else [label]
    if not labels:
        return NO_RIGHT
    if len(labels) > 1:
        return SEVERAL_RIGHT
    [index] = labels
    if type(index) is int and 0 <= index < n_answers:
        return index
    return NO_RIGHT


class LeftOut:
    """Collects parts of outputs that cannot be used, by the reason.

    A part is for example an item, a task, a run or a model.
    """

    def __init__(self) -> None:
        # Parts are keys, so that a part that several models lack counts once.
        self._parts: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, noun: str, reason: str, part: str) -> None:
        """Record that a part is left out, and the reason.

        `part` is its name and `noun` its kind, such as 'item'.
        """
        parts = self._parts.setdefault((noun, reason), {})
        parts[part] = None

    @property
    def lines(self) -> list[str]:
        """A line for every reason, with the number of parts and some names."""
        lines = []
        for (noun, reason), parts in self._parts.items():
            number = counted(len(parts), noun)
            names = shortened(', '.join(parts), 120)
            lines.append(f'left out {number} ({names}): {reason}')
        return lines

    @property
    def text(self) -> str:
        """All lines, joined for an error message; 'none' without lines."""
        return '; '.join(self.lines).rstrip('.') or 'none'

    def warn(self) -> None:
        """Issue one warning for each reason."""
        for line in self.lines:
            warnings.warn(line, stacklevel=3)


def usable(read: Callable[[str], _Value],
           names: Iterable[str],
           noun: str,
           left_out: LeftOut,
           progress: Progress = iter) -> dict[str, _Value]:
    """Call `read` with each name, and return its values by name.

    Names for which `read` raises an `InputError` are added to `left_out`, as
    parts of the kind `noun`. If all names fail, the first error is raised.
    """
    values = {}
    errors = {}
    for name in progress([*names]):
        try:
            values[name] = read(name)
        except InputError as reason:
            errors[name] = reason
    for name, error in errors.items():
        if not values:
            raise error
        left_out.add(noun, str(error), name)
    return values


def read_items(where: FilePath, read: Callable[[str], list[_Value | str]],
               tasks: Iterable[str], patterns: Sequence[str],
               left_out: LeftOut) -> dict[str, list[_Value]]:
    """Return the usable items of tasks, by task.

    Args:
        where (FilePath): The file or folder that is read, for errors.
        read (Callable): Returns the list of a task's items, in which a string
            is the reason why an item cannot be used. If it raises an
            `InputError`, the whole task is left out.
        tasks (Iterable[str]): Names of all tasks in `where`.
        patterns (Sequence[str]): Names or patterns of the tasks to read, with
            or without the hash or the number of few-shot examples; all tasks
            if empty.
        left_out (LeftOut): Takes what is left out.

    Raises:
        InputError: A pattern matches no task, or no item can be used.
    """
    tasks = list(tasks)
    chosen: set[str] = set()
    for pattern in patterns or ['*']:
        matching = [task for task in tasks if _matches(task, pattern)]
        if not matching:
            raise InputError(where, f'a task with answers, called {pattern!r}',
                             shortened(', '.join(tasks), 200) or 'none',
                             'Correct --tasks, or leave this option out.')
        chosen.update(matching)
    wanted = [task for task in tasks if task in chosen]
    found = usable(read, wanted, 'task', left_out)
    items = {}
    for task, values in found.items():
        reasons = Counter[str]()
        kept = []
        for value in values:
            if isinstance(value, str):
                reasons[value] += 1
            else:
                kept.append(value)
        for reason, number in reasons.items():
            part = f'{counted(number, "item")} of {task}'
            left_out.add('part', reason, part)
        if kept:
            items[task] = kept
    if not items:
        raise InputError(where,
                         'a task with the log-likelihoods of right answers',
                         left_out.text, 'Choose other tasks or files.')
    return items


def _matches(task: str, pattern: str) -> bool:
    """Return whether a task's name matches, with or without its suffix."""
    short = _SUFFIX.sub('', task)
    return fnmatchcase(task, pattern) or fnmatchcase(short, pattern)
