"""A study as tables: predictions, errors by benchmark, a Markdown report."""
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import indent

import numpy as np

from csv_plugin.core.escaping import markdown, visible
from csv_plugin.core.formatting import ANY, number, percent
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import BenchmarkFit
from csv_plugin.core.study import (MEAN_LOSS, BenchmarkErrors, Study,
                                   geometric_mean)
from csv_plugin.core.text_tables import text_table, wrapped
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.tables import ModelInfo, write_csv
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import (learning_notes, outlier_notes,
                                     outside_notes)
from csv_plugin.report.screen import markdown_table

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

#: Methods of a study, as rows and columns are called after them.
_METHODS = {
    'salience': 'the method, which learns how much each loss counts',
    'mean-loss': 'the baseline, the mean loss with a learned floor',
}

#: Columns of tables of fits, see `fit_cells`, and their legend.
FIT_HEADER = 'error', 'expected error'
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
    arrays = (table.values, table.low, table.high, 1 * table.extrapolated,
              1 * table.in_sample, 1 * table.at_chance, table.expected_error)

    def row(m: int, b: int) -> tuple[object, ...]:
        model = table.models[m]
        return (model, table.benchmarks[b], info[model].split,
                table.observed[m, b], *(array[m, b, 0] for array in arrays))

    for name, part in (('predictions', ~in_sample), ('in_sample', in_sample)):
        write_csv(folder / f'{name}.csv', PREDICTION_COLUMNS,
                  (row(m, b) for m, b in np.argwhere(part)))


def leaderboard(study: Study, models: Sequence[str]) -> Leaderboard:
    """Predictions of the method for some models."""
    predictions = _of_method(study).select(models)
    named = dict(zip(models, models))
    joints = {
        method: joint.renamed(named)
        for method, joint in study.joints.items()
        if method in predictions.methods
    }
    return Leaderboard.of(predictions, joints=joints)


def fit_cells(part: BenchmarkFit) -> list[str]:
    """Errors of a benchmark in columns of `FIT_HEADER`; '-' where unknown."""
    return [
        number(percent(error)) for error in (part.error, part.expected_error)
    ]


def _of_method(study: Study) -> Predictions:
    return study.predictions.select(methods=[study.predictions.methods[0]])


def error_rows(study: Study) -> list[list[str]]:
    """All errors by benchmark, below a header; means over main ones last."""
    methods = study.predictions.methods
    by_method = {method: study.errors(method) for method in methods}
    own = by_method[methods[0]]
    judged = judged_benchmarks(study)
    header = [
        'benchmark', 'models', *(f'MSE {method}' for method in methods), 'MAE',
        'Spearman', 'coverage', 'width'
    ]
    groups = [(name, str(errors.n_models), [name])
              for name, errors in own.items()]
    groups.append((f'mean of {len(judged)}', '', judged))
    rows = [header]
    for name, n_models, names in groups:
        squares = [_mean_mse(by_method[method], names) for method in methods]
        rows.append([
            name, n_models,
            *(number(1e3 * square, '.2f') for square in squares),
            *_wide_cells([own[name] for name in names])
        ])
    return rows


def short_table(study: Study) -> str:
    """Error, its ratio to the mean loss and coverage, for the terminal.

    The rows are the benchmarks by the method, and then the means over the main
    ones by each method.
    """
    methods = study.predictions.methods
    by_method = {method: study.errors(method) for method in methods}
    baseline, own = by_method[MEAN_LOSS], by_method[methods[0]]
    judged = judged_benchmarks(study)
    rows = [['benchmark', 'models', 'error', 'of mean loss', 'coverage']]
    rows += [[
        name, str(errors.n_models), *_short_cells(own, baseline, [name])
    ] for name, errors in own.items()]
    rows += [[
        f'mean of {len(judged)} by {method}', '',
        *_short_cells(errors, baseline, judged)
    ] for method, errors in by_method.items()]
    return text_table(rows)


def _short_cells(errors: Mapping[str, BenchmarkErrors],
                 baseline: Mapping[str, BenchmarkErrors],
                 names: Sequence[str]) -> list[str]:
    """Three cells; '-' where an error on a benchmark is missing."""
    if not names:
        return ['-'] * 3
    error = sum(errors[name].mae for name in names)
    by_mean_loss = sum(baseline[name].mae for name in names)
    return [
        number(percent(error / len(names))),
        number(error / by_mean_loss if by_mean_loss else math.nan, '.2f'),
        _of_intervals(
            _mean(errors[name].coverage for name in names), error, '.0%')
    ]


def _of_intervals(value: float, error: float, digits: str) -> str:
    """A measure of intervals; `ANY` if there are errors, but no measure."""
    says_nothing = math.isnan(value) and not math.isnan(error)
    return f'({ANY})' if says_nothing else number(value, digits)


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
    return [
        name for name in study.predictions.main
        if not math.isnan(errors[name].mse)
    ]


def _mean_mse(errors: Mapping[str, BenchmarkErrors],
              judged: Sequence[str]) -> float:
    """Geometric mean; NaN if one of the benchmarks has no error."""
    squares = [errors[name].mse for name in judged]
    return math.nan if any(map(math.isnan,
                               squares)) else geometric_mean(squares)


def _wide_cells(errors: Sequence[BenchmarkErrors]) -> list[str]:
    """Means of MAE, rank correlation, coverage and width."""
    error = _mean(e.mae for e in errors)
    width = _mean(
        math.nan if math.isnan(e.coverage) else e.width for e in errors)
    return [
        number(100 * error),
        number(_mean(e.spearman for e in errors), '.2f'),
        _of_intervals(_mean(e.coverage for e in errors), error, '.2f'),
        _of_intervals(100 * width, error, '.1f')
    ]


def _mean(values: Iterable[float]) -> float:
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan


def summary(study: Study, title: str, wide: bool = False) -> str:
    """Title, table of errors, with all columns if `wide`, and notes."""
    table, legend = short_table(study), _SHORT
    if wide:
        table, legend = text_table(error_rows(study), width=math.inf), _UNITS
    legend = legend.format(level=study.predictions.level, any=ANY)
    methods = '; '.join(f'{name}: {words}' for name, words in _METHODS.items()
                        if name in study.predictions.methods)
    parts = [
        title,
        wrapped(outlier_notes(study.predictor)),
        f'{table}\n\n{wrapped([legend, f"{methods}."])}',
        wrapped([expected_line(study)]),
        wrapped(outside_notes(_of_method(study))),
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
    training = *remarks, *learning_notes(study.predictor, verbose=True)
    notes = [
        f'* {markdown(note)}' for note in (*outside_notes(_of_method(study)),
                                           *(f'{note}.' for note in training))
    ]
    outliers = [f'* {markdown(n)}' for n in outlier_notes(study.predictor)]
    parts = [
        f'# {title}',
        indent(visible(command), '    '), *outliers,
        markdown_table(error_rows(study)),
        legend.strip(),
        expected_line(study), '## Families left out',
        markdown_table([['benchmark', *FIT_HEADER],
                        *([part.benchmark, *fit_cells(part)]
                          for part in study.predictor.benchmarks)]),
        FIT_LEGEND, '\n'.join(['## Notes', '', *(notes or ['None.'])])
    ]
    write_text(path, '\n\n'.join(filter(None, parts)) + '\n')
