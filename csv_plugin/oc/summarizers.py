"""OpenCompass's summary with predictions beside the observed accuracies."""
import io
import logging
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from opencompass.registry import PARTITIONERS
from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import \
    model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.escaping import csv_cell, markdown, one_line
from csv_plugin.core.formatting import shortened
from csv_plugin.core.metric_names import (first_accuracy, is_accuracy,
                                          is_no_accuracy, no_accuracy)
from csv_plugin.core.predicting import (known_items, or_missing,
                                        predictable_benchmarks)
from csv_plugin.core.predictions import Missing, Prediction, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.text_tables import WIDTH, wrapped
from csv_plugin.io.files import write_text
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import TEXTS
from csv_plugin.io.runs.run_failures import failure_of
from csv_plugin.io.runs.run_items import items_run
from csv_plugin.io.runs.run_scores import ENDS, PREDICTED_MODE
from csv_plugin.oc.accelerators import apply_accelerator
from csv_plugin.oc.run_checks import (COMMON_GROUPS, LOSS_INFERENCERS,
                                      check_benchmarks, check_models,
                                      names_in_run, of_losses, predictor_files,
                                      with_common_groups)
from csv_plugin.report.leaderboard_tables import (as_short_text,
                                                  write_leaderboard)
from csv_plugin.report.leaderboards import (Leaderboard, known_in_run,
                                            predict_run)
from csv_plugin.report.screen import next_line, shown_path, terminal_width

#: Mode of the rows of losses.
LOSS_MODE = 'loss'
#: The metric that stands for all losses of a model on the texts.
TEXTS_METRIC = 'bits_per_byte'
#: What OpenCompass prints between its table and the same in Markdown.
_SECOND_TABLE = 'The markdown format results is as below:'


class _Place(NamedTuple):
    """Row of the observed accuracies of a benchmark.

    `abbr` is the name of a dataset or of a group of datasets.
    """
    abbr: str
    metric: str


