"""OpenCompass's summary with predictions beside the real accuracies."""
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

from csv_plugin.core.escaping import csv_cell, markdown, one_line
from csv_plugin.core.metric_names import (first_accuracy, is_accuracy,
                                          is_no_accuracy, no_accuracy)
from csv_plugin.core.predicting import or_missing, predictable_benchmarks
from csv_plugin.core.predictions import Missing
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import TEXTS
from csv_plugin.io.runs.run_scores import PREDICTED_MODE
from csv_plugin.oc.accelerators import accelerate
from csv_plugin.oc.run_checks import (check_benchmarks, check_models,
                                      names_in_run, predictor_files,
                                      with_common_groups)
from csv_plugin.report.leaderboards import (as_text, predict_run,
                                            write_leaderboard)
from csv_plugin.report.screen import shown_path

#: The metric that stands for all losses of a model on the texts.
TEXTS_METRIC = 'bits_per_byte'
#: Most characters of an error of OpenCompass that a reason quotes.
_REASON = 120


class _Place(NamedTuple):
    """Row of the real accuracies of a benchmark: dataset or group."""
    abbr: str
    metric: str


class PredictedSummarizer(DefaultSummarizer):
    """Adds predictions to OpenCompass's table, and writes a leaderboard.

    Predictions are computed anew from the run's token-loss dumps for every
    summary (`-m viz -r`). Real accuracies are read as percent.

    Args:
        config (ConfigDict): Filled in by OpenCompass.
        predictors (Sequence): Pairs of a label and the path of a predictor,
            the main one first.
        benchmarks (Sequence): Pairs of a predictor's benchmark and its name
            in this run: the abbreviation of a dataset or group, or a pair of
            that and a metric. By default the name is the same and the metric
            is the dataset's first accuracy or the group's average.
        with_scores (bool): Let the real accuracies of a model change the
            predictions of its others. By default all predictions are made
            from losses alone.
        **kwargs: `dataset_abbrs` and `summary_groups` of OpenCompass; its
            groups of bbh, mmlu, cmmlu and ceval need not be named.

    Raises:
        InputError: Two models have one name, or as in
            `run_checks.predictor_files` and `names_in_run`.
    """

    def __init__(self,
                 config: Any,
                 predictors: Sequence[tuple[str, str]],
                 benchmarks: Sequence[tuple[str, Any]] = (),
                 with_scores: bool = False,
                 **kwargs: Any) -> None:
        accelerate(config)
        kwargs['summary_groups'] = with_common_groups(
            kwargs.get('summary_groups', ()), config['datasets'])
        super().__init__(config, **kwargs)
        check_models(self.model_cfgs)
        self.predictors = predictor_files(predictors)
        self.with_scores = with_scores
        self.benchmarks = benchmarks

    def _calculate_group_metrics(self, *results: Any) -> Any:
        """OpenCompass's results; the leaderboard is made of them."""
        raw, parsed, metrics, modes = super()._calculate_group_metrics(
            *results)
        # Folders of models by their names in the table.
        folders = {
            model_abbr_from_cfg_used_in_summarizer(model):
            model_abbr_from_cfg(model)
            for model in self.model_cfgs
        }
        predictors = {
            label: or_missing(load_predictor, path)
            for label, path in self.predictors.items()
        }
        predicted = predictable_benchmarks(predictors)
        self.names = names_in_run(self.benchmarks, self.dataset_cfgs,
                                  self.summary_groups, predicted)
        check_benchmarks(self.names, predictors)
        self.places = {
            benchmark: self._place(benchmark, metrics)
            for benchmark in predicted
        }
        real = {
            (model, benchmark):
            _accuracy(raw[model], parsed[model], place,
                      self._other_metric(benchmark, metrics))
            for model, (benchmark,
                        place) in product(folders, self.places.items())
        }
        self.leaderboard, _ = predict_run(
            self.work_dir, folders, predictors, self.predictors, real,
            partial(tqdm, desc='predictions', delay=2), self.with_scores)
        return raw, parsed, metrics, modes

    def _place(self, benchmark: str,
               metrics: Mapping[str, Sequence[str]]) -> _Place:
        name = self.names.get(benchmark, benchmark)
        if not isinstance(name, str):
            return _Place(*name)
        listed = metrics.get(name, ['-'])
        # The metrics of a group are in random order but for the average,
        # which is last.
        if name in [group['name'] for group in self.summary_groups]:
            return _Place(name, listed[-1])
        return _Place(name, first_accuracy(listed) or listed[0])

    def _other_metric(self, benchmark: str,
                      metrics: Mapping[str, Sequence[str]]) -> str:
        """The metric of a benchmark that is no accuracy, if it has one."""
        place = self.places[benchmark]
        averaged = _averaged(place, metrics, self.summary_groups)
        # Users may choose any metric that is not known to be none.
        is_chosen = not isinstance(self.names.get(benchmark, ''), str)
        if not is_chosen and averaged == [place.metric]:
            return '' if is_accuracy(place.metric) else place.metric
        return next(filter(is_no_accuracy, averaged), '')

    def _format_table(self, parsed: Any, metrics: Mapping[str, Sequence[str]],
                      *args: Any, **kwargs: Any) -> list[list[str]]:
        """OpenCompass's table with rows of predictions."""
        # Rows that were chosen stay as they are. Of text sets, others are of
        # bits per byte, which tokenizers do not change.
        chosen = self.dataset_abbrs is not None
        shown = {
            dataset: [TEXTS_METRIC] if not chosen and TEXTS_METRIC in names
            and dataset.startswith(TEXTS) else names
            for dataset, names in metrics.items()
        }
        table = super()._format_table(parsed, shown, *args, **kwargs)
        predictions = self.leaderboard.predictions
        for benchmark, place in self.places.items():
            row = _row_behind(table, place)
            # Show what was not run, unless the rows were chosen.
            if row is None and not chosen:
                row = len(table)
            if row is not None:
                table[row:row] = [[
                    _cell(place.abbr), '-',
                    _cell(label), PREDICTED_MODE,
                    *predictions.cells(benchmark, label)
                ] for label in predictions.methods]
        return table

    def _output_to_file(self, output_path: Optional[str], time_str: str,
                        table: Sequence[Sequence[str]], raw_txts: str) -> None:
        """Write OpenCompass's files, and the leaderboard beside them."""
        board = self.leaderboard
        super()._output_to_file(
            output_path, time_str, table,
            '\n'.join([raw_txts, '', *map(one_line, board.notes)]))
        summary = Path(
            output_path or Path(self.work_dir, 'summary', f'{time_str}.txt'))
        write_leaderboard(
            summary.with_name(f'leaderboard_{summary.stem}'), board)
        print(as_text(board), f'Written to {shown_path(summary.parent)}.',
              sep='\n\n', end='\n\n')  # yapf: disable


