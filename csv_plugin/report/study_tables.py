"""A study as tables: predictions, errors by benchmark, a Markdown report."""
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

import numpy as np

from csv_plugin.core.escaping import visible
from csv_plugin.core.formatting import ANY, number, percent
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import BenchmarkFit
from csv_plugin.core.study import (MEAN_LOSS, BenchmarkErrors, Study,
                                   geometric_mean)
from csv_plugin.core.text_tables import text_table, wrapped
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.tables import ModelInfo, write_csv
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import far_notes, learning_notes, outlier_notes
from csv_plugin.report.screen import markdown_list, markdown_table

PREDICTION_COLUMNS = ('model', 'benchmark', 'split', 'observed', 'predicted',
                      'low', 'high', 'extrapolated', 'in_sample', 'at_chance',
                      'expected_error')

_LEGEND = """\
MSE in 1e-3 (squared fractions), of held-out models alone. `mean-loss` (mean
loss with a learned floor) is the baseline. MAE and the width of the
{level:.0%} intervals are in points of accuracy (percent), `Spearman` is the
rank correlation, `coverage` the share of accuracies inside of the intervals.
({any}): all intervals reach from chance, or below, to 100 %, so none can miss.
The last row holds geometric means of the MSE and plain means of the rest over
{n_main} main benchmarks. The leaderboard has errors of means, which are
smaller than means of errors.
"""

#: The same in short, for the terminal, and for all columns.
_SHORT = (
    'error: mean absolute, in points (percent), of held-out models; of '
    'mean loss: divided by the error of mean-loss; coverage: observed '
    'accuracies inside of the {level:.0%} intervals; ({any}): these reach '
    'from chance, or below, to 100 %. --wide has all columns.')
_UNITS = ('MSE in 1e-3, MAE and width of intervals in points; ({any}): all '
          'intervals reach from chance, or below, to 100 %; means of MSE are '
          'geometric.')

#: Meaning of the names of methods in rows and columns.
_METHODS = {
    'salience': 'the method, which learns how much each loss counts',
    'mean-loss': 'the baseline, the mean loss with a learned floor',
}

#: Errors of one method by benchmark.
ErrorsByBenchmark = Mapping[str, BenchmarkErrors]

#: Columns of tables of fits, see `fit_cells`, and their legend.
FIT_HEADER = 'RMS error', 'expected error'
FIT_LEGEND = (
    'Errors are in points and of the training models, each predicted from '
    'models of other families: the root mean square over the models, and the '
    'median of the standard deviations that were expected.')


def write_predictions(folder: Path, study: Study,
                      info: Mapping[str, ModelInfo]) -> None:
    """Write every prediction of the method as CSV, one row each.

    Accuracies that the predictor was fitted to are in `in_sample.csv`, all
    others in `predictions.csv`. Columns are `PREDICTION_COLUMNS`, accuracies
    as fractions, flags as 0 and 1. `info` has the split of each model.
    """
    table = study.predictions
    in_sample = table.in_sample[:, :, 0]
    parts = {'predictions': ~in_sample, 'in_sample': in_sample}
    for name, is_part in parts.items():
        rows = []
        for m, b in np.argwhere(is_part):
            model = table.models[m]
            rows.append([
                model,
                table.benchmarks[b],
                info[model].split,
                table.observed[m, b],
                table.values[m, b, 0],
                table.low[m, b, 0],
                table.high[m, b, 0],
                int(table.extrapolated[m, b, 0]),
                int(table.in_sample[m, b, 0]),
                int(table.at_chance[m, b, 0]),
                table.expected_error[m, b, 0],
            ])
        write_csv(folder / f'{name}.csv', PREDICTION_COLUMNS, rows)


def leaderboard(study: Study, models: Sequence[str]) -> Leaderboard:
    """Predictions of the method for some models."""
    predictions = _of_method(study).select(models)
    names = dict(zip(models, models))
    joints = {}
    for method, joint in study.joints.items():
        if method in predictions.methods:
            joints[method] = joint.renamed(names)
    return Leaderboard.of(predictions, joints=joints)


