"""What a study writes: numbers that are those of the study."""
import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.escaping import markdown
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.salience import MeanLoss
from csv_plugin.core.split_studies import split_study
from csv_plugin.core.study import Study, geometric_mean
from csv_plugin.io.tables import ModelInfo
from csv_plugin.report.notes import learning_notes
from csv_plugin.report.screen import markdown_table, text_table
from csv_plugin.report.study_tables import (PREDICTION_COLUMNS,
                                            cross_validated_line, error_rows,
                                            leaderboard, summary,
                                            write_predictions, write_report)

MAIN = ('easy', 'hard')


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return study_with(MAIN, tables)


def study_with(main, tables) -> Study:
    names = tables.accuracies.benchmarks
    accuracies = replace(
        tables.accuracies,
        outside_means=tuple(name for name in names if name not in main))
    return split_study(tables.features, accuracies, tables.families,
                       tables.models[:10], MeanLoss())


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_predictions(tmp_path, tables, study):
    info = {
        model: ModelInfo('', f's{m % 3}', 1)
        for m, model in enumerate(tables.models)
    }
    write_predictions(tmp_path, study, info)
    rows, fitted = (
        list(
            csv.DictReader((tmp_path / name).read_text('utf-8').splitlines()))
        for name in ('predictions.csv', 'in_sample.csv'))
    assert {row['in_sample'] for row in rows} == {'0'}
    assert {row['in_sample'] for row in fitted} == {'1'}
    assert tuple(rows[0]) == PREDICTION_COLUMNS == (
        'model', 'benchmark', 'split', 'observed', 'predicted', 'low', 'high',
        'extrapolated', 'in_sample', 'at_chance', 'expected_error')
    assert [(row['model'], row['benchmark']) for row in rows] == [
        (m, b) for m in tables.models for b in tables.accuracies.benchmarks
        if not study.predictions.at(m, b, 'mean-loss').in_sample
    ]
    assert len({row['model'] for row in fitted}) == 10
    for row in rows + fitted:
        model, benchmark = row['model'], row['benchmark']
        cell = study.predictions.at(model, benchmark, 'mean-loss')
        observed = tables.accuracies.column(benchmark)[tables.models.index(
            model)]  # yapf: disable
        flags = cell.extrapolated, cell.in_sample, cell.at_chance
        # All digits: the file has the numbers of the study.
        assert [*row.values()][2:] == [
            info[model].split, '' if np.isnan(observed) else str(observed),
            *map(str, (cell.value, cell.low, cell.high)), *(str(int(flag))
                                                            for flag in flags),
            '' if cell.expected_error is None else str(cell.expected_error)
        ]


def test_error_rows(study):
    header, *rows, _ = error_rows(study)
    assert header == [
        'benchmark', 'models', 'MSE mean-loss', 'MSE constant', 'MAE',
        'Spearman', 'coverage', 'width'
    ]
    constant = study.errors('constant')
    for row, (benchmark, e) in zip(rows, study.errors('mean-loss').items()):
        numbers = [(1e3 * e.mse, 2), (1e3 * constant[benchmark].mse, 2),
                   (100 * e.mae, 1), (e.spearman, 2), (e.coverage, 2),
                   (100 * e.width, 1)]
        assert row == [benchmark, str(e.n_models)] + [
            '-' if np.isnan(number) else f'{number:.{digits}f}'
            for number, digits in numbers]  # yapf: disable


@pytest.mark.parametrize('main', [MAIN, ('easy', 'none')])
def test_means(tables, main):
    """Geometric of the MSE, plain of the rest; without what is unknown."""
    study = study_with(main, tables)
    last = error_rows(study)[-1]
    n_judged = sum(study.errors('mean-loss')[b].n_models > 0 for b in main)
    expected = [f'mean of {n_judged}', '']
    for method in ('mean-loss', 'constant'):
        errors = study.errors(method)
        mse = geometric_mean(errors[b].mse for b in main)
        expected.append(f'{1e3 * mse:.2f}')
    errors = study.errors('mean-loss')
    for name, scale, digits in (('mae', 100, 1), ('spearman', 1, 2),
                                ('coverage', 1, 2), ('width', 100, 1)):
        mean = np.nanmean([getattr(errors[b], name) for b in main])
        expected.append(f'{scale * mean:.{digits}f}')
    assert last == expected


def test_intervals_that_contain_everything_have_no_coverage(tmp_path, tables):
    """Too few models, so that no interval can miss."""
    study = split_study(tables.features,
                        tables.accuracies.select(benchmarks=MAIN),
                        tables.families, tables.models[:5], MeanLoss())
    for errors in study.errors('mean-loss').values():
        assert np.isnan(errors.coverage) and errors.width == 1
    table, legend = summary(study, 'Title').split('\n\n')[1:3]
    cells = [line.split()[-1] for line in table.splitlines()[2:]]
    assert cells == ['(any)'] * len(cells) and len(cells) == 4
    assert '(any): these reach from chance' in ' '.join(legend.split())
    for row in error_rows(study)[1:]:
        assert row[-2:] == ['(any)', '(any)']
    write_report(tmp_path / 'r.md', study, 'A title', 'x')
    report = ' '.join((tmp_path / 'r.md').read_text('utf-8').split())
    assert '(any): all intervals reach from chance' in report


