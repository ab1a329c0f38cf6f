"""LMDeploy as an engine.

Written from the interface of LMDeploy's sources of August 2026 and tested
with a stand-in of that interface; it was not run, as LMDeploy needs a GPU.
"""
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.packages import optional_package
from csv_plugin.lm.engines.protocol import EngineFacts
from csv_plugin.lm.engines.row_engine import RowEngine, Rows, RowScores

#: Most inputs of a window: LMDeploy returns the logits of all of them, and
#: those of 1,024 inputs over 150,000 tokens take 0.6 GB in fp32.
CONTEXT = 1024


class LMDeployEngine(RowEngine):
    """A model that LMDeploy, the engine of the paper, runs in this process.

    Log-probabilities come from the logits of the prompt, in windows of at
    most `CONTEXT` inputs. Prefix caching must be off, which is LMDeploy's
    default.

    Args:
        pipe (Any): An `lmdeploy.Pipeline`.

    Raises:
        InputError: LMDeploy is not installed, or its pipeline is of before
            version 0.12.
    """

    def __init__(self, pipe: Any) -> None:
        package = optional_package('lmdeploy', 'LMDeployEngine')
        if not hasattr(pipe, 'async_engine'):
            raise InputError(
                'LMDeployEngine', 'a pipeline of LMDeploy 0.12 or later',
                f'{type(pipe).__name__} of LMDeploy {package.__version__}',
                'Update LMDeploy, or use another engine (docs/engines.md).')
        self._pipe = pipe
        settings = pipe.backend_config
        self._facts = EngineFacts(
            engine='lmdeploy',
            model=pipe.async_engine.model_name,
            dtype=str(settings.dtype),
            cache_dtype=f'quantization policy {int(settings.quant_policy)}',
            # A row as long as the session is refused.
            context=min(CONTEXT, settings.session_len - 2),
            versions={'lmdeploy': package.__version__})

    @property
    def facts(self) -> EngineFacts:
        """See `RowEngine`."""
        return self._facts

    def row_scores(self, rows: Rows) -> list[RowScores]:
        """See `RowEngine`."""
        # One row at a time: the logits of several would not fit.
        return [self._row_scores(row) for row in rows]

    def _row_scores(self, row: NDArray[np.int64]) -> RowScores:
        # Pipeline.infer takes text alone. The engine below it takes ids, in
        # the event loop of the pipeline.
        request = self._pipe.async_engine.async_get_logits([row.tolist()])
        logits, = self._pipe._run(coro=request).result()
        # The number of positions is all that it tells of what it read.
        read = row[:len(logits)]
        targets = torch.from_numpy(read[1:])[:, None].to(logits.device)
        log_probs = logits[:-1].float().log_softmax(-1).gather(-1, targets)
        return RowScores(read, log_probs[:, 0].cpu().numpy().astype(float))
