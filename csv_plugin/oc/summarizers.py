"""Show predictions beside observed accuracies in OpenCompass's summary."""
import io
import logging
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np
from opencompass.registry import PARTITIONERS
from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import \
    model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.escaping import csv_cell, markdown, one_line
from csv_plugin.core.predicting import (ObservedAccuracies, Predictors,
                                        fitted_benchmarks, known_items,
                                        result_or_missing)
from csv_plugin.core.predictions import Missing, Prediction, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.text_tables import WIDTH, wrapped
from csv_plugin.io.files import write_text
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import TEXTS
from csv_plugin.io.runs.run_scores import ENDS, PREDICTED_MODE
from csv_plugin.oc.accelerators import apply_accelerator
from csv_plugin.oc.run_checks import (COMMON_GROUPS, LOSS_INFERENCERS,
                                      check_benchmarks, check_models,
                                      check_options, names_in_run, of_losses,
                                      one_line_errors, predictor_files,
                                      with_common_groups)
from csv_plugin.oc.run_results import AccuracyRow, RunResults
from csv_plugin.report.leaderboard_tables import (as_short_text,
                                                  write_leaderboard)
from csv_plugin.report.leaderboards import (Leaderboard, known_in_run,
                                            predict_run)
from csv_plugin.report.screen import (next_command_line, shown_path,
                                      terminal_width)

#: What the mode column shows in rows that contain losses.
LOSS_MODE = 'loss'
#: The only loss metric of a validation set that the table shows by default.
TEXTS_METRIC = 'bits_per_byte'
#: What OpenCompass prints between its table and the same table in Markdown.
_SECOND_TABLE = 'The markdown format results is as below:'