def test_means_are_over_intervals_that_say_something(study):
    """Of two benchmarks, one with intervals of 0 to 100 %."""
    low, high = (
        part.copy()
        for part in (study.predictions.low, study.predictions.high))
    easy = study.predictions.benchmarks.index('easy')
    low[:, easy], high[:, easy] = 0, 1
    changed = replace(
        study, predictions=replace(study.predictions, low=low, high=high))
    hard = study.errors('mean-loss')['hard']
    *_, coverage, width = error_rows(changed)[-1]
    assert (coverage, width) == (f'{hard.coverage:.2f}',
                                 f'{100 * hard.width:.1f}')


def test_report(tmp_path, study):
    path = tmp_path / 'r.md'
    write_report(path, study, 'A title', 'python x.py --out "a b"')
    text = path.read_text('utf-8')
    assert text.startswith('# A title\n\n    python x.py --out "a b"\n\n|')
    assert text.endswith('.\n') and not text.endswith('\n\n')
    assert markdown_table(error_rows(study)) in text
    for column in ('MAE', 'Spearman', 'coverage', 'width'):
        assert column in text.partition('\nMSE in ')[2].partition('##')[0]
    table = text.partition('## Cross-validated errors\n\n')[2].splitlines()
    for part in study.predictor.benchmarks:
        row, = (line for line in table if cells(line)[0] == part.benchmark)
        assert cells(row)[1:] == [*map(markdown, part.error_cells)]
    assert 'over 2 main benchmarks.' in ' '.join(text.split())
    far, *notes = text.partition('## Notes\n\n')[2].splitlines()
    assert far.startswith('* mean-loss: far from the training models (>): ')
    assert notes == [
        f'* {note}.' for note in learning_notes(study.predictor, verbose=True)
    ]


def test_summary(study):
    title, table, legend, validated, *_ = summary(study, 'Title').split('\n\n')
    header, line, *rows = table.splitlines()
    assert title == 'Title' and legend.startswith('error: mean absolute')
    assert header.split() == ['benchmark', 'models', 'error', 'of', 'mean',
                              'loss', 'coverage']  # yapf: disable
    by_method = {
        method: study.errors(method)
        for method in study.predictions.methods
    }
    solver, *_ = by_method.values()
    for name, row in zip(study.predictions.benchmarks, rows):
        mean_loss = by_method['mean-loss'][name].mae
        ratio = solver[name].mae / mean_loss if mean_loss else math.nan
        figures = [
            f'{100 * solver[name].mae:.1f}', f'{ratio:.2f}',
            f'{solver[name].coverage:.0%}'
        ]
        assert row.split() == [
            name,
            str(solver[name].n_models),
            *('-' if 'nan' in figure else figure for figure in figures)
        ]
    for method, row in zip(by_method, rows[-len(by_method):]):
        errors = [by_method[method][name] for name in MAIN]
        mean, covered = (
            np.mean([getattr(error, name) for error in errors])
            for name in ('mae', 'coverage'))
        words = ['mean', 'of', str(len(MAIN)), 'by', method]
        assert row.split()[:6] == [*words, f'{100 * mean:.1f}']
        assert row.split()[-1] == f'{covered:.0%}'
    assert ' '.join(validated.split()) == cross_validated_line(study.predictor)
    assert ('mean-loss: the baseline, the mean loss with a learned floor; '
            'constant:' in ' '.join(legend.split()))
    assert 'averaged' not in legend
    wide = summary(study, 'Title', wide=True)
    assert text_table(error_rows(study), width=math.inf) in wide
    assert '|' not in wide and ' Spearman ' in wide


def test_cross_validated_errors(study):
    """By benchmark, and roots of mean squares over the main ones."""
    parts = [study.predictor.benchmark(name) for name in MAIN]
    error = 100 * np.mean([part.cv_mse for part in parts])**.5
    line = cross_validated_line(study.predictor)
    assert line.endswith(f'mean over the main benchmarks): {error:.1f}.')
    first = replace(parts[0], cv_mse=np.nan)
    predictor = replace(
        study.predictor, benchmarks=(first, parts[1]), training_scores=None)
    line = cross_validated_line(predictor)
    assert line.endswith(
        f'{100 * parts[1].cv_mse**.5:.1f} (1 of 2 benchmarks).')


def test_leaderboard(study):
    """That of a run: of the solver alone, on the models to show."""
    models = study.predictions.models[:2][::-1]
    board = leaderboard(study, models)
    assert board.predictions.models == models
    assert board.predictions.methods == ('mean-loss', )


def test_a_method_without_some_benchmarks_has_no_mean(study):
    """The mean of the rest would look like a mean of all."""
    table = replace(study.predictions, outside_means=())
    names = table.benchmarks
    tables = {name: table.select(methods=[name]) for name in table.methods}
    part = table.select(benchmarks=names[:1], methods=['mean-loss'])
    more = Predictions.side_by_side({
        **tables, 'part': part
    }, table.models, names)
    more = replace(study, predictions=replace(more, real=table.real))
    header, *_, means = error_rows(more)
    place = header.index('MSE part')
    assert means[place] == '-' and '-' not in means[2:place]
    first = replace(more.predictions, outside_means=names[1:])
    alone = error_rows(replace(more, predictions=first))[-1]
    assert alone[place] == alone[2]
