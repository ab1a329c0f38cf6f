"""Predictions from the bits per character that OpenCompass measures itself."""
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.oc.summarizers import PredictedSummarizer
from csv_plugin.report.leaderboards import Leaderboard, predict_columns

#: Datasets of OpenCompass's `llm_compression`, by the units of predictors.
CORPORA = {
    'cc': 'llm_compression-commoncraw',
    'python': 'llm_compression-python',
    'arxiv_math': 'llm_compression-arxiv_math',
}
#: What its evaluator calls the bits per character.
METRIC = 'bpc'


class PredictedBpcSummarizer(PredictedSummarizer):
    """Predicts from bits per character; else as `PredictedSummarizer`.

    Its predictors take losses on the units of `CORPORA`.
    """

    def __init__(self,
                 *args: Any,
                 complete: Optional[str] = None,
                 **kwargs: Any) -> None:
        if complete:
            raise InputError('complete of PredictedBpcSummarizer', 'none',
                             repr(complete), 'Leave it out.')
        super().__init__(*args, **kwargs)

    def _predict(
            self, parsed: Mapping[str, Any], folders: Mapping[str, str],
            predictors: Mapping[str, Union[Predictor, Missing]],
            real: Mapping[tuple[str, str], Union[float,
                                                 Missing]]) -> Leaderboard:
        columns = {
            label: {
                folder:
                predictor if isinstance(predictor, Missing) else _features(
                    folder, parsed[model], predictor)
                for model, folder in folders.items()
            }
            for label, predictor in predictors.items()
        }
        return predict_columns(columns, folders, predictors, self.predictors,
                               real)

    def _format_table(self, parsed: Any, *args: Any,
                      **kwargs: Any) -> list[list[str]]:
        """The table with bits per character to four digits."""
        table = super()._format_table(parsed, *args, **kwargs)
        for row in table[1:]:
            if row[0] in CORPORA.values() and row[2] == METRIC:
                row[4:] = [
                    f'{parsed[model][row[0]][METRIC]:.4f}'
                    if row[0] in parsed[model] else '-'
                    for model in self.model_abbrs
                ]
        return table


def _features(model: str, scores: Mapping[str, Mapping[str, float]],
              predictor: Predictor) -> Union[FeatureTable, Missing]:
    """The columns of a model, or why they are missing."""
    units = predictor.columns.units
    foreign = [unit for unit in units if unit not in CORPORA]
    if foreign:
        return Missing(f'the predictor is of {foreign[0]!r}, and not of bits '
                       f'per character on {", ".join(CORPORA)}')
    absent = [
        CORPORA[unit] for unit in units
        if METRIC not in scores.get(CORPORA[unit], {})
    ]
    if absent:
        return Missing(f'no bits per character of {", ".join(absent)} in '
                       'this run')
    values = [scores[CORPORA[unit]][METRIC] for unit in units]
    if not np.isfinite(values).all():
        return Missing(f'bits per character of {max(values)}: OpenCompass '
                       'sums losses in the number format of the model, where '
                       'those of a large batch may overflow in float16')
    return FeatureTable((model, ), predictor.columns, np.array([values]))
