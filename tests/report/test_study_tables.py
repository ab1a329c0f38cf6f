"""What a study writes: numbers that are those of the study."""
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.escaping import markdown
from csv_plugin.core.predictions import Missing, Predictions
from csv_plugin.core.study import Study, geometric_mean, split_study
from csv_plugin.core.text_tables import text_table
from csv_plugin.io.tables import ModelInfo
from csv_plugin.report.notes import learning_notes, left_out_line
from csv_plugin.report.screen import markdown_table
from csv_plugin.report.study_tables import (PREDICTION_COLUMNS, error_rows,
                                            fit_errors, leaderboard, summary,
                                            write_predictions, write_report)
from tests.scripts import csv_rows
from tests.tables import Tables, with_outlier

MAIN = ('easy', 'hard')


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return study_with(MAIN, tables)


def study_with(main: Sequence[str], tables: Tables) -> Study:
    names = tables.accuracies.benchmarks
    accuracies = replace(
        tables.accuracies,
        outside_means=tuple(name for name in names if name not in main))
    return split_study(tables.features, accuracies, tables.families,
                       tables.models[:10])


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_predictions(tmp_path, tables, study):
    info = {
        model: ModelInfo('', f's{m % 3}', 1)
        for m, model in enumerate(tables.models)
    }
    write_predictions(tmp_path, study, info)
    rows, fitted = (
        csv_rows(tmp_path / name)
        for name in ('predictions.csv', 'in_sample.csv'))
    assert {row['in_sample'] for row in rows} == {'0'}
    assert {row['in_sample'] for row in fitted} == {'1'}
    assert tuple(rows[0]) == PREDICTION_COLUMNS == (
        'model', 'benchmark', 'split', 'observed', 'predicted', 'low', 'high',
        'extrapolated', 'in_sample', 'at_chance', 'expected_error')
    assert len(rows + fitted) == 18 * len(tables.accuracies.benchmarks)
    assert len({row['model'] for row in fitted}) == 10
    for row in rows + fitted:
        model, benchmark = row['model'], row['benchmark']
        assert row['split'] == info[model].split
        observed = tables.accuracies.column(benchmark)[tables.models.index(
            model)]  # yapf: disable
        assert row['observed'] == ('' if np.isnan(observed) else str(observed))
        cell = study.predictions.at(model, benchmark)
        if isinstance(cell, Missing):
            assert benchmark == 'none' and row['predicted'] == ''
            continue
        flags = cell.extrapolated, cell.in_sample, cell.at_chance
        # All digits: the file has the numbers of the study.
        assert [*row.values()][4:] == [
            *map(str, (cell.value, cell.low, cell.high)),
            *(str(int(flag)) for flag in flags),
            str(cell.expected_error)
        ]


def test_error_rows(study):
    header, *rows, _ = error_rows(study)
    assert header == [
        'benchmark', 'models', 'MSE salience', 'MSE mean-loss', 'MAE',
        'Spearman', 'coverage', 'width'
    ]
    baseline = study.errors('mean-loss')
    for row, (benchmark, e) in zip(rows, study.errors('salience').items()):
        numbers = [(1e3 * e.mse, 2), (1e3 * baseline[benchmark].mse, 2),
                   (100 * e.mae, 1), (e.spearman, 2), (e.coverage, 2),
                   (100 * e.width, 1)]
        if benchmark in study.predictions.not_yet:
            benchmark += ' ?'
        assert row == [benchmark, str(e.n_models)] + [
            '-' if np.isnan(number) else f'{number:.{digits}f}'
            for number, digits in numbers]  # yapf: disable


@pytest.mark.slow
def test_means(study, tables):
    """Geometric of the MSE, plain of the rest; without what is unknown."""
    check_means(study, MAIN)
    few = tables.only('easy', 'hard', 'none')
    check_means(study_with(('easy', 'none'), few), ('easy', 'none'))


