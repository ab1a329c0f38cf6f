"""Define the engine that runs causal language models of `transformers`."""
from collections.abc import Generator, Sequence
from functools import partial
from typing import Optional

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch import nn
from transformers import PreTrainedModel

from csv_plugin.core.conventions import InputError, PublicNames
from csv_plugin.core.progress import Progress
from csv_plugin.lm.engines.causal_lm import (context_length, evaluating,
                                             in_halves, input_device,
                                             logits_of, plain_head)
from csv_plugin.lm.engines.logit_losses import losses_of_targets
from csv_plugin.lm.engines.protocol import EngineFacts, Scored
from csv_plugin.lm.engines.windows import (Window, default_max_tokens,
                                           group_batches, pad, target_rows)


class TransformersEngine(PublicNames):
    """A causal LM of `transformers`, on any device and of any float type.

    Losses are computed in fp32. The logits are in fp32, too, unless the model
    has to compute them itself (see `plain_head`). While scoring, the model is
    in evaluation mode; its former mode is restored afterwards.

    If the position encoding depends on the length of the text (some RoPE
    variants), all texts of a batch get the encoding of its longest text.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        # `plain_head` of the model, which is looked for at the first scoring.
        self._head: Optional[nn.Linear] = None
        self._looked_for_head = False

    @property
    def facts(self) -> EngineFacts:
        """See `Engine`."""
        return EngineFacts(
            engine='transformers',
            model=str(self.model.name_or_path),
            dtype=str(self.model.dtype).removeprefix('torch.'),
            cache_dtype='none',
            context=context_length(self.model),
            versions={
                'torch': torch.__version__,
                'transformers': transformers.__version__
            })

    def score(self, windows: Sequence[Window],
              progress: Progress) -> Generator[Scored, None, None]:
        """See `Engine`."""
        if not windows:
            return
        _check_ids(self.model, windows)
        model = self.model
        device = input_device(model)
        with evaluating(model):
            if not self._looked_for_head:
                probe = pad(windows[:1]).to(device)
                self._head = plain_head(model, probe)
                self._looked_for_head = True
            head = self._head
            size = default_max_tokens(device, all_logits=head is None)
            run = partial(self._losses, head=head)
            batches = list(group_batches(windows, size))
            for batch in progress(batches):
                yield from in_halves(model, batch, run)

    def _losses(self, batch: Sequence[Window],
                head: Optional[nn.Linear]) -> NDArray[np.float32]:
        """Return the losses of all targets of a batch in nats, `(N,)`."""
        inputs = pad(batch).to(input_device(self.model))
        logits = logits_of(self.model, head, inputs)
        ids = np.concatenate([window.targets for window in batch])
        targets = torch.from_numpy(ids).to(logits.device)
        rows = target_rows(batch).to(logits.device)
        return losses_of_targets(logits, rows, targets)


def _check_ids(model: PreTrainedModel, windows: Sequence[Window]) -> None:
    """Refuse token ids that the model does not have.

    On a GPU, such an id would make all later computations fail, too.
    """
    embeddings = model.get_input_embeddings()
    if not isinstance(embeddings, nn.Embedding):
        return
    largest = max(int(window.row.max()) for window in windows)
    n_ids = embeddings.num_embeddings
    if largest >= n_ids:
        raise InputError(f'tokenizer for {str(model.name_or_path)!r}',
                         f'ids below {n_ids}, which the model has',
                         f'the id {largest}',
                         'Use the tokenizer of this model.')
