"""What is read of outputs, and a line for each reason to leave a part out."""
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

#: Why an item is left out, in any format.
GENERATED = 'answers were generated, not scored'
NO_RIGHT = 'no right answer among those that were scored'
SEVERAL_RIGHT = 'several right answers'
EMPTY = 'the right answer is empty'
#: What programs append to the name of a task: examples, or a hash.
_SUFFIX = re.compile(r'\|\d+$|_[0-9a-f]{6,8}$')

_Value = TypeVar('_Value')


def right_answer(label: Any, n_answers: int) -> int | str:
    """Return the index of the one right answer, or why there is none.

    `label` is an index, or a list of them.
    """
    labels = label if isinstance(label, list) else [label]
    if len(labels) > 1:
        return SEVERAL_RIGHT
    if labels and type(labels[0]) is int and 0 <= labels[0] < n_answers:
        return labels[0]
    return NO_RIGHT


class LeftOut:
    """Parts of outputs that cannot be used, by the reason."""

    def __init__(self) -> None:
        # As keys, because several models lack the same parts.
        self._parts: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, noun: str, reason: str, part: str) -> None:
        """Note a part, such as an item, and why it is left out."""
        self._parts.setdefault((noun, reason), {})[part] = None

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
        """All lines as a part of an error, or 'none'."""
        return '; '.join(self.lines).rstrip('.') or 'none'

    def warn(self) -> None:
        """Warn of every reason."""
        for line in self.lines:
            warnings.warn(line, stacklevel=3)


def usable(read: Callable[[str], _Value],
           names: Iterable[str],
           noun: str,
           left_out: LeftOut,
           progress: Progress = iter) -> dict[str, _Value]:
    """Return what can be read of some parts, each a `noun`, by its name.

    `left_out` takes the others; if none can be read, the first error is
    raised.
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
    """Read the items of tasks in a folder, `where`.

    `read` returns the items of a task, or why one cannot be used; a task with
    an `InputError` is left out whole. `patterns` are names or patterns of
    tasks, in full or without hash or number of examples; none choose all.
    """
    tasks = [*tasks]
    chosen: set[str] = set()
    for pattern in patterns or ['*']:
        matching = [task for task in tasks if _matches(task, pattern)]
        if not matching:
            raise InputError(where, f'a task with answers, called {pattern!r}',
                             shortened(', '.join(tasks), 200) or 'none',
                             'Correct --tasks, or leave it out.')
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
            left_out.add('part', reason,
                         f'{counted(number, "item")} of {task}')
        if kept:
            items[task] = kept
    if not items:
        raise InputError(where, 'a task with scored right answers',
                         left_out.text, 'Choose other tasks or files.')
    return items


def _matches(task: str, pattern: str) -> bool:
    short = _SUFFIX.sub('', task)
    return fnmatchcase(task, pattern) or fnmatchcase(short, pattern)
