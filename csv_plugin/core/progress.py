"""The type of functions that show progress."""
from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: Wraps the items of a loop, as `tqdm.tqdm` does; `iter` shows nothing.
Progress = Callable[[Sequence[Any]], Iterable[Any]]
