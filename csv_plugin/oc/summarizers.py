"""OpenCompass's summary with predictions beside the real accuracies."""
import io
import logging
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from opencompass.registry import PARTITIONERS
from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import \
    model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg
from tqdm import tqdm

from csv_plugin.core.escaping import csv_cell, markdown, one_line
from csv_plugin.core.formatting import shortened
from csv_plugin.core.metric_names import (first_accuracy, is_accuracy,
                                          is_no_accuracy, no_accuracy)
from csv_plugin.core.predicting import (known_items, or_missing,
                                        predictable_benchmarks)
from csv_plugin.core.predictions import Missing, Prediction
from csv_plugin.io.files import write_text
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import TEXTS
from csv_plugin.io.runs.run_failures import failure_of
from csv_plugin.io.runs.run_items import items_run
from csv_plugin.io.runs.run_scores import ENDS, PREDICTED_MODE
from csv_plugin.oc.accelerators import accelerate
from csv_plugin.oc.run_checks import (COMMON_GROUPS, LOSS_INFERENCERS,
                                      check_benchmarks, check_models,
                                      names_in_run, of_losses, predictor_files,
                                      with_common_groups)
from csv_plugin.report.leaderboards import (as_short_text, known_in_run,
                                            predict_run, write_leaderboard)
from csv_plugin.report.screen import (WIDTH, next_line, shown_path,
                                      terminal_width, wrapped)

#: Mode of the rows of losses.
LOSS_MODE = 'loss'
#: The metric that stands for all losses of a model on the texts.
TEXTS_METRIC = 'bits_per_byte'
#: What OpenCompass prints between its table and the same in Markdown.
_SECOND_TABLE = 'The markdown format results is as below:'


class _Place(NamedTuple):
    """Row of the real accuracies of a benchmark: dataset or group."""
    abbr: str
    metric: str