# OpenCompass builds summarizers by the registry of partitioners.
@PARTITIONERS.register_module()
class PredictedSummarizer(DefaultSummarizer):
    """Adds predictions to OpenCompass's table, and writes a leaderboard.

    On the screen stands one table, of the benchmarks that are predicted; the
    files have all others. Predictions are computed anew from the run's
    token-loss dumps for every summary (`-m viz -r`). OpenCompass's accuracies
    are read as percent. Without predictors, the table is OpenCompass's own,
    in which rows of losses have the mode `loss`, and there is no leaderboard.

    OpenCompass prints what it writes and offers no hook for additional rows or
    modes, so the following private methods are overridden. Three hooks (mode
    of an inferencer, rows of a benchmark, printing) would make this
    unnecessary. `summarize` calls them in this order:

    1. `_pick_up_results` reads the results, and gets the mode of losses.
    2. `_calculate_group_metrics` averages them over groups. Here the
       predictors are loaded, and the leaderboard is made.
    3. `_format_table` makes the table, and gets rows of predictions.
    4. `_output_to_file` writes the files, and the leaderboard beside them.

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
                 predictors: Sequence[tuple[str, str]] = (),
                 benchmarks: Sequence[tuple[str, Any]] = (),
                 known: Union[bool, str] = False,
                 **kwargs: Any) -> None:
        apply_accelerator(config)
        kwargs['summary_groups'] = with_common_groups(
            kwargs.get('summary_groups', ()), config['datasets'])
        super().__init__(config, **kwargs)
        check_models(self.model_cfgs)
        self.predictors = predictor_files(predictors, benchmarks, known)
        self.known = known
        self.benchmarks = benchmarks

    def summarize(self, *args: Any, **kwargs: Any) -> None:
        """Write OpenCompass's files and the leaderboard; print one table."""
        printed = io.StringIO()
        with redirect_stdout(printed), _quiet(self.logger):
            super().summarize(*args, **kwargs)
        width = min(terminal_width(), WIDTH)
        board = self.leaderboard
        files = f'{self.summary_file} has all metrics'
        if board is None or not board.predictions.benchmarks:
            # OpenCompass's table is all that there is.
            print(printed.getvalue().partition(_SECOND_TABLE)[0].rstrip())
        if not self.predictors:
            print('\nNothing is predicted: the summarizer has no predictors. '
                  'Accuracies are in\npercent; of bits_per_byte, smaller is '
                  'better.')
        if board is not None:
            rest = f'{self.leaderboard_stem}.txt'
            print(f'\n{as_short_text(board, width, rest)}')
            files += f', {rest} all predictions and marks'
        line = f'Written to {shown_path(self.folder)}: {files}.'
        print(f'\n{wrapped([line], width)}')
        self._print_next()

    def _print_next(self) -> None:
        """Print the command that makes a page of the run."""
        options = []
        for label in self.usable:
            path = shown_path(self.predictors[label])
            options += ['--predictor', f'{label}={path}']
        if options:
            # The program may lie beside an interpreter that is not on PATH.
            found = shutil.which('salience')
            program = Path(sys.executable).with_name('salience')
            print(
                next_line('salience' if found else program, 'report',
                          Path(self.work_dir), *options),
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
        predictors = self._load_predictors()
        predicted = predictable_benchmarks(predictors)
        self.names = names_in_run(self.benchmarks, self.dataset_cfgs,
                                  self.summary_groups, predicted)
        check_benchmarks(self.names, predictors)
        raw, parsed, metrics, modes = super()._calculate_group_metrics(
            *results)
        self.places = {
            benchmark: self._place(benchmark, metrics)
            for benchmark in predicted
        }
        self.leaderboard: Optional[Leaderboard] = None
        if predictors:
            folders = self._folders()
            observed = self._observed(folders, raw, parsed, metrics)
            self.leaderboard, _ = predict_run(
                self.work_dir, folders, predictors, self.predictors, observed,
                partial(tqdm, desc='predictions', delay=2),
                self._known(folders, observed, predicted),
                self._items_by_cell(folders, known_items(predictors)))
        self._drop_errors_of_common_groups(raw, predicted)
        return raw, parsed, metrics, modes

    def _load_predictors(self) -> dict[str, Union[Predictor, Missing]]:
        """Load all predictors; note in `usable` which of them can be used."""
        predictors = {}
        self.usable: list[str] = []
        for label, path in self.predictors.items():
            predictors[label] = or_missing(load_predictor, path)
            if not isinstance(predictors[label], Missing):
                self.usable.append(label)
        return predictors

    def _folders(self) -> dict[str, str]:
        """Folders of the models by their names in the table."""
        return {
            model_abbr_from_cfg_used_in_summarizer(model):
            model_abbr_from_cfg(model)
            for model in self.model_cfgs
        }

    def _observed(
        self, folders: Mapping[str, str], raw: Mapping[str, Mapping[str, Any]],
        parsed: Mapping[str, Mapping[str, Mapping[str, float]]],
        metrics: Mapping[str, Sequence[str]]
    ) -> dict[tuple[str, str], Union[float, Missing]]:
        """Accuracies of the run by model and benchmark, or why one lacks."""
        observed = {}
        for benchmark, place in self.places.items():
            other = self._metric_that_is_no_accuracy(benchmark, metrics)
            for model, folder in folders.items():
                observed[model,
                         benchmark] = self._accuracy(folder, raw[model],
                                                     parsed[model], place,
                                                     other)
        return observed

    def _items_by_cell(self, folders: Mapping[str, str],
                       whole: Mapping[str, int]) -> dict[tuple[str, str], int]:
        """Numbers of items by model and benchmark, where known.

        `whole` are the items that predictors were fitted to, by benchmark.
        """
        items = {}
        for benchmark, place in self.places.items():
            for model, folder in folders.items():
                n_items = self._items(folder, place.abbr,
                                      bool(whole[benchmark]))
                if n_items:
                    items[model, benchmark] = n_items
        return items

    def _known(self, folders: Mapping[str, str],
               observed: Mapping[tuple[str, str], Union[float, Missing]],
               predicted: Sequence[str]) -> Optional[AccuracyTable]:
        """Accuracies that the predictions are conditioned on, by folder."""
        if self.known is True:
            return known_in_run(observed, folders, predicted)
        if not self.known:
            return None
        table, _ = read_known(self.known, folders, predicted)
        models = [folders[model] for model in table.models]
        return replace(table, models=tuple(models))

    def _drop_errors_of_common_groups(self, raw: Mapping[str, dict[str, Any]],
                                      predicted: Sequence[str]) -> None:
        """Drop errors of OpenCompass's groups that the user did not ask for.

        The benchmarks that are predicted are those that were asked for.
        """
        asked = set()
        for benchmark in predicted:
            name = self.names.get(benchmark, benchmark)
            asked.add(name if isinstance(name, str) else name[0])
        for group in self.summary_groups:
            if group in COMMON_GROUPS and group['name'] not in asked:
                for of_model in raw.values():
                    if 'error' in of_model.get(group['name'], ()):
                        del of_model[group['name']]

    def _items(self, folder: str, name: str, is_counted: bool) -> int:
        """Number of items that were evaluated for a row.

        It is 0 (unknown) if the benchmark was run in full and the predictor
        does not know its size. `is_counted` says that the predictor does.
        """
        datasets = [*self._datasets(name)]
        is_part = False
        for dataset in datasets:
            if dataset['reader_cfg'].get('test_range'):
                is_part = True
        if not is_part and not is_counted:
            return 0
        n_items = 0
        for dataset in datasets:
            n_answers = items_run(self.work_dir, folder,
                                  dataset_abbr_from_cfg(dataset))
            n_items += n_answers // dataset.get('n', 1)
        return n_items

    def _datasets(self, name: str) -> Iterator[Any]:
        """Yield the entries of the datasets in a row."""
        for dataset in self.dataset_cfgs:
            if dataset_abbr_from_cfg(dataset) == name:
                yield dataset
                return
        for group in self.summary_groups:
            if group['name'] == name:
                for subset in group['subsets']:
                    is_name = isinstance(subset, str)
                    yield from self._datasets(subset if is_name else subset[0])
                return

    def _place(self, benchmark: str,
               metrics: Mapping[str, Sequence[str]]) -> _Place:
        """The row that has the accuracies of a benchmark."""
        name = self.names.get(benchmark, benchmark)
        if not isinstance(name, str):
            return _Place(*name)
        listed = metrics.get(name, ['-'])
        # The metrics of a group are in random order but for the average,
        # which is last.
        if name in [group['name'] for group in self.summary_groups]:
            return _Place(name, listed[-1])
        return _Place(name, first_accuracy(listed) or listed[0])

    def _metric_that_is_no_accuracy(
            self, benchmark: str, metrics: Mapping[str, Sequence[str]]) -> str:
        """The metric of a row if it is no accuracy, else an empty text.

        The row of a group is an average, of which one metric suffices.
        """
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
        shown = dict(metrics)
        for dataset, names in metrics.items():
            is_set = dataset.startswith(TEXTS) and TEXTS_METRIC in names
            if is_set and not chosen:
                shown[dataset] = [TEXTS_METRIC]
        table = super()._format_table(parsed, shown, *args, **kwargs)
        # Benchmark and predictor of each row; None in rows of OpenCompass.
        self.origins: list[Optional[tuple[str, str]]] = [None] * len(table)
        if self.leaderboard is None:
            return table
        predictions = self.leaderboard.predictions
        for benchmark, place in self.places.items():
            row = _row_behind(table, place)
            # Show what was not run, unless the rows were chosen.
            if row is None and not chosen:
                row = len(table)
            if row is None:
                continue
            for n, label in enumerate(predictions.methods, row):
                cells = predictions.cells(benchmark, label)
                start = [_cell(place.abbr), '-', _cell(label), PREDICTED_MODE]
                table.insert(n, start + cells)
                self.origins.insert(n, (benchmark, label))
        return table

    def _output_to_file(self, output_path: Optional[str], time_str: str,
                        table: Sequence[Sequence[str]], raw_txts: str) -> None:
        """Write OpenCompass's files, and the leaderboard beside them."""
        summary = Path(
            output_path
            or Path(self.work_dir, 'summary', f'summary_{time_str}.txt'))
        self.folder, self.summary_file = summary.parent, summary.name
        board = self.leaderboard
        if board is None:
            super()._output_to_file(output_path, time_str, table, raw_txts)
            return
        super()._output_to_file(
            output_path, time_str, table,
            '\n'.join([raw_txts, '', *map(one_line, board.notes)]))
        numbers = self._numbers(table, board.predictions)
        write_text(
            summary.with_suffix('.csv'),
            '\n'.join(map(','.join, numbers)) + '\n')
        stem = summary.stem if output_path else time_str
        self.leaderboard_stem = f'leaderboard_{stem}'
        write_leaderboard(summary.with_name(self.leaderboard_stem), board)

    def _numbers(self, table: Sequence[Sequence[str]],
                 predictions: Predictions) -> list[list[str]]:
        """The table with a number or nothing in every cell of a model.

        Behind the models are columns with the ends of intervals.
        """
        models = table[0][4:]
        header = list(table[0])
        for model in models:
            header += [model + end for end in ENDS]
        found = [header]
        for row, origin in zip(table[1:], self.origins[1:]):
            values = ['' if cell == '-' else cell for cell in row[4:]]
            ends = ['', ''] * len(models)
            if origin is not None:
                values, ends = [], []
                for model in predictions.models:
                    cell = predictions.at(model, *origin)
                    values.append(_percent(cell, 'value'))
                    ends += [_percent(cell, 'low'), _percent(cell, 'high')]
            found.append([*row[:4], *values, *ends])
        # OpenCompass quotes nothing and puts spaces for commas.
        return [[cell.replace(',', ' ') for cell in row] for row in found]

    def _accuracy(self, folder: str, raw: Mapping[str, Mapping[str, Any]],
                  parsed: Mapping[str, Mapping[str, float]], place: _Place,
                  other_metric: str) -> Union[float, Missing]:
        """The accuracy of a model in a row, or why there is none."""
        found = parsed.get(place.abbr, {})
        if place.metric in found and other_metric:
            return Missing(no_accuracy(other_metric))
        if place.metric in found:
            accuracy = found[place.metric]
            if not 0 <= accuracy <= 100:
                return Missing(f'the accuracy {accuracy} is not in percent')
            return accuracy / 100
        if found:
            return Missing(
                f'no metric {place.metric!r} but {", ".join(found)}')
        error = ' '.join(str(raw.get(place.abbr, {}).get('error', '')).split())
        if error:
            # Most characters of an error of OpenCompass that a reason quotes.
            n_characters = 240
            return Missing(shortened(error, n_characters))
        reason = 'no accuracy in this run'
        # Of a group none of whose datasets has a result, the first one's.
        for dataset in self._datasets(place.abbr):
            failure = failure_of(self.work_dir, folder,
                                 dataset_abbr_from_cfg(dataset))
            if failure:
                return Missing(f'{reason}: {failure}')
        return Missing(reason)


class _Quiet(logging.Filter):
    """Leaves out what OpenCompass logs of losses and of its files."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is shown."""
        line = record.getMessage()
        is_unknown_loss = line.startswith('unknown inferencer: ') and any(
            name in line for name in LOSS_INFERENCERS)
        return not (is_unknown_loss or line.startswith('write '))


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
    subsets: Sequence[Any] = ()
    for group in groups:
        if group['name'] == place.abbr:
            subsets = group['subsets']
            break
    found = [place.metric]
    for subset in subsets:
        name, metric = (subset, '') if isinstance(subset, str) else subset
        # An average is over the first metrics of datasets.
        metric = metric or next(iter(metrics.get(name, ())), '')
        found += _averaged(_Place(name, metric), metrics, groups)
    return found


def _row_behind(table: Sequence[Sequence[str]],
                place: _Place) -> Optional[int]:
    """The index behind the last row of a benchmark; None if it has no row.

    A row with the metric of the benchmark comes before its other rows.
    """
    rows = [r for r, row in enumerate(table) if row[0] == place.abbr]
    if not rows:
        return None
    exact = [r for r in rows if table[r][2] == place.metric]
    return (exact or rows)[-1] + 1