def check_means(study: Study, main: Sequence[str]) -> None:
    last = error_rows(study)[-1]
    n_judged = sum(study.errors('salience')[b].n_models > 0 for b in main)
    expected = [f'mean of {n_judged}', '']
    for method in ('salience', 'mean-loss'):
        errors = study.errors(method)
        mse = geometric_mean(errors[b].mse for b in main)
        expected.append(f'{1e3 * mse:.2f}')
    errors = study.errors('salience')
    for name, scale, digits in (('mae', 100, 1), ('spearman', 1, 2),
                                ('coverage', 1, 2), ('width', 100, 1)):
        mean = np.nanmean([getattr(errors[b], name) for b in main])
        expected.append(f'{scale * mean:.{digits}f}')
    assert last == expected


def with_any(study, *benchmarks) -> Study:
    """The study with intervals of 0 to 100 % on some benchmarks."""
    table = study.predictions
    low, high = table.low.copy(), table.high.copy()
    for name in benchmarks:
        low[:, table.benchmarks.index(name)] = 0
        high[:, table.benchmarks.index(name)] = 1
    return replace(study, predictions=replace(table, low=low, high=high))


def test_intervals_that_contain_everything_have_no_coverage(tmp_path, study):
    """None of them can miss."""
    wide = with_any(study, *study.predictions.benchmarks)
    for name in MAIN:
        errors = wide.errors('salience')[name]
        assert np.isnan(errors.coverage) and errors.width == 1
    table, legend = summary(wide, [], 'Title').split('\n\n')[1:3]
    shown = [line.split()[-1] for line in table.splitlines()[2:]]
    assert {*shown} == {'(any)', '-'} and shown[-2:] == ['(any)', '(any)']
    assert '(any): all intervals reach from chance' in ' '.join(legend.split())
    assert error_rows(wide)[-1][-2:] == ['(any)', '(any)']
    write_report(tmp_path / 'r.md', wide, [], 'A title', 'x')
    report = ' '.join((tmp_path / 'r.md').read_text('utf-8').split())
    assert '(any): all intervals reach from chance' in report


def test_means_are_over_intervals_that_say_something(study):
    """Of two benchmarks, one with intervals of 0 to 100 %."""
    hard = study.errors('salience')['hard']
    *_, coverage, width = error_rows(with_any(study, 'easy'))[-1]
    assert (coverage, width) == (f'{hard.coverage:.2f}',
                                 f'{100 * hard.width:.1f}')


def test_report(tmp_path, study):
    path = tmp_path / 'r.md'
    write_report(path, study, [], 'A title', 'python x.py --out "a b"')
    text = path.read_text('utf-8')
    assert text.startswith('# A title\n\n    python x.py --out "a b"\n\n|')
    assert text.endswith('.\n') and not text.endswith('\n\n')
    assert markdown_table(error_rows(study)) in text
    for column in ('MAE', 'Spearman', 'coverage', 'width'):
        legend = text.partition('\nAll errors are ')[2].partition('##')[0]
        assert column in legend
    table = text.partition('## Families left out\n\n')[2].splitlines()
    errors = fit_errors(study.predictor)
    for name, error in zip(study.predictor.names, errors):
        row, = (line for line in table if cells(line)[0] == name)
        assert cells(row)[1:] == [markdown(error)]
    assert 'over 2 main benchmarks.' in ' '.join(text.split())
    notes = text.partition('## Notes\n\n')[2].splitlines()
    learned = learning_notes(study.predictor, verbose=True)
    assert notes[-len(learned):] == [f'* {markdown(n)}' for n in learned]


def test_every_note_of_a_report_ends_in_one_period(tmp_path, study):
    easy, *others = study.predictor.benchmarks
    easy = replace(easy, at_chance=True, fit_models=easy.fit_models[:3])
    predictor = replace(study.predictor, benchmarks=(easy, *others))
    write_report(tmp_path / 'r.md', replace(study, predictor=predictor), [],
                 'A title', 'x')
    text = (tmp_path / 'r.md').read_text('utf-8')
    notes = text.partition('## Notes\n\n')[2].splitlines()
    assert any('not predictable yet' in note for note in notes)
    assert any('fitted to 3 models' in note for note in notes)
    for note in notes:
        assert note.endswith('.') and not note.endswith('..')


