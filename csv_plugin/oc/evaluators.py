"""Results of a model from its token losses."""
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
from csv_plugin.oc.datasets import texts_of


@ICL_EVALUATORS.register_module()
class SalienceEvaluator(BaseEvaluator):
    """Mean losses of one model on a validation set; lower is better.

    The means are over the tokens of the model's own tokenizer that have a
    loss.
    """

    def score(self, text_id: Sequence[str], dump: Sequence[str],
              test_set: Dataset) -> dict[str, Any]:
        """Return all results of one model.

        `text_id` are the texts that were scored, `dump` names the file with
        each; `test_set` are all texts of the validation set. Losses are in
        nats per token; label tokens are those of answers.

        Raises:
            InputError: Texts are missing, a dump cannot be read, dumps
                contradict each other, or no token was scored.
        """
        # The path of this model's folder in results/, which may have several
        # parts, is its path in predictions/ beside it.
        folder = Path(self._out_dir).parent
        for results in folder.parents:
            if results.name == 'results':
                break
        else:
            raise InputError(folder, 'a folder in results/ of a run',
                             'one elsewhere', 'Evaluate by OpenCompass.')
        model = folder.relative_to(results).as_posix()
        predictions = results.with_name('predictions') / model
        texts = texts_of(test_set)
        if len(text_id) != len(texts):
            raise InputError(
                f'predictions of {model!r}', f'{len(texts)} texts',
                str(len(text_id)), 'If .cache/dataset_size.json, where the '
                'run started, is of other texts, remove it and the '
                'predictions, and run again.')
        parts = []
        for file in dict.fromkeys(dump):
            parts.append(read_model_dump(predictions / file))
        merged = merge_dumps(parts)
        ordered = TextLosses.of(merged.texts).in_order(f'dump of {model!r}',
                                                       texts.ids, texts.hashes)
        return _loss_numbers(model, ordered, texts)


def _loss_numbers(model: str, losses: TextLosses,
                  texts: TextSet) -> dict[str, Any]:
    """Losses in several units, of a model on texts in the same order."""
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
    """Averages of what `LabelLossInferencer` wrote; lower is better."""

    def score(self, label_loss: Sequence[float], label_tokens: Sequence[int],
              label_bytes: Sequence[int],
              test_set: Dataset) -> dict[str, float]:
        """Return the mean loss of the correct answers.

        For each item of the test set, `label_loss` is in nats, `label_tokens`
        and `label_bytes` are the tokens and UTF-8 bytes of its label. The
        results are `label_loss` in nats per item, `label_token_loss` per
        token, `label_byte_loss` per byte. An `InputError` if items are
        missing.
        """
        if len(label_loss) != len(test_set):
            raise InputError('label losses', f'{len(test_set)} items',
                             str(len(label_loss)),
                             'Remove the predictions and run again.')
        total = float(np.sum(label_loss))
        return {
            'label_loss': total / len(label_loss),
            'label_token_loss': total / sum(label_tokens),
            'label_byte_loss': total / sum(label_bytes)
        }