# OpenCompass builds summarizers by the registry of partitioners.
@PARTITIONERS.register_module()
class PredictedSummarizer(DefaultSummarizer):
    """Adds predictions to OpenCompass's table, and writes a leaderboard.

    The screen shows one table, with the predicted benchmarks only; the files
    contain all benchmarks. Every summary (`-m viz -r`) computes the
    predictions anew from the token-loss dumps of the run. Accuracies of
    OpenCompass are taken to be in percent. Without predictors, the screen
    shows OpenCompass's own table, in which rows of losses have the mode
    `loss`, and no leaderboard is written.

    OpenCompass offers no hooks for the mode of an inferencer, for further rows
    in its table, and for what it prints. Therefore this class overrides
    private methods. `summarize` calls them in this order:

    1. `_pick_up_results` reads the results; here loss rows get the mode
       `loss`.
    2. `_calculate_group_metrics` averages the results over groups of
       datasets; here the predictors are loaded and the leaderboard is made.
    3. `_format_table` makes the table; here rows of predictions are inserted.
    4. `_output_to_file` writes the files; here the leaderboard is written
       into the same folder.

    Args:
        config (ConfigDict): Filled in by OpenCompass.
        predictors (Sequence): Pairs of a label and the path of a predictor,
            the main one first.
        benchmarks (Sequence): Pairs of a benchmark's name in the predictor and
            its name in this run. The name in this run is the abbreviation of a
            dataset or group, or a pair of the abbreviation and a metric. By
            default both names are the same, and the metric is the first
            accuracy of a dataset or the average of a group.
        known (bool | str): Accuracies that the predictions are conditioned on.
            True takes the accuracies of this run. A path names a table as in
            `salience predict --known`, in which models have the names that the
            summary shows. By default predictions use losses alone.
        **kwargs: The arguments `dataset_abbrs` and `summary_groups` of
            OpenCompass. OpenCompass's groups of bbh, mmlu, cmmlu and ceval are
            added if the run has datasets of these groups.

    Raises:
        SystemExit: An option is unknown, two models have the same name, or
            `run_checks.predictor_files` refuses an argument; the message is
            one line.
    """

    @one_line_errors()
    def __init__(self,
                 config: Any,
                 predictors: Sequence[tuple[str, str]] = (),
                 benchmarks: Sequence[tuple[str, Any]] = (),
                 known: bool | str = False,
                 **kwargs: Any) -> None:
        check_options(kwargs)
        apply_accelerator(config)
        groups = kwargs.get('summary_groups', ())
        kwargs['summary_groups'] = with_common_groups(groups,
                                                      config['datasets'])
        super().__init__(config, **kwargs)
        check_models(self.model_cfgs)
        self.predictors = predictor_files(predictors, benchmarks, known)
        self.known = known
        self.benchmarks = benchmarks
        # Step 2 sets the next three attributes: the predictors that can be
        # read, by label; the row of each benchmark that they predict; and the
        # leaderboard.
        self.usable: dict[str, Predictor] = {}
        self.rows: dict[str, AccuracyRow] = {}
        self.leaderboard: Optional[Leaderboard] = None
        # Step 3 sets, for each row of the table, the benchmark and the label
        # of the predictor that it shows. The entry is None for a row of
        # OpenCompass itself.
        self.prediction_rows: list[Optional[tuple[str, str]]] = []
        # Step 4 sets the folder of the files, the name of the summary's file,
        # and the name of the leaderboard's files without an ending.
        self.folder = Path()
        self.summary_file = ''
        self.leaderboard_stem = ''

    @one_line_errors()
    def summarize(self, *args: Any, **kwargs: Any) -> None:
        """Write OpenCompass's files and the leaderboard; print one table."""
        printed = io.StringIO()
        # The linear systems are so small that several threads would mostly
        # wait for each other.
        one_thread = threadpool_limits(limits=1, user_api='blas')
        with redirect_stdout(printed), _quiet(self.logger), one_thread:
            super().summarize(*args, **kwargs)
        board = self.leaderboard
        if board is None or not board.predictions.benchmarks:
            # Without a leaderboard, show OpenCompass's table.
            table, _, _ = printed.getvalue().partition(_SECOND_TABLE)
            print(table.rstrip())
        if not self.predictors:
            print('\nNothing is predicted: the summarizer has no predictors. '
                  'Accuracies are in\npercent; smaller bits_per_byte are '
                  'better.')
        width = min(terminal_width(), WIDTH)
        files = f'{self.summary_file} has all metrics'
        if board is not None:
            leaderboard_file = f'{self.leaderboard_stem}.txt'
            print(f'\n{as_short_text(board, width, leaderboard_file)}')
            files += f', {leaderboard_file} all predictions and marks'
        line = f'Written to {shown_path(self.folder)}: {files}.'
        print(f'\n{wrapped([line], width)}')
        # Without any prediction, there is nothing that a page could show.
        if board is not None and np.isfinite(board.predictions.values).any():
            self._print_next()

    def _print_next(self) -> None:
        """Print the command that makes an HTML page of the run."""
        options = []
        for label in self.usable:
            path = shown_path(self.predictors[label])
            options += ['--predictor', f'{label}={path}']
        # The page shows the weights of tokens only if it gets --texts.
        main = next(iter(self.usable.values()))
        fingerprint = main.columns.fingerprint
        for dataset in self.dataset_cfgs:
            # A config may name only the start of a fingerprint.
            start = dataset.get('fingerprint')
            if start and fingerprint.startswith(start):
                options += ['--texts', shown_path(dataset['path'])]
                break
        program: str | Path = 'salience'
        if shutil.which('salience') is None:
            # The program is not on PATH; it may lie in the folder of the
            # Python interpreter.
            program = Path(sys.executable).with_name('salience')
        work_dir = Path(self.work_dir)
        line = next_command_line(program, 'predict', work_dir, '--page',
                                 'report.html', *options)
        print(line, flush=True)

    # ---- step 1: results

    def _pick_up_results(self) -> Any:
        """Return OpenCompass's results; losses get the mode `LOSS_MODE`."""
        raw, parsed, metrics, modes = super()._pick_up_results()
        for dataset in self.dataset_cfgs:
            if of_losses(dataset):
                modes[dataset_abbr_from_cfg(dataset)] = LOSS_MODE
        return raw, parsed, metrics, modes

    # ---- step 2: predictions

    def _calculate_group_metrics(self, *results: Any) -> Any:
        """Return OpenCompass's results with averages over groups.

        Make the leaderboard from these results.
        """
        predictors = self._load_predictors()
        predicted = fitted_benchmarks(predictors)
        names = names_in_run(self.benchmarks, self.dataset_cfgs,
                             self.summary_groups, predicted)
        check_benchmarks(names, predictors)
        raw, parsed, metrics, modes = super()._calculate_group_metrics(
            *results)
        found = RunResults(self.work_dir, self.dataset_cfgs,
                           self.summary_groups, raw, parsed, metrics)
        self.rows = {}
        for benchmark in predicted:
            name = names.get(benchmark, benchmark)
            self.rows[benchmark] = found.row(name)
        self.leaderboard = None
        if predictors:
            self.leaderboard = self._make_leaderboard(predictors, found)
        self._drop_errors_of_common_groups(raw)
        return raw, parsed, metrics, modes

    def _load_predictors(self) -> Predictors:
        """Return predictors by label.

        A `Missing` in place of a predictor says why it cannot be read.
        """
        predictors = {}
        self.usable = {}
        for label, path in self.predictors.items():
            found = result_or_missing(load_predictor, path)
            predictors[label] = found
            if not isinstance(found, Missing):
                self.usable[label] = found
        return predictors

    def _make_leaderboard(self, predictors: Predictors,
                          found: RunResults) -> Leaderboard:
        """Return predictions of all models, with their observed accuracies."""
        folders = {}
        for model in self.model_cfgs:
            name = model_abbr_from_cfg_used_in_summarizer(model)
            folders[name] = model_abbr_from_cfg(model)
        observed = found.accuracies(self.rows, folders)
        known = self._known(folders, observed)
        whole = known_items(predictors)
        items = found.items(self.rows, folders, whole)
        progress = partial(tqdm, desc='predictions', delay=2)
        board, _ = predict_run(self.work_dir, folders, predictors,
                               self.predictors, observed, progress, known,
                               items)
        return board

    def _known(self, folders: Mapping[str, str],
               observed: ObservedAccuracies) -> Optional[AccuracyTable]:
        """Return the accuracies that the predictions are conditioned on.

        `folders` maps each model's name in the summary to its folder in the
        run, which is its name in the returned table. The result is None if
        predictions are made from losses alone, or if no predictor can be read,
        so that nothing is predicted.
        """
        benchmarks = tuple(self.rows)
        if not self.known or not benchmarks:
            return None
        if self.known is True:
            return known_in_run(observed, folders, benchmarks)
        table, _ = read_known(self.known, folders, benchmarks)
        models = [folders[model] for model in table.models]
        return replace(table, models=tuple(models))

    def _drop_errors_of_common_groups(
            self, raw: Mapping[str, dict[str, Any]]) -> None:
        """Drop the errors of common groups that are not predicted.

        The user did not name these groups, so their errors, such as a missing
        dataset, would only distract.
        """
        predicted = [row.abbr for row in self.rows.values()]
        for group in self.summary_groups:
            name = group['name']
            if group in COMMON_GROUPS and name not in predicted:
                for of_model in raw.values():
                    if 'error' in of_model.get(name, ()):
                        del of_model[name]

    # ---- step 3: the table

    def _format_table(self, parsed: Any, metrics: Mapping[str, Sequence[str]],
                      *args: Any, **kwargs: Any) -> list[list[str]]:
        """Return OpenCompass's table with rows of predictions inserted."""
        # If the user chose the rows of the table, no row is added or left out,
        # except that predictions follow the rows of their benchmarks.
        are_chosen = self.dataset_abbrs is not None
        shown = dict(metrics)
        if not are_chosen:
            for dataset, names in metrics.items():
                # Only bits per byte can be compared between models with
                # different tokenizers.
                if dataset.startswith(TEXTS) and TEXTS_METRIC in names:
                    shown[dataset] = [TEXTS_METRIC]
        table = super()._format_table(parsed, shown, *args, **kwargs)
        self.prediction_rows = [None] * len(table)
        if self.leaderboard is not None:
            for benchmark, row in self.rows.items():
                index = _index_behind(table, row)
                if index is None and not are_chosen:
                    # Benchmarks that were not run come last.
                    index = len(table)
                if index is not None:
                    self._insert_predictions(table, index, benchmark)
        return table

    def _insert_predictions(self, table: list[list[str]], first: int,
                            benchmark: str) -> None:
        """Insert a row into the table for each predictor of a benchmark.

        The first inserted row gets the index `first`.
        """
        assert self.leaderboard is not None
        predictions = self.leaderboard.predictions
        name = _safe_cell(self.rows[benchmark].abbr)
        for index, label in enumerate(predictions.methods, first):
            start = [name, '-', _safe_cell(label), PREDICTED_MODE]
            row = start + predictions.cells(benchmark, label)
            table.insert(index, row)
            self.prediction_rows.insert(index, (benchmark, label))

    # ---- step 4: files

    def _output_to_file(self, output_path: Optional[str], time_str: str,
                        table: Sequence[Sequence[str]], raw_txts: str) -> None:
        """Write OpenCompass's files, and the leaderboard beside them."""
        if output_path:
            summary = Path(output_path)
            self.leaderboard_stem = f'leaderboard_{summary.stem}'
        else:
            summary = Path(self.work_dir, 'summary', f'summary_{time_str}.txt')
            self.leaderboard_stem = f'leaderboard_{time_str}'
        self.folder, self.summary_file = summary.parent, summary.name
        board = self.leaderboard
        if board is None:
            super()._output_to_file(output_path, time_str, table, raw_txts)
            return
        notes = map(one_line, board.notes)
        text = '\n'.join([raw_txts, '', *notes])
        super()._output_to_file(output_path, time_str, table, text)
        lines = []
        for row in self._numbers(table, board.predictions):
            # As in OpenCompass's files, cells are not quoted, and spaces
            # replace the commas in them.
            cells = [cell.replace(',', ' ') for cell in row]
            lines.append(','.join(cells) + '\n')
        write_text(summary.with_suffix('.csv'), ''.join(lines))
        write_leaderboard(summary.with_name(self.leaderboard_stem), board)

    def _numbers(self, table: Sequence[Sequence[str]],
                 predictions: Predictions) -> list[list[str]]:
        """Return the table for the CSV file, with plain numbers in its cells.

        A cell without a number is empty. The columns of the models are
        followed by columns with the lower and upper limits of the intervals.
        """
        # The first columns are dataset, version, metric and mode.
        n_names = 4
        models = table[0][n_names:]
        header = list(table[0])
        for model in models:
            header += [model + end for end in ENDS]
        found = [header]
        for row, prediction in zip(table[1:], self.prediction_rows[1:]):
            names = list(row[:n_names])
            values = []
            limits = []
            if prediction is None:
                for cell in row[n_names:]:
                    values.append('' if cell == '-' else cell)
                    limits += ['', '']
            else:
                benchmark, label = prediction
                for model in predictions.models:
                    predicted = predictions.at(model, benchmark, label)
                    values.append(_percent(predicted, 'value'))
                    limits.append(_percent(predicted, 'low'))
                    limits.append(_percent(predicted, 'high'))
            found.append(names + values + limits)
        return found


