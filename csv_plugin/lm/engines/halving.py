"""Batches in halves where a GPU has no room for the whole."""
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from transformers import PreTrainedModel

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.windows import Window

Output = TypeVar('Output')


def in_halves(
    model: PreTrainedModel, batch: Sequence[Window],
    run: Callable[[Sequence[Window]], Output]
) -> Iterator[tuple[Sequence[Window], Output]]:
    """What a model makes of a batch, in parts that a GPU has room for.

    Args:
        model (PreTrainedModel): Named where there is no room.
        batch (Sequence[Window]): At least one.
        run (Callable): Runs the model on some windows.

    Yields:
        tuple[Sequence[Window], Output]: Windows, in their order, and what
        `run` returned for them.

    Raises:
        InputError: The GPU has no room for a single window.
    """
    try:
        output = run(batch)
    except torch.cuda.OutOfMemoryError as error:
        if len(batch) == 1:
            raise InputError(
                f'model {str(model.name_or_path)!r}',
                f'room on the GPU for {len(batch[0].inputs)} tokens',
                ' '.join(str(error).split())[:200],
                'Free memory of the GPU, or take more or larger GPUs.'
            ) from error
    else:
        yield batch, output
        return
    # Only now: the error kept what the batch had taken.
    torch.cuda.empty_cache()
    middle = len(batch) // 2
    for half in batch[:middle], batch[middle:]:
        yield from in_halves(model, half, run)