def _cell(name: str) -> str:
    """A name that is safe in Markdown and CSV."""
    return csv_cell(markdown(name))


def _averaged(place: _Place, metrics: Mapping[str, Sequence[str]],
              groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metric of a row, and those that it is the average of."""
    subsets = next((g['subsets'] for g in groups if g['name'] == place.abbr),
                   ())
    found = [place.metric]
    for subset in subsets:
        name, metric = (subset, '') if isinstance(subset, str) else subset
        # An average is over the first metrics of datasets.
        metric = metric or next(iter(metrics.get(name, ())), '')
        found += _averaged(_Place(name, metric), metrics, groups)
    return found


def _accuracy(raw: Mapping[str, Mapping[str, Any]],
              parsed: Mapping[str, Mapping[str, float]], place: _Place,
              other_metric: str) -> Union[float, Missing]:
    scores = parsed.get(place.abbr, {})
    if place.metric in scores and other_metric:
        return Missing(no_accuracy(other_metric))
    if place.metric in scores:
        score = scores[place.metric]
        return score / 100 if 0 <= score <= 100 else Missing(
            f'the score {score} is not in percent')
    if scores:
        return Missing(f'no metric {place.metric!r} but {", ".join(scores)}')
    error = raw.get(place.abbr, {}).get('error', 'no score in this run')
    return Missing(' '.join(str(error).split())[:_REASON])


def _row_behind(table: Sequence[Sequence[str]],
                place: _Place) -> Optional[int]:
    rows = [r for r, row in enumerate(table) if row[0] == place.abbr]
    exact = [r for r in rows if table[r][2] == place.metric]
    return (exact or rows)[-1] + 1 if rows else None
