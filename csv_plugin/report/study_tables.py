"""Show the predictions and errors of a study, in tables and in a report."""
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

import numpy as np

from csv_plugin.core.escaping import visible
from csv_plugin.core.far_models import far_notes
from csv_plugin.core.formatting import ANY, number, percent
from csv_plugin.core.metrics import known_mean
from csv_plugin.core.overall import MEAN_ERROR
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import (MEAN_LOSS, BenchmarkErrors, Study,
                                   geometric_mean)
from csv_plugin.core.text_tables import WIDTH, text_table, wrapped
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.tables import ModelInfo, write_csv
from csv_plugin.report.leaderboard_tables import as_text
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import (learning_notes, left_out_errors,
                                     outlier_notes)
from csv_plugin.report.screen import full_width, markdown_list, markdown_table

#: Columns of the files that `write_predictions` writes.
PREDICTION_COLUMNS = ('model', 'benchmark', 'split', 'observed', 'predicted',
                      'low', 'high', 'extrapolated', 'in_sample', 'at_chance',
                      'expected_error')

#: Legend of the table of errors in the report.
_LEGEND = """\
All errors are of held-out models only. The MSE is in 1e-3 (squared
fractions). `mean-loss` (mean loss with a learned floor) is the baseline. MAE
and the width of the {level:.0%} intervals are in points of accuracy (percent),
`Spearman` is the rank correlation, `coverage` the share of accuracies inside
their intervals.
"""
#: Legend of the row of means, where the table has one.
_MEANS = """\
The last row has geometric means of the MSE, and arithmetic means of the rest,
over {n_main} main benchmarks. The leaderboard has errors of means, which are
smaller than means of errors.
"""
#: Legend of the cell `(any)`, where a table has one.
_ANY = (f'({ANY}): all intervals reach from chance or less to 100 %, so no '
        'accuracy can lie outside.')

#: Mark on the name of a benchmark that is not predictable yet, and its legend.
_NOT_YET = ' ?'
_ON_NOT_YET = '?: not predictable yet, and left out of the means.'

#: Legend of the short table on the terminal.
_SHORT = (
    'error: mean absolute error of held-out models, in points (percent); of '
    'mean loss: this error divided by the error of the baseline mean-loss; '
    'coverage: share of observed accuracies inside their {level:.0%} '
    'intervals. --wide shows all columns.')
#: Legend of the table with all columns on the terminal.
_UNITS = ('MSE: in 1e-3; MAE and width of intervals: in points; means of MSE '
          'are geometric.')

#: Explanations of the names of methods in the tables.
_METHODS = {
    'salience': 'the method, which learns how much each loss counts',
    'mean-loss': 'the baseline, the mean loss with a learned floor',
}

#: Maps benchmarks to the errors of one method.
ErrorsByBenchmark = Mapping[str, BenchmarkErrors]

#: Legends of the errors that `fit_errors` returns: of a predictor that leaves
#: families out, and of a predictor by the method `paper`.
_LEFT_OUT = (
    f'{MEAN_ERROR}: mean absolute error of the training models, in points; '
    'each is predicted from models of other families.')
_VALIDATED = (
    f'{MEAN_ERROR}: mean absolute error of the validation models, in points. '
    'These models chose the training step, so errors on other models may be '
    'larger. On a benchmark without an accuracy of a validation model, it is '
    'the error of the models that were trained on.')


def write_predictions(folder: Path, study: Study,
                      info: Mapping[str, ModelInfo]) -> None:
    """Write the predictions of the method under study to CSV files.

    There is one row for each model and benchmark. Rows of accuracies that the
    predictor was fitted to are in `in_sample.csv`, all other rows in
    `predictions.csv`. The columns are `PREDICTION_COLUMNS`. Accuracies are
    fractions, and flags are 0 or 1. `info` has the split of each model.
    """
    table = study.predictions
    in_sample = table.in_sample[:, :, 0]
    parts = {'predictions': ~in_sample, 'in_sample': in_sample}
    for name, is_part in parts.items():
        rows = []
        for m, b in np.argwhere(is_part):
            model = table.models[m]
            # The method under study is the first one.
            cell = m, b, 0
            rows.append([
                model,
                table.benchmarks[b],
                info[model].split,
                table.observed[m, b],
                table.values[cell],
                table.low[cell],
                table.high[cell],
                int(table.extrapolated[cell]),
                int(table.in_sample[cell]),
                int(table.at_chance[cell]),
                table.expected_error[cell],
            ])
        write_csv(folder / f'{name}.csv', PREDICTION_COLUMNS, rows)


def leaderboard(study: Study, models: Sequence[str]) -> Leaderboard:
    """Return the leaderboard of some models by the method under study."""
    predictions = _of_method(study, models)
    names = dict(zip(models, models))
    joints = {}
    for method, joint in study.joints.items():
        if method in predictions.methods:
            joints[method] = joint.renamed(names)
    return Leaderboard.of(predictions, joints=joints)


