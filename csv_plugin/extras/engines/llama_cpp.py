"""llama.cpp, through llama-cpp-python, as an engine."""
from typing import Any

import numpy as np
from scipy.special import log_softmax

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.protocol import EngineFacts, optional_package
from csv_plugin.lm.engines.row_engine import RowEngine, Rows, RowScores


class LlamaCppEngine(RowEngine):
    """A GGUF file that llama.cpp runs in this process.

    Log-probabilities come from the logits, as `echo` of its completions is off
    by one without BOS. The key-value cache has 32 bits by default. `context`
    has the most inputs of a window; settings are others of `llama_cpp.Llama`.

    Raises:
        InputError: llama-cpp-python is not installed, or the file cannot be
            loaded.
    """

    def __init__(self, path: str, context: int, **settings: Any) -> None:
        package = optional_package('llama_cpp', 'LlamaCppEngine')
        settings = {'type_k': 0, 'type_v': 0, 'flash_attn': False, **settings}
        try:
            self._llama = package.Llama(
                path,
                n_ctx=context + 1,
                logits_all=True,
                verbose=False,
                **settings)
        except (OSError, ValueError) as error:
            raise InputError(
                path, 'a file that llama.cpp can load',
                f'the error {str(error)!r}',
                'Check the path, or convert the model to GGUF.') from error
        metadata = self._llama.metadata
        self._facts = EngineFacts(
            engine='llama.cpp',
            model=path,
            dtype='file type ' + metadata.get('general.file_type', 'unknown'),
            cache_dtype=f'keys {settings["type_k"]}, '
            f'values {settings["type_v"]}',
            context=context,
            versions={'llama-cpp-python': package.__version__})

    @property
    def facts(self) -> EngineFacts:
        """See `RowEngine`."""
        return self._facts

    def row_scores(self, rows: Rows) -> list[RowScores]:
        """See `RowEngine`."""
        scores = []
        for row in rows:
            self._llama.reset()
            self._llama.eval(row.tolist())
            logits = np.array(self._llama.scores[:len(row) - 1], np.float64)
            log_probs = log_softmax(logits, axis=1)
            read = np.array(self._llama.input_ids[:self._llama.n_tokens])
            scores.append(
                RowScores(read, log_probs[np.arange(len(row) - 1), row[1:]]))
        return scores
