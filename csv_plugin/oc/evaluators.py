"""Compute the results of a model from its token losses."""
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import (answer_mask, bits_per_byte,
                                      mean_token_loss)
from csv_plugin.core.losses import TargetTokens, TextLosses
from csv_plugin.core.texts import TextSet
from csv_plugin.io.dumps import merge_dumps
from csv_plugin.io.runs.run_dumps import read_model_dump
from csv_plugin.oc.datasets import texts_of_rows


@ICL_EVALUATORS.register_module()
class SalienceEvaluator(BaseEvaluator):
    """Compute mean losses of one model on a validation set; lower is better.

    The means are over all tokens that have a loss, in the tokenization of the
    model.
    """

    def score(self, text_id: Sequence[str], dump: Sequence[str],
              test_set: Dataset) -> dict[str, Any]:
        """Return all results of one model.

        `text_id` are the ids of the scored texts, and `dump` is the name of
        the file that contains the losses of each. `test_set` contains all
        texts of the validation set. The results `all_token_loss` (all tokens)
        and `label_token_loss` (tokens of answers) are in nats per token.

        Raises:
            InputError: Texts are missing, a dump cannot be read, dumps
                contradict each other, or no token was scored.
        """
        # A model's folder has the same path inside results/ and predictions/.
        # The path may consist of several folders.
        folder = Path(self._out_dir).parent
        for results in folder.parents:
            if results.name == 'results':
                break
        else:
            raise InputError(folder, 'a folder in results/ of a run',
                             'a folder elsewhere',
                             'Evaluate the run with the opencompass command.')
        model = folder.relative_to(results).as_posix()
        predictions = results.with_name('predictions') / model
        texts = texts_of_rows(test_set)
        if len(text_id) != len(texts):
            raise InputError(
                f'predictions of {model!r}', f'{len(texts)} texts',
                str(len(text_id)), 'Remove these predictions, and '
                '.cache/dataset_size.json in the folder where the run was '
                'started, which may count other texts. Then run again.')
        parts = []
        for file in dict.fromkeys(dump):
            parts.append(read_model_dump(predictions / file))
        merged = merge_dumps(parts)
        ordered = TextLosses.of(merged.texts).in_order(f'dump of {model!r}',
                                                       texts.ids, texts.hashes)
        return _loss_numbers(model, ordered, texts)


def _loss_numbers(model: str, losses: TextLosses,
                  texts: TextSet) -> dict[str, Any]:
    """Return mean losses in several units, and numbers of texts and tokens.

    `losses` are in the order of `texts`.
    """
    spans = losses.spans
    table = TargetTokens.of(texts, spans).table({model: losses})
    numbers = {'all_token_loss': float(mean_token_loss(table)[0])}
    if any(text.answer for text in texts):
        answers = answer_mask(texts, spans)
        label_token_loss = mean_token_loss(table, answers)[0]
        numbers['label_token_loss'] = float(label_token_loss)
    n_scored = int(table.scored.sum())
    return numbers | {
        'bits_per_byte': float(bits_per_byte(table)[0]),
        'n_texts': len(texts),
        'n_scored': n_scored,
        'n_unscored': len(table.scored) - n_scored
    }


@ICL_EVALUATORS.register_module()
class LabelLossEvaluator(BaseEvaluator):
    """Average the losses of `LabelLossInferencer`; lower is better."""

    def score(self, label_loss: Sequence[float], label_tokens: Sequence[int],
              label_bytes: Sequence[int],
              test_set: Dataset) -> dict[str, float]:
        """Return the mean loss of the correct answers.

        The arguments have one number per item of the test set: the loss of its
        label in nats, and the numbers of tokens and of UTF-8 bytes of the
        label. The results, in nats, are `label_loss` per item,
        `label_token_loss` per token and `label_byte_loss` per byte. An
        `InputError` if items are missing.
        """
        if len(label_loss) != len(test_set):
            raise InputError(
                'label losses', f'{len(test_set)} items', str(len(label_loss)),
                'Remove the predictions of this dataset and run again.')
        total = float(np.sum(label_loss))
        return {
            'label_loss': total / len(label_loss),
            'label_token_loss': total / sum(label_tokens),
            'label_byte_loss': total / sum(label_bytes)
        }
