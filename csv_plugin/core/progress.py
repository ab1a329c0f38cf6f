"""The types of functions that show progress."""
from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: Takes the items of a loop and returns an iterable over them that shows
#: progress, as `tqdm.tqdm` does; `iter` shows nothing.
Progress = Callable[[Sequence[Any]], Iterable[Any]]

#: Is called when the next step of a long computation begins.
Advance = Callable[[], object]