def test_summary(study):
    title, table, legend, *_ = summary(study, [], 'Title').split('\n\n')
    assert '(any)' not in table + legend
    header, line, *rows = table.splitlines()
    assert title == 'Title' and legend.startswith('error: mean absolute')
    assert header.split() == ['benchmark', 'models', 'error', 'of', 'mean',
                              'loss', 'coverage']  # yapf: disable
    by_method = {
        method: study.errors(method)
        for method in study.predictions.methods
    }
    own = by_method['salience']
    for name, row in zip(study.predictions.benchmarks, rows):
        mean_loss = by_method['mean-loss'][name].mae
        ratio = own[name].mae / mean_loss if mean_loss else math.nan
        figures = [
            f'{100 * own[name].mae:.1f}', f'{ratio:.2f}',
            f'{own[name].coverage:.0%}'
        ]
        is_marked = name in study.predictions.not_yet
        assert row.replace(' ? ', '   ').split() == [
            name,
            str(own[name].n_models),
            *('-' if 'nan' in figure else figure for figure in figures)
        ]
        assert (f'{name} ? ' in row) == is_marked
    for method, row in zip(by_method, rows[-len(by_method):]):
        errors = [by_method[method][name] for name in MAIN]
        mean, covered = (
            np.mean([getattr(error, name) for error in errors])
            for name in ('mae', 'coverage'))
        words = ['mean', 'of', str(len(MAIN)), 'by', method]
        assert row.split()[:6] == [*words, f'{100 * mean:.1f}']
        assert row.split()[-1] == f'{covered:.0%}'
    assert ('mean-loss: the baseline, the mean loss with a learned floor.'
            in ' '.join(legend.split()))
    wide = summary(study, [], 'Title', wide=True)
    assert text_table(error_rows(study), width=math.inf) in wide
    assert '|' not in wide and ' Spearman ' in wide


def test_the_summary_fits_the_terminal(study, monkeypatch):
    monkeypatch.setenv('COLUMNS', '60')
    lines = summary(study, study.predictions.models, 'Title').splitlines()
    assert max(map(len, lines)) <= 60


@pytest.mark.slow
def test_no_means_without_main_benchmarks(tmp_path, tables):
    study = study_with((), tables)
    write_report(tmp_path / 'r.md', study, [], 'A title', 'x')
    for text in (summary(study, [], 'Title'),
                 summary(study, [], 'Title',
                         wide=True), (tmp_path / 'r.md').read_text('utf-8')):
        assert 'mean of' not in text and 'main benchmarks' not in text
        assert 'easy' in text
    # All benchmarks count in the error of families left out.
    n_judged = sum(not fit.at_chance for fit in study.predictor.benchmarks)
    assert 1 < n_judged < 5
    line = left_out_line(study.predictor)
    assert line.endswith(f' over {n_judged} benchmarks.')


def test_errors_of_families_left_out_are_mean_absolute_errors(study):
    predictor = study.predictor
    easy, hard, *_ = fit_errors(predictor)
    errors = np.abs(predictor.left_out - predictor.observed)[:, :2]
    assert [easy, hard] == [f'{e:.1f}' for e in 100 * errors.mean(axis=0)]
    assert easy != f'{100 * predictor.benchmarks[0].error:.1f}'
    unknown = replace(predictor.benchmarks[0], error=math.nan)
    alone = replace(predictor, benchmarks=(unknown, *predictor.benchmarks[1:]))
    assert fit_errors(alone)[:2] == ['-', hard]