def fit_cells(part: BenchmarkFit) -> list[str]:
    """Errors of a benchmark in columns of `FIT_HEADER`; '-' where unknown."""
    return [number(percent(part.error)), number(percent(part.expected_error))]


def _of_method(study: Study) -> Predictions:
    """Predictions of the method under study alone."""
    return study.predictions.select(methods=[study.predictions.methods[0]])


def error_rows(study: Study) -> list[list[str]]:
    """All errors by benchmark, below a header; means over main ones last."""
    methods = study.predictions.methods
    by_method = _errors_by_method(study)
    own = by_method[methods[0]]
    header = ['benchmark', 'models']
    header += [f'MSE {method}' for method in methods]
    header += ['MAE', 'Spearman', 'coverage', 'width']
    rows = [header]

    def add_row(name: str, n_models: str, benchmarks: Sequence[str]) -> None:
        """Add a row with means over some benchmarks."""
        row = [name, n_models]
        for method in methods:
            square = _mean_mse(by_method[method], benchmarks)
            row.append(number(1e3 * square, '.2f'))
        row += _wide_cells([own[benchmark] for benchmark in benchmarks])
        rows.append(row)

    for name, errors in own.items():
        add_row(name, str(errors.n_models), [name])
    judged = judged_benchmarks(study)
    add_row(f'mean of {len(judged)}', '', judged)
    return rows


def short_table(study: Study) -> str:
    """Error, its ratio to the mean loss and coverage, for the terminal.

    The rows are the benchmarks by the method, and then the means over the main
    ones by each method. A ratio of means is that of the mean errors. The study
    has the baseline 'mean-loss'.
    """
    by_method = _errors_by_method(study)
    baseline = by_method[MEAN_LOSS]
    own = by_method[study.predictions.methods[0]]
    rows = [['benchmark', 'models', 'error', 'of mean loss', 'coverage']]
    for name, errors in own.items():
        cells = _short_cells(own, baseline, [name])
        rows.append([name, str(errors.n_models), *cells])
    judged = judged_benchmarks(study)
    for method, by_benchmark in by_method.items():
        cells = _short_cells(by_benchmark, baseline, judged)
        rows.append([f'mean of {len(judged)} by {method}', '', *cells])
    return text_table(rows)


def _errors_by_method(study: Study) -> dict[str, ErrorsByBenchmark]:
    """Errors by method, the one under study first, and benchmark."""
    found: dict[str, ErrorsByBenchmark] = {}
    for method in study.predictions.methods:
        found[method] = study.errors(method)
    return found


def _short_cells(errors: ErrorsByBenchmark, baseline: ErrorsByBenchmark,
                 names: Sequence[str]) -> list[str]:
    """Mean error, its ratio to the baseline's, and mean coverage.

    An error or a ratio is '-' where an error on one of the benchmarks is
    missing.
    """
    if not names:
        return ['-'] * 3
    total, total_of_baseline = 0.0, 0.0
    coverages = []
    for name in names:
        total += errors[name].mae
        total_of_baseline += baseline[name].mae
        coverages.append(errors[name].coverage)
    ratio = total / total_of_baseline if total_of_baseline else math.nan
    error = total / len(names)
    return [
        number(percent(error)),
        number(ratio, '.2f'),
        _of_intervals(_mean(coverages), error, '.0%')
    ]


def _of_intervals(value: float, error: float, digits: str) -> str:
    """A measure of intervals as a cell; '-' where nothing was predicted.

    With an error, accuracies were predicted. If the measure is NaN all the
    same, all intervals are uninformative, and the cell is `ANY`.
    """
    is_uninformative = math.isnan(value) and not math.isnan(error)
    return f'({ANY})' if is_uninformative else number(value, digits)


