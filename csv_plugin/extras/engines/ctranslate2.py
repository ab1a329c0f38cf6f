"""CTranslate2 as an engine."""
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.protocol import EngineFacts, optional_package
from csv_plugin.lm.engines.row_engine import RowEngine, Rows, RowScores


class CTranslate2Engine(RowEngine):
    """A causal LM that CTranslate2's converter wrote.

    CTranslate2 takes the strings of tokens. They come from the model's own
    vocabulary, which must not have one string for two ids. `context` has the
    most inputs of a window of the original model. Integers as `compute_type`
    change losses by nats. Settings are others of `ctranslate2.Generator`.

    Raises:
        InputError: CTranslate2 is not installed, the folder has no such
            model, or its vocabulary has a string twice.
    """

    def __init__(self,
                 path: str,
                 context: int,
                 compute_type: str = 'float32',
                 **settings: Any) -> None:
        package = optional_package('ctranslate2', 'CTranslate2Engine')
        self._pieces = _vocabulary(path)
        try:
            self._generator = package.Generator(
                path, compute_type=compute_type, **settings)
        except (RuntimeError, ValueError) as error:
            raise InputError(
                path, 'a model that ctranslate2 can load',
                f'the error {str(error)!r}',
                'Convert it with ct2-transformers-converter.') from error
        self._facts = EngineFacts(
            engine='ctranslate2',
            model=path,
            dtype=self._generator.compute_type,
            cache_dtype='none',
            context=context,
            versions={'ctranslate2': package.__version__})

    @property
    def facts(self) -> EngineFacts:
        """See `RowEngine`."""
        return self._facts

    def row_scores(self, rows: Rows) -> list[RowScores]:
        """See `RowEngine`."""
        largest = max(int(row.max()) for row in rows)
        if largest >= len(self._pieces):
            raise InputError(
                f'engine {self.facts.engine!r} with model '
                f'{self.facts.model!r}',
                f'tokens of the model, which has {len(self._pieces)}',
                f'id {largest}', 'Use the tokenizer of the model.')
        pieces = [[self._pieces[index] for index in row] for row in rows]
        # Rows would be cut at 1,024 tokens without an error.
        answers = self._generator.score_batch(pieces, max_input_length=0)
        index_of = {piece: index for index, piece in enumerate(self._pieces)}
        # Answers contain the tokens that were scored.
        return [
            RowScores(
                np.array([
                    row[0], *(index_of.get(token, -1)
                              for token in answer.tokens)
                ]), np.array(answer.log_probs, np.float64))
            for row, answer in zip(rows, answers)
        ]


def _vocabulary(path: str) -> list[str]:
    """Strings of all tokens, by id."""
    file = Path(path, 'vocabulary.json')
    try:
        pieces = json.loads(file.read_text('utf-8'))
    except (OSError, ValueError) as error:
        raise InputError(
            path, 'a model of ctranslate2 with a vocabulary.json',
            f'the error {str(error)!r}',
            'Convert the model with ct2-transformers-converter.') from error
    twice = [piece for piece, n in Counter(pieces).items() if n > 1]
    if twice:
        raise InputError(
            str(file), 'a string of its own for every token',
            f'{twice[0]!r} for several', 'Run the model in another engine.')
    return pieces