# OpenCompass builds summarizers by the registry of partitioners.
@PARTITIONERS.register_module()
class PredictedSummarizer(DefaultSummarizer):
    """Adds predictions to OpenCompass's table, and writes a leaderboard.

    On the screen stands one table, of the benchmarks that are predicted; the
    files have all others. Predictions are computed anew from the run's
    token-loss dumps for every summary (`-m viz -r`). Real accuracies are read
    as percent.

    Args:
        config (ConfigDict): Filled in by OpenCompass.
        predictors (Sequence): Pairs of a label and the path of a predictor,
            the main one first.
        benchmarks (Sequence): Pairs of a predictor's benchmark and its name
            in this run: the abbreviation of a dataset or group, or a pair of
            that and a metric. By default the name is the same and the metric
            is the dataset's first accuracy or the group's average.
        known (Union[bool, str]): Accuracies that the predictions are
            conditioned on: True for those of this run, or the path of a table
            as in `salience predict --known`, with the names of models that the
            summary has. By default predictions are made from losses alone.
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
                 known: Union[bool, str] = False,
                 **kwargs: Any) -> None:
        accelerate(config)
        kwargs['summary_groups'] = with_common_groups(
            kwargs.get('summary_groups', ()), config['datasets'])
        super().__init__(config, **kwargs)
        check_models(self.model_cfgs)
        self.predictors = predictor_files(predictors)
        self.known = known
        self.benchmarks = benchmarks

    # OpenCompass prints what it writes, and has no place for rows or modes of
    # others. A method each for the mode of an inferencer, for the rows of a
    # benchmark and for what is printed would replace all that is overridden
    # below.

    def summarize(self, *args: Any, **kwargs: Any) -> None:
        """Write OpenCompass's files and the leaderboard; print one table."""
        printed = io.StringIO()
        with redirect_stdout(printed), _quiet(self.logger):
            super().summarize(*args, **kwargs)
        if not self.leaderboard.predictions.benchmarks:
            # Without a predictor, the accuracies are all that there is.
            print(printed.getvalue().partition(_SECOND_TABLE)[0].rstrip())
        width = min(terminal_width(), WIDTH)
        files = (f'Written to {shown_path(self.folder)}: summary_*.txt has '
                 'all metrics, leaderboard_*.txt all predictions and marks.')
        print(
            '',
            as_short_text(self.leaderboard, width),
            '',
            wrapped([files], width),
            sep='\n')
        self._print_next()

    def _print_next(self) -> None:
        """Print the command that makes a page of the run."""
        usable = [
            word for label, path in self.predictors.items()
            if label in self.usable
            for word in ('--predictor', f'{label}={shown_path(path)}')
        ]
        if usable:
            # The program may lie beside an interpreter that is not on PATH.
            found = shutil.which('salience')
            program = Path(sys.executable).with_name('salience')
            print(
                next_line('salience' if found else program, 'report',
                          Path(self.work_dir), *usable),
                flush=True)

    def _pick_up_results(self) -> Any:
        """OpenCompass's results, with a mode for losses."""
        raw, parsed, metrics, modes = super()._pick_up_results()
        for dataset in self.dataset_cfgs:
            if of_losses(dataset):
                modes[dataset_abbr_from_cfg(dataset)] = LOSS_MODE
        return raw, parsed, metrics, modes

    def _calculate_group_metrics(self, *results: Any) -> Any:
        """OpenCompass's results; the leaderboard is made of them."""
        predictors = {
            label: or_missing(load_predictor, path)
            for label, path in self.predictors.items()
        }
        self.usable = [
            label for label, predictor in predictors.items()
            if not isinstance(predictor, Missing)
        ]
        predicted = predictable_benchmarks(predictors)
        self.names = names_in_run(self.benchmarks, self.dataset_cfgs,
                                  self.summary_groups, predicted)
        check_benchmarks(self.names, predictors)
        raw, parsed, metrics, modes = super()._calculate_group_metrics(
            *results)
        # Folders of models by their names in the table.
        folders = {
            model_abbr_from_cfg_used_in_summarizer(model):
            model_abbr_from_cfg(model)
            for model in self.model_cfgs
        }
        self.places = {
            benchmark: self._place(benchmark, metrics)
            for benchmark in predicted
        }
        whole = known_items(predictors)
        real: dict[tuple[str, str], Union[float, Missing]] = {}
        items: dict[tuple[str, str], int] = {}
        for model, benchmark in product(folders, self.places):
            place = self.places[benchmark]
            real[model, benchmark] = self._accuracy(
                folders[model], raw[model], parsed[model], place,
                self._other_metric(benchmark, metrics))
            n_items = self._items(folders[model], place.abbr,
                                  bool(whole[benchmark]))
            if n_items:
                items[model, benchmark] = n_items
        known = None
        if self.known is True:
            known = known_in_run(real, folders, predicted)
        elif self.known:
            table, _ = read_known(self.known, folders, predicted)
            known = replace(
                table, models=tuple(folders[model] for model in table.models))
        self.leaderboard, _ = predict_run(
            self.work_dir, folders, predictors, self.predictors, real,
            partial(tqdm, desc='predictions', delay=2), known, items)
        self._drop_unasked_errors(raw, predicted)
        return raw, parsed, metrics, modes

    def _drop_unasked_errors(self, raw: Mapping[str, dict[str, Any]],
                             predicted: Sequence[str]) -> None:
        """Forget errors of groups that came along and are not predicted."""
        asked = {self.names.get(name, name) for name in predicted}
        asked |= {name[0] for name in asked if not isinstance(name, str)}
        for group in self.summary_groups:
            if group in COMMON_GROUPS and group['name'] not in asked:
                for of_model in raw.values():
                    if 'error' in of_model.get(group['name'], ()):
                        del of_model[group['name']]

    def _items(self, folder: str, name: str, is_counted: bool) -> int:
        """The number of items that ran of a row, 0 if it does not matter.

        Without a `test_range`, it matters only where predictors know how many
        items there are (`is_counted`).
        """
        datasets = [*self._datasets(name)]
        ranges = [
            dataset['reader_cfg'].get('test_range') for dataset in datasets
        ]
        if not is_counted and not any(ranges):
            return 0
        return sum(
            items_run(self.work_dir, folder, dataset_abbr_from_cfg(dataset)) //
            dataset.get('n', 1) for dataset in datasets)

    def _datasets(self, name: str) -> Iterator[Any]:
        """Yield the entries of the datasets in a row."""
        for dataset in self.dataset_cfgs:
            if dataset_abbr_from_cfg(dataset) == name:
                yield dataset
                return
        for group in self.summary_groups:
            if group['name'] == name:
                for subset in group['subsets']:
                    yield from self._datasets(
                        subset if isinstance(subset, str) else subset[0])
                return

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
        self.predicted_rows: list[tuple[list[str], str, str]] = []
        for benchmark, place in self.places.items():
            row = _row_behind(table, place)
            # Show what was not run, unless the rows were chosen.
            if row is None and not chosen:
                row = len(table)
            if row is not None:
                added = [[
                    _cell(place.abbr), '-',
                    _cell(label), PREDICTED_MODE,
                    *predictions.cells(benchmark, label)
                ] for label in predictions.methods]
                self.predicted_rows += [
                    (cells, benchmark, label)
                    for cells, label in zip(added, predictions.methods)
                ]
                table[row:row] = added
        return table

    def _output_to_file(self, output_path: Optional[str], time_str: str,
                        table: Sequence[Sequence[str]], raw_txts: str) -> None:
        """Write OpenCompass's files, and the leaderboard beside them."""
        board = self.leaderboard
        super()._output_to_file(
            output_path, time_str, table,
            '\n'.join([raw_txts, '', *map(one_line, board.notes)]))
        summary = Path(
            output_path
            or Path(self.work_dir, 'summary', f'summary_{time_str}.txt'))
        write_text(
            summary.with_suffix('.csv'),
            '\n'.join(map(','.join, self._numbers(table))) + '\n')
        stem = summary.stem if output_path else time_str
        write_leaderboard(summary.with_name(f'leaderboard_{stem}'), board)
        self.folder = summary.parent

    def _numbers(self, table: Sequence[Sequence[str]]) -> list[list[str]]:
        """The table with a number or nothing in every cell of a model.

        Behind the models are columns with the ends of intervals.
        """
        predictions = self.leaderboard.predictions
        predicted = {
            id(cells): (benchmark, label)
            for cells, benchmark, label in self.predicted_rows
        }
        header, *rows = table
        models = header[4:]
        found = [[*header, *(model + end for model in models for end in ENDS)]]
        for row in rows:
            values = ['' if cell == '-' else cell for cell in row[4:]]
            ends = ['', ''] * len(models)
            if id(row) in predicted:
                benchmark, label = predicted[id(row)]
                cells = [
                    predictions.at(model, benchmark, label)
                    for model in predictions.models
                ]
                values = [_percent(cell, 'value') for cell in cells]
                ends = [
                    _percent(cell, end) for cell in cells
                    for end in ('low', 'high')
                ]
            found.append([*row[:4], *values, *ends])
        # OpenCompass quotes nothing and puts spaces for commas.
        return [[cell.replace(',', ' ') for cell in row] for row in found]

    def _accuracy(self, folder: str, raw: Mapping[str, Mapping[str, Any]],
                  parsed: Mapping[str, Mapping[str, float]], place: _Place,
                  other_metric: str) -> Union[float, Missing]:
        """The accuracy of a model in a row, or why there is none."""
        scores = parsed.get(place.abbr, {})
        if place.metric in scores and other_metric:
            return Missing(no_accuracy(other_metric))
        if place.metric in scores:
            score = scores[place.metric]
            return score / 100 if 0 <= score <= 100 else Missing(
                f'the score {score} is not in percent')
        if scores:
            return Missing(
                f'no metric {place.metric!r} but {", ".join(scores)}')
        error = ' '.join(str(raw.get(place.abbr, {}).get('error', '')).split())
        if error:
            # Most characters of an error of OpenCompass that a reason quotes.
            n_characters = 240
            return Missing(shortened(error, n_characters))
        # Of a group none of whose datasets has a result, the first one's.
        failures = (
            failure_of(self.work_dir, folder, dataset_abbr_from_cfg(dataset))
            for dataset in self._datasets(place.abbr))
        failure = next(filter(None, failures), '')
        return Missing('no score in this run' + f': {failure}' * bool(failure))


class _Quiet(logging.Filter):
    """Leaves out what OpenCompass logs of losses and of its files."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is shown."""
        line = record.getMessage()
        of_losses = line.startswith('unknown inferencer: ') and any(
            name in line for name in LOSS_INFERENCERS)
        return not (of_losses or line.startswith('write '))


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Leave lines out of a log for a while."""
    quiet = _Quiet()
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)


def _percent(cell: Union[Prediction, Missing], part: str) -> str:
    """A number of a prediction in percent; empty without a prediction."""
    if isinstance(cell, Missing):
        return ''
    return f'{100 * getattr(cell, part):.2f}'


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


def _row_behind(table: Sequence[Sequence[str]],
                place: _Place) -> Optional[int]:
    rows = [r for r, row in enumerate(table) if row[0] == place.abbr]
    exact = [r for r in rows if table[r][2] == place.metric]
    return (exact or rows)[-1] + 1 if rows else None