def expected_line(study: Study) -> str:
    """The error to expect for predicted models; empty without any.

    Root mean square of the standard deviations that are expected, over main
    benchmarks and models that were not fitted to.
    """
    table = _of_method(study).select(benchmarks=study.predictions.main)
    expected = table.expected_error[~table.in_sample]
    expected = expected[~np.isnan(expected)]
    if not len(expected):
        return ''
    error = math.sqrt(float(np.mean(expected**2)))
    return ('Error to expect for the predicted models (standard deviation in '
            f'points, over the main benchmarks): {number(percent(error))}.')


def judged_benchmarks(study: Study) -> list[str]:
    """Main benchmarks on which the method has an error."""
    errors = study.errors(study.predictions.methods[0])
    judged = []
    for name in study.predictions.main:
        if not math.isnan(errors[name].mse):
            judged.append(name)
    return judged


def _mean_mse(errors: ErrorsByBenchmark, names: Sequence[str]) -> float:
    """Geometric mean; NaN if one of the benchmarks has no error."""
    squares = [errors[name].mse for name in names]
    if np.isnan(squares).any():
        return math.nan
    return geometric_mean(squares)


def _wide_cells(errors: Sequence[BenchmarkErrors]) -> list[str]:
    """Means of MAE, rank correlation, coverage and width over benchmarks.

    Where all intervals are uninformative, the coverage is NaN, and neither it
    nor the width counts.
    """
    sizes, correlations, coverages, widths = [], [], [], []
    for part in errors:
        sizes.append(part.mae)
        correlations.append(part.spearman)
        coverages.append(part.coverage)
        if not math.isnan(part.coverage):
            widths.append(part.width)
    error = _mean(sizes)
    return [
        number(100 * error),
        number(_mean(correlations), '.2f'),
        _of_intervals(_mean(coverages), error, '.2f'),
        _of_intervals(100 * _mean(widths), error, '.1f')
    ]


def _mean(values: Sequence[float]) -> float:
    """Mean of the numbers that are not NaN; NaN without any."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan


def summary(study: Study, title: str, wide: bool = False) -> str:
    """Title, table of errors, with all columns if `wide`, and notes."""
    table, legend = short_table(study), _SHORT
    if wide:
        table, legend = text_table(error_rows(study), width=math.inf), _UNITS
    legend = legend.format(level=study.predictions.level, any=ANY)
    methods = []
    for name, words in _METHODS.items():
        if name in study.predictions.methods:
            methods.append(f'{name}: {words}')
    parts = [
        title,
        wrapped(outlier_notes(study.predictor)), table,
        wrapped([legend, '; '.join(methods) + '.']),
        wrapped([expected_line(study)]),
        wrapped(far_notes(_of_method(study))),
        wrapped(learning_notes(study.predictor))
    ]
    return '\n\n'.join(filter(None, parts))


def write_report(path: FilePath,
                 study: Study,
                 title: str,
                 command: str,
                 remarks: Sequence[str] = ()) -> None:
    """Write the error table with its legend and notes as Markdown.

    The title is the first line, the command reproduces the report, and remarks
    are notes on all benchmarks.
    """
    n_main = len(judged_benchmarks(study))
    legend = _LEGEND.format(
        level=study.predictions.level, n_main=n_main, any=ANY)
    notes = [
        *far_notes(_of_method(study)), *remarks,
        *learning_notes(study.predictor, verbose=True)
    ]
    fits = [['benchmark', *FIT_HEADER]]
    for part in study.predictor.benchmarks:
        fits.append([part.benchmark, *fit_cells(part)])
    parts = [
        f'# {title}',
        indent(visible(command), '    '),
        '\n'.join(markdown_list(outlier_notes(study.predictor))),
        markdown_table(error_rows(study)),
        legend.strip(),
        expected_line(study),
        '## Families left out',
        markdown_table(fits),
        FIT_LEGEND,
        '## Notes',
        '\n'.join(markdown_list(notes)) or 'None.',
    ]
    write_text(path, '\n\n'.join(filter(None, parts)) + '\n')
