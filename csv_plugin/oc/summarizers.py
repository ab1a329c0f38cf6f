"""The host's summary with predicted scores beside the real ones."""
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import \
    model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import model_abbr_from_cfg
from tqdm import tqdm

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.report.leaderboard_files import write_leaderboard
from csv_plugin.report.leaderboards import as_text, notes, predicted_row
from csv_plugin.report.run_predictions import compare, predict_run

#: How much of an error of the host is told.
_REASON = 120


class _Place(NamedTuple):
    """Where the real scores of a benchmark stand: dataset, or group."""
    abbr: str
    metric: str


class PredictedSummarizer(DefaultSummarizer):
    """Adds what predictors say to the host's table, and a leaderboard.

    Predictions are made from the run's token-loss dumps whenever the
    summary is made (`-m viz -r`), and never become results. Real scores
    are taken for percent, as accuracies are in the host.

    Args:
        config (ConfigDict): Filled in by the host.
        predictors (Sequence): Pairs of a label and the path of a predictor,
            the main one first.
        benchmarks (Sequence): Pairs of a predictor's benchmark and what it
            is called in this run: the abbreviation of a dataset or group,
            or a pair of that and a metric. By default the name is the same
            and the metric is the dataset's first or the group's average.
        **kwargs: `dataset_abbrs` and `summary_groups` of the host.

    Raises:
        InputError: If there is no predictor, or a label occurs twice.
    """

    def __init__(self,
                 config: Any,
                 predictors: Sequence[tuple[str, str]],
                 benchmarks: Sequence[tuple[str, Any]] = (),
                 **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.predictors = [(label, path) for label, path in predictors]
        if not self.predictors:
            raise InputError('PredictedSummarizer', 'a predictor or more',
                             'none', 'Give pairs of a label and a path.')
        check_unique('labels of predictors',
                     ('real', *(label for label, _ in self.predictors)))
        self.names = dict(benchmarks)

    def _calculate_group_metrics(self, *results: Any) -> Any:
        """The host's results, from which the leaderboard is made as well."""
        raw, parsed, metrics, modes = super()._calculate_group_metrics(
            *results)
        # What a model is called in the table and in the run's folders.
        models = {
            model_abbr_from_cfg_used_in_summarizer(model):
            model_abbr_from_cfg(model)
            for model in self.model_cfgs
        }
        found = predict_run(self.work_dir, list(models.values()),
                            self.predictors,
                            partial(tqdm, desc='predictions', delay=2))
        self.places = {
            benchmark: self._place(benchmark, metrics)
            for predictions in found
            for benchmark in predictions.benchmarks
        }
        real = {
            (model, benchmark): _real_score(raw[model], parsed[model], place)
            for model, (benchmark,
                        place) in product(models, self.places.items())
        }
        self.leaderboard = compare(models, real, found)
        return raw, parsed, metrics, modes

    def _place(self, benchmark: str,
               metrics: Mapping[str, Sequence[str]]) -> _Place:
        name = self.names.get(benchmark, benchmark)
        if not isinstance(name, str):
            return _Place(*name)
        known = metrics.get(name, ['-'])
        # The host lists the metrics of a group in random order, its average
        # last; those of a dataset with the most telling one first.
        groups = [group['name'] for group in self.summary_groups]
        return _Place(name, known[-1 if name in groups else 0])

    def _format_table(self, *args: Any, **kwargs: Any) -> list[list[str]]:
        """The host's table with predictions below the real scores."""
        table = super()._format_table(*args, **kwargs)
        for benchmark, place in self.places.items():
            row = _row_of(table, place)
            # Show what was not run, unless the rows were chosen.
            if row is None and self.dataset_abbrs is None:
                row = len(table) - 1
            if row is not None:
                table[row + 1:row + 1] = [[
                    place.abbr, '-', label, 'losses',
                    *predicted_row(self.leaderboard, label, benchmark)
                ] for label in self.leaderboard.labels]
        return table

    def _output_to_file(self, output_path: Optional[str], time_str: str,
                        table: Sequence[Sequence[str]], raw_txts: str) -> None:
        """The host's files, and those of the leaderboard beside them."""
        board = self.leaderboard
        super()._output_to_file(output_path, time_str, table,
                                '\n'.join([raw_txts, '', *notes(board)]))
        summary = Path(
            output_path or Path(self.work_dir, 'summary', f'{time_str}.txt'))
        files = write_leaderboard(
            summary.with_name(f'leaderboard_{summary.stem}').absolute(), board)
        print(as_text(board), *files, sep='\n', end='\n\n')


def _real_score(raw: Mapping[str, Mapping[str, Any]],
                parsed: Mapping[str, Mapping[str, float]],
                place: _Place) -> Union[float, str]:
    """A model's score in percent, or why there is none."""
    scores = parsed.get(place.abbr, {})
    if place.metric in scores:
        score = scores[place.metric]
        return score if 0 <= score <= 100 else (
            f'the score {score} is not in percent')
    if scores:
        return f'no metric {place.metric!r} but {", ".join(scores)}'
    error = raw.get(place.abbr, {}).get('error', 'no score in this run')
    return ' '.join(str(error).split())[:_REASON]


def _row_of(table: Sequence[Sequence[str]], place: _Place) -> Optional[int]:
    """Last row of the metric or, if there is none, of the dataset."""
    rows = [r for r, row in enumerate(table) if row[0] == place.abbr]
    exact = [r for r in rows if table[r][2] == place.metric]
    return (exact or rows or [None])[-1]