@pytest.mark.slow
def test_outliers_are_named_before_the_table(tmp_path):
    """And in the report."""
    tables, name = with_outlier()
    fitted = [model for model in tables.models if model != tables.models[-1]]
    assert name in fitted
    odd = split_study(tables.features, tables.accuracies, tables.families,
                      fitted)
    _, note, table, *_ = summary(odd, [], 'Title').split('\n\n')
    assert f'other training models: {name} (' in ' '.join(note.split())
    assert table.startswith('benchmark ')
    write_report(tmp_path / 'r.md', odd, [], 'A title', 'x')
    text = (tmp_path / 'r.md').read_text('utf-8')
    assert 0 < text.index('Outliers, which count less') < text.index('| ben')


def test_the_error_of_families_left_out_is_over_main_benchmarks(study):
    """Benchmarks that no mean is over are left out."""
    parts = list(study.predictor.benchmarks)
    parts[0] = replace(parts[0], main=False)
    parts[2] = replace(parts[2], main=True, at_chance=True)
    predictor = replace(study.predictor, benchmarks=tuple(parts))
    line = left_out_line(predictor)
    error = line.partition('out: ')[2].partition(' points')[0]
    sizes = 100 * np.abs(predictor.left_out - predictor.observed)
    judged = [b for b, part in enumerate(parts)
              if part.main and not part.at_chance]  # yapf: disable
    assert error == f'{np.nanmean(sizes[:, judged], axis=0).mean():.1f}'


def test_benchmarks_at_chance_are_in_no_mean_of_errors(tmp_path, study):
    at_chance = np.zeros(study.predictions.values.shape, bool)
    b = study.predictions.benchmarks.index(MAIN[0])
    at_chance[:, b] = True
    table = replace(study.predictions, at_chance=at_chance)
    odd = replace(study, predictions=table)
    wide = error_rows(odd)
    assert f'{MAIN[0]} ?' in [row[0] for row in wide]
    assert wide[-1][0] == f'mean of {len(MAIN) - 1}'
    shown = ' '.join(summary(odd, odd.predictions.models, 'Title').split())
    assert f'mean of {len(MAIN) - 1} by salience' in shown
    assert 'left out of the means' in shown
    write_report(tmp_path / 'r.md', odd, [], 'A title', 'x')
    assert 'left out of the means' in (tmp_path / 'r.md').read_text('utf-8')


def test_only_models_that_are_predicted_are_called_far(tmp_path, study):
    """A training model that was not run on a benchmark is no such model."""
    table = study.predictions
    everywhere = np.full(table.values.shape, True)
    far = replace(study, predictions=replace(table, extrapolated=everywhere))
    shown = table.models[-2:]
    write_report(tmp_path / 'r.md', far, shown, 'A title', 'x')
    texts = [summary(far, shown, 'A title'),
             (tmp_path / 'r.md').read_text('utf-8')]  # yapf: disable
    for text in texts:
        note = ' '.join(text.split())
        assert 'larger errors: all 2 models. ' in note


def test_leaderboard(study):
    """That of a run: of the method alone, on the models to show."""
    models = study.predictions.models[:2][::-1]
    board = leaderboard(study, models)
    assert board.predictions.models == models
    assert board.predictions.methods == ('salience', )
    assert board.overall.views['salience'].ranks.best.sum() == 1


def test_a_method_without_some_benchmarks_has_no_mean(study):
    """The mean of the rest would look like a mean of all."""
    table = replace(study.predictions, outside_means=())
    names = table.benchmarks
    tables = {name: table.select(methods=[name]) for name in table.methods}
    part = table.select(benchmarks=names[:1], methods=['mean-loss'])
    more = Predictions.side_by_side({
        **tables, 'part': part
    }, table.models, names)
    more = replace(study, predictions=replace(more, observed=table.observed))
    header, *_, means = error_rows(more)
    place = header.index('MSE part')
    assert means[place] == '-' and '-' not in means[2:place]
    first = replace(more.predictions, outside_means=names[1:])
    alone = error_rows(replace(more, predictions=first))[-1]
    assert alone[place] == alone[header.index('MSE mean-loss')]
