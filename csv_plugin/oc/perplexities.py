"""Define a model class whose perplexities do not depend on the batch size.

OpenCompass answers a multiple-choice item by comparing the perplexities of
its options.
"""
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Optional

import numpy as np
from opencompass.models import HuggingFaceBaseModel
from opencompass.models.huggingface_above_v4_33 import _convert_base_messages
from opencompass.registry import MODELS

from csv_plugin.core.arrays import Floats
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from csv_plugin.lm.engines.windows import by_window, cut_windows


@MODELS.register_module()
class BatchedBaseModel(HuggingFaceBaseModel):
    """A `HuggingFaceBaseModel` whose perplexities are the same in any batch.

    `get_ppl` of OpenCompass pads the shorter texts of a batch on the left and
    lets the padding change the losses: in batches of 8 they are off by up to
    0.69 nats per token, in batches of one text they are right. Here, batches
    of any size give the losses that OpenCompass gives in batches of one text.
    """

    @cached_property
    def _engine(self) -> TransformersEngine:
        return TransformersEngine(self.model)

    def get_ppl(self,
                inputs: Sequence[Any],
                mask_length: Optional[Sequence[int]] = None) -> Floats:
        """Return the mean loss of each text in nats per token, `(n,)`.

        As in OpenCompass, the losses of all tokens but the first are summed
        and divided by the number of all tokens, the first included. Both the
        sum and the number leave out tokens that are the padding token, and the
        first `mask_length[i]` tokens of text `i`.
        """
        encoded = self.tokenizer(
            _convert_base_messages(inputs),
            add_special_tokens=True,
            truncation=True,
            max_length=self.max_seq_len)
        rows = []
        windows = []
        losses = []
        for text, ids in enumerate(encoded['input_ids']):
            row = np.array(ids, np.int64)
            rows.append(row)
            windows += cut_windows(text, row, prefix=None, context=0)
            losses.append(np.zeros(len(row)))
        with closing(self._engine.score(windows, iter)) as batches:
            for batch, batch_losses in batches:
                by_text = by_window(batch, batch_losses)
                for window, window_losses in zip(batch, by_text):
                    losses[window.text][1:] = window_losses
        if mask_length is None:
            mask_length = [0] * len(rows)
        means = []
        for ids, of_text, n_masked in zip(rows, losses, mask_length):
            counted = ids != self.tokenizer.pad_token_id
            behind_mask = of_text[n_masked:]
            total = behind_mask[counted[n_masked:]].sum()
            n_counted = counted.sum() - n_masked
            means.append(total / n_counted)
        return np.array(means)
