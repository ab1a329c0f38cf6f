"""How long work shows its progress without depending on a progress bar."""
from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: Wraps what a loop goes over, as `tqdm.tqdm` does; `iter` shows nothing.
Progress = Callable[[Sequence[Any]], Iterable[Any]]