def fit_errors(predictor: Predictor) -> list[str]:
    """Return the mean absolute error on each benchmark, in points, as cells.

    The errors are of the predictions `Predictor.left_out`, which `fit_legend`
    explains. Unknown errors are '-'.
    """
    errors = left_out_errors(predictor)
    return [number(percent(error)) for error in errors]


def fit_legend(predictor: Predictor) -> str:
    """Return the legend of `fit_errors`: which models the errors are of."""
    return _LEFT_OUT if predictor.leaves_families_out else _VALIDATED


def _of_method(study: Study, models: Sequence[str]) -> Predictions:
    """Return the predictions of models by the method under study alone."""
    method = study.predictions.methods[0]
    return study.predictions.select(models, methods=[method])


def error_rows(study: Study) -> list[list[str]]:
    """Return a header, a row of errors for each benchmark, and a row of means.

    Means are over the main benchmarks with an error. Without any, there is no
    row of means.
    """
    methods = study.predictions.methods
    by_method = _errors_by_method(study)
    own = by_method[methods[0]]
    header = ['benchmark', 'models']
    header += [f'MSE {method}' for method in methods]
    header += ['MAE', 'Spearman', 'coverage', 'width']
    rows = [header]

    def add_row(name: str, n_models: str, benchmarks: Sequence[str]) -> None:
        """Add a row of errors, as means over these benchmarks."""
        row = [name, n_models]
        for method in methods:
            square = _mean_mse(by_method[method], benchmarks)
            row.append(number(1e3 * square, '.2f'))
        row += _wide_cells([own[benchmark] for benchmark in benchmarks])
        rows.append(row)

    names = _marked_names(study)
    for name, errors in own.items():
        n_models = str(errors.n_models)
        add_row(names[name], n_models, [name])
    main = study.benchmarks_with_error
    if main:
        add_row(f'mean of {len(main)}', '', main)
    return rows


def short_table(study: Study, width: float = WIDTH) -> str:
    """Return a table of errors and coverages for the terminal.

    First, there is a row for each benchmark with the errors of the method
    under study. Then there is a row for each method with means over the main
    benchmarks with an error, unless there are none. The column 'of mean loss'
    is the error divided by the error of the baseline 'mean-loss', which the
    study must have. In rows of means, it is the ratio of two mean errors.
    """
    by_method = _errors_by_method(study)
    baseline = by_method[MEAN_LOSS]
    own = by_method[study.predictions.methods[0]]
    rows = [['benchmark', 'models', 'error', 'of mean loss', 'coverage']]
    names = _marked_names(study)
    for name, errors in own.items():
        cells = _short_cells(own, baseline, [name])
        rows.append([names[name], str(errors.n_models), *cells])
    main = study.benchmarks_with_error
    for method, by_benchmark in by_method.items():
        if not main:
            break
        cells = _short_cells(by_benchmark, baseline, main)
        rows.append([f'mean of {len(main)} by {method}', '', *cells])
    return text_table(rows, width)


def _marked_names(study: Study) -> dict[str, str]:
    """Return each benchmark's name for tables of errors.

    It has a `?` if the benchmark is not predictable yet.
    """
    names = {name: name for name in study.predictions.benchmarks}
    for name in study.predictions.not_yet:
        names[name] += _NOT_YET
    return names


def _errors_by_method(study: Study) -> dict[str, ErrorsByBenchmark]:
    """Return the errors of each method, the method under study first."""
    found: dict[str, ErrorsByBenchmark] = {}
    for method in study.predictions.methods:
        found[method] = study.errors(method)
    return found


def _short_cells(errors: ErrorsByBenchmark, baseline: ErrorsByBenchmark,
                 names: Sequence[str]) -> list[str]:
    """Return three cells with means over the benchmarks `names`.

    The cells show the mean absolute error, the ratio of this error to the
    error of the baseline, and the mean coverage. Error and ratio are '-' if an
    error on at least one of the benchmarks is missing.
    """
    if not names:
        return ['-'] * 3
    total = 0.0
    total_of_baseline = 0.0
    coverages = []
    for name in names:
        total += errors[name].mae
        total_of_baseline += baseline[name].mae
        coverages.append(errors[name].coverage)
    ratio = math.nan
    if total_of_baseline:
        ratio = total / total_of_baseline
    error = total / len(names)
    return [
        number(percent(error)),
        number(ratio, '.2f'),
        _of_intervals(known_mean(coverages), error, '.0%')
    ]


def _of_intervals(value: float, error: float, digits: str) -> str:
    """Return the coverage or the width of intervals as a cell.

    The cell is '-' if `error` is NaN, because then nothing was predicted. If
    `value` is NaN although `error` is not, no interval excludes any accuracy,
    and the cell is `ANY` in parentheses.
    """
    if math.isnan(value) and not math.isnan(error):
        return f'({ANY})'
    return number(value, digits)