class _Quiet(logging.Filter):
    """Hide two kinds of log lines of OpenCompass.

    One kind says that an inferencer of losses is unknown, the other names a
    file that was written.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is shown."""
        line = record.getMessage()
        if line.startswith('unknown inferencer: '):
            for name in LOSS_INFERENCERS:
                if name in line:
                    return False
        return not line.startswith('write ')


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Hide the lines that `_Quiet` names, inside a `with` statement."""
    quiet = _Quiet()
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)


def _percent(cell: Prediction | Missing, name: str) -> str:
    """Return an attribute of a prediction in percent, as text.

    `name` is 'value', 'low' or 'high'. The text is empty without a prediction.
    """
    if isinstance(cell, Missing):
        return ''
    fraction = getattr(cell, name)
    return f'{100 * fraction:.2f}'


def _safe_cell(name: str) -> str:
    """Return a name that is safe in Markdown and CSV."""
    return csv_cell(markdown(name))


def _index_behind(table: Sequence[Sequence[str]],
                  row: AccuracyRow) -> Optional[int]:
    """Return the index behind the last line of a row in OpenCompass's table.

    A row has one line per metric. If one of them has the metric of `row`, the
    result is the index behind this line. It is None if the table has no line
    of the row.
    """
    behind = None
    behind_metric = None
    for index, (abbr, _, metric, *_) in enumerate(table, 1):
        if abbr == row.abbr:
            behind = index
            if metric == row.metric:
                behind_metric = index
    if behind_metric is None:
        return behind
    return behind_metric
