"""What an import leaves out, told in one line a reason."""
import warnings
from collections.abc import Callable, Mapping
from typing import TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.core.progress import Progress

_Value = TypeVar('_Value')


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
        return [
            f'left out {counted(len(parts), noun)} '
            f'({shortened(", ".join(parts), 120)}): {reason}'
            for (noun, reason), parts in self._parts.items()
        ]

    def warn(self) -> None:
        """Warn of every reason."""
        for line in self.lines:
            warnings.warn(line, stacklevel=3)


def usable(readers: Mapping[str, Callable[[], _Value]],
           noun: str,
           left_out: LeftOut,
           progress: Progress = iter) -> dict[str, _Value]:
    """Return what can be read, by its name.

    Args:
        readers (Mapping[str, Callable]): Read the parts.
        noun (str): What a part is.
        left_out (LeftOut): Takes the others, with their errors.
        progress (Progress): Wraps the names.

    Raises:
        InputError: There are parts, but none can be read.
    """
    values, errors = {}, []
    for name in progress([*readers]):
        try:
            values[name] = readers[name]()
        except InputError as error:
            errors.append((name, error))
    for name, problem in errors:
        if not values:
            raise problem
        left_out.add(noun, str(problem), name)
    return values