def _mean_mse(errors: ErrorsByBenchmark, names: Sequence[str]) -> float:
    """Return the geometric mean of the MSE over the benchmarks `names`.

    The result is NaN if at least one of these benchmarks has no error.
    """
    squares = [errors[name].mse for name in names]
    if np.isnan(squares).any():
        return math.nan
    return geometric_mean(squares)


def _wide_cells(errors: Sequence[BenchmarkErrors]) -> list[str]:
    """Return cells with the means of MAE, Spearman, coverage and width.

    Means are over benchmarks. The coverage is NaN on a benchmark where no
    interval excludes any accuracy. The means of coverage and width leave out
    such a benchmark.
    """
    sizes = []
    correlations = []
    coverages = []
    widths = []
    for of_benchmark in errors:
        sizes.append(of_benchmark.mae)
        correlations.append(of_benchmark.spearman)
        coverages.append(of_benchmark.coverage)
        if not math.isnan(of_benchmark.coverage):
            widths.append(of_benchmark.width)
    error = known_mean(sizes)
    return [
        number(100 * error),
        number(known_mean(correlations), '.2f'),
        _of_intervals(known_mean(coverages), error, '.2f'),
        _of_intervals(100 * known_mean(widths), error, '.1f')
    ]


def summary(study: Study,
            models: Sequence[str],
            title: str,
            wide: bool = False) -> str:
    """Return what a fit prints: the title, tables and notes, as text.

    `models` are the models that the study predicts. The table has their
    errors. If none of them has an observed accuracy, there are no errors to
    show. Then the text has the error of families left out and the predictions
    of the models, if there are any, instead. Tables have all columns if `wide`
    is True.
    """
    has_errors = _has_errors(study)
    width = full_width(wide)
    tables = []
    if has_errors:
        tables = _error_texts(study, models, wide)
    elif models:
        board = leaderboard(study, models)
        tables.append(as_text(board, width))
    outliers = outlier_notes(study.predictor, with_error=not has_errors)
    parts = [
        title,
        wrapped(outliers, width), *tables,
        wrapped(learning_notes(study.predictor), width)
    ]
    return '\n\n'.join(filter(None, parts))


def _has_errors(study: Study) -> bool:
    """Return True if an accuracy of a held-out model is observed."""
    method = study.predictions.methods[0]
    return bool(study.predictions.held_out(method).any())


def _error_texts(study: Study, models: Sequence[str], wide: bool) -> list[str]:
    """Return the table of errors, its legend and the notes on far models."""
    width = full_width(wide)
    if wide:
        rows = error_rows(study)
        table = text_table(rows, width)
        legend = _UNITS
    else:
        table = short_table(study, width)
        legend = _SHORT
    legend = legend.format(level=study.predictions.level)
    if f'({ANY})' in table:
        legend += f' {_ANY}'
    if study.predictions.not_yet:
        legend += f' {_ON_NOT_YET}'
    methods = []
    for name, words in _METHODS.items():
        if name in study.predictions.methods:
            methods.append(f'{name}: {words}')
    line_on_methods = '; '.join(methods) + '.'
    return [
        table,
        wrapped([legend, line_on_methods], width),
        wrapped(far_notes(_of_method(study, models)), width),
    ]


def write_report(path: FilePath,
                 study: Study,
                 models: Sequence[str],
                 title: str,
                 command: str,
                 remarks: Sequence[str] = ()) -> None:
    """Write a report in Markdown: tables of errors, with legends and notes.

    The report has errors of held-out models, if some of them have observed
    accuracies, and the errors that `fit_errors` returns. `models` are as in
    `summary`. `title` is the heading. `command` is the command that makes the
    report, and is shown in it. `remarks` are further notes.
    """
    n_main = len(study.benchmarks_with_error)
    held_out_errors = []
    if _has_errors(study):
        table = markdown_table(error_rows(study))
        legend = _LEGEND.format(level=study.predictions.level)
        if n_main:
            legend += _MEANS.format(n_main=n_main)
        held_out_errors = [table, legend.strip()]
        if f'({ANY})' in table:
            held_out_errors.append(_ANY)
        if study.predictions.not_yet:
            held_out_errors.append(_ON_NOT_YET)
    notes = [
        *far_notes(_of_method(study, models)),
        *remarks,
        *learning_notes(study.predictor, verbose=True),
    ]
    checked = 'Validation models'
    if study.predictor.leaves_families_out:
        checked = 'Families left out'
    fits = [['benchmark', MEAN_ERROR]]
    errors = fit_errors(study.predictor)
    for fit, error in zip(study.predictor.benchmarks, errors):
        fits.append([fit.benchmark, error])
    outliers = markdown_list(outlier_notes(study.predictor))
    parts = [
        f'# {title}',
        indent(visible(command), '    '),
        '\n'.join(outliers),
        *held_out_errors,
        f'## {checked}',
        markdown_table(fits),
        fit_legend(study.predictor),
        '## Notes',
        '\n'.join(markdown_list(notes)) or 'None.',
    ]
    text = '\n\n'.join(filter(None, parts))
    write_text(path, f'{text}\n')
