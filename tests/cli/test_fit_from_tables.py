"""Fits to tables: what the command writes, and what it says of bad input."""
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import count

import numpy as np
import pytest

from csv_plugin.cli.salience import main
from csv_plugin.core.study import Study, leave_families_out
from csv_plugin.io.model_tables import read_loss_features, read_model_tables
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.report.study_tables import PREDICTION_COLUMNS
from tests.scripts import check_end, csv_rows, refusal
from tests.tables import small_tables, write_tables

OUTPUTS = [
    'in_sample.csv', 'leaderboard.md', 'predictions.csv',
    'predictor.safetensors', 'report.md'
]
SPLITS = ('train', 'train', 'train', 'val', 'test')


def call_on(folder, tables, *options):
    """A call on tables in `folder/in`, which writes to `folder/out`."""
    (folder / 'in').mkdir()
    splits = {m: SPLITS[i % 5] for i, m in enumerate(tables.models)}
    return ['fit', *write_tables(folder / 'in', tables, splits),
            '--out', f'{folder}/out', *options]  # yapf: disable


@pytest.fixture(scope='module')
def tables():
    tables = small_tables(n_models=15, n_families=4)
    return tables.only('easy', 'hard', 'pair', 'none')


@pytest.fixture(scope='module')
def usual(tmp_path_factory, tables):
    """A folder with the inputs and outputs of a call, and what it printed."""
    folder = tmp_path_factory.mktemp('usual')
    with redirect_stdout(StringIO()) as said:
        assert main(call_on(folder, tables)) == 0
    return folder, said.getvalue()


@pytest.fixture
def call(tmp_path, tables):
    return call_on(tmp_path, tables)


def inputs(folder):
    return [folder / f'in/{name}.csv'
            for name in ('losses', 'scores', 'models', 'benchmarks')
            ]  # yapf: disable


def without_scores(folder, models):
    path = folder / 'in/scores.csv'
    rows = csv_rows(path)
    write_csv(path, list(rows[0]), [
        [row['model'], *[''] * (len(row) - 1)]
        if row['model'] in models else list(row.values()) for row in rows
    ])  # yapf: disable


def all_rows(folder):
    return [*csv_rows(folder / 'out/predictions.csv'),
            *csv_rows(folder / 'out/in_sample.csv')]  # yapf: disable


def test_outputs(tables, usual):
    folder, said = usual
    out = folder / 'out'
    assert sorted(path.name for path in out.iterdir()) == OUTPUTS
    assert '3 models predicted from 12' in said
    report = (out / 'report.md').read_text('utf-8')
    assert report.split('\n')[2].startswith('    salience fit --losses ')
    lines = check_end(said)
    assert not any('|' in line for line in lines)
    row, = (line.split() for line in lines if line.startswith('hard '))
    predictor = load_predictor(out / 'predictor.safetensors')
    losses = read_loss_features(inputs(folder)[0])
    study = Study.of({'salience': predictor}, losses, tables.accuracies)
    errors = study.errors('salience')['hard']
    assert row[1] == str(errors.n_models)
    assert row[2] == f'{100 * errors.mae:.1f}'
    assert row[4] == f'{errors.coverage:.0%}'
    rows = all_rows(folder)
    assert tuple(rows[0]) == PREDICTION_COLUMNS
    assert len(rows) == 15 * 3
    predicted = predictor.predict(losses)
    for row in rows:
        place = tables.models.index(row['model'])
        split = SPLITS[place % 5].replace('val', 'validation')
        assert row['split'] == split
        scored = row['observed'] != ''
        assert row['in_sample'] == str(int(scored and split != 'test'))
        cell = predicted.at(row['model'], row['benchmark'])
        # Rows are predicted together with others: the last bit may differ.
        assert float(row['predicted']) == pytest.approx(cell.value, rel=1e-12)
        assert row['extrapolated'] == str(int(cell.extrapolated))
    fitted = predictor.benchmarks[0].fit_models
    assert {*fitted} == {m for i, m in enumerate(tables.models) if i % 5 < 4}


@pytest.mark.slow
def test_leave_family_out(tmp_path, capsys):
    small = small_tables(n_models=8, n_families=4).only('easy')
    assert main(call_on(tmp_path, small, '--leave-family-out')) == 0
    tables = read_model_tables(*inputs(tmp_path))
    tables = tables.select(
        tables.models_in('train', 'validation') + tables.models_in('test'))
    study = leave_families_out(tables.features, tables.accuracies,
                               tables.families)
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    np.testing.assert_array_equal([float(row['predicted']) for row in rows],
                                  study.predictions.values[:, :, 0].ravel())
    assert csv_rows(tmp_path / 'out/in_sample.csv') == []
    report = (tmp_path / 'out/report.md').read_text('utf-8')
    assert report.startswith(
        '# 8 models, each predicted from other families\n')
    predictor = load_predictor(tmp_path / 'out/predictor.safetensors')
    assert len(predictor.benchmarks[0].fit_models) == 8
    line = 'fitted to all 8 models, including the split test: salience'
    assert line in capsys.readouterr().out.replace('\n  ', ' ')
    assert 'including the split test' in report


@pytest.mark.slow
def test_models_without_scores_are_no_part_of_left_out_families(
        tmp_path, capsys):
    small = small_tables(n_models=12, n_families=4).only('easy')
    values = small.accuracies.values.copy()
    values[[2, 5]] = np.nan
    small = replace(small, accuracies=replace(small.accuracies, values=values))
    assert main(call_on(tmp_path, small, '--leave-family-out')) == 0
    out = capsys.readouterr().out
    assert '2 models without scores left out' in out
    assert '10 models, each predicted from other families' in out
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    assert len(rows) == 10 and all(row['predicted'] for row in rows)


@pytest.mark.parametrize('split, fit', [('all', ['--fit', 'all']), ('', [])])
def test_families_are_left_out_without_a_test_split(tmp_path, split, fit,
                                                    capsys):
    """One that is named has to be there."""
    small = small_tables(n_models=8, n_families=4).only('easy')
    call = call_on(tmp_path, small, '--leave-family-out', *fit)
    write_tables(tmp_path / 'in', small, dict.fromkeys(small.models, split))
    assert main(call) == 0
    assert 'including the split' not in capsys.readouterr().out
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    assert [row['model'] for row in rows] == list(small.models)
    error = refusal(capsys, *call, '--predict', 'test')
    assert "in/models.csv (--" in error and "models in split 't" in error
    assert (' found no split of any model. Add a column split'
            in error) == (not split)


@pytest.mark.parametrize(('first', 'second'), [(0, 5), (4, 9)])
def test_models_with_the_same_losses_are_told(tmp_path, capsys, first, second):
    """Two models of one family, which are fitted to or predicted."""
    small = small_tables(n_models=15).only('easy')
    values = small.features.values.copy()
    values[second] = values[first]
    small = replace(small, features=replace(small.features, values=values))
    assert not main(call_on(tmp_path, small))
    note = ('models with exactly the same losses, of which all but one may be '
            f'wrong uploads: org/model-{first} = org/model-{second}.')
    printed = capsys.readouterr().out
    assert f'warning: {note}' in printed
    assert printed.count('same losses') == 1
    assert note in (tmp_path / 'out/report.md').read_text('utf-8')


@pytest.mark.parametrize('n_families', [4, 5])
def test_a_test_model_that_is_a_copy_of_a_training_model(
        tmp_path, capsys, n_families):
    """A model of the split test, which has the same family, or another one."""
    small = small_tables(n_models=15, n_families=n_families).only('easy')
    values = small.features.values.copy()
    values[4] = values[0]
    small = replace(small, features=replace(small.features, values=values))
    assert not main(call_on(tmp_path, small))
    note = ('copies of training models: org/model-4 (same losses as '
            'org/model-0).')
    printed = capsys.readouterr().out
    assert f'warning: {note}' in printed
    assert printed.count('same losses') == 1
    assert note in (tmp_path / 'out/report.md').read_text('utf-8')


@pytest.mark.slow
def test_left_out_families_that_nothing_can_be_fitted_to_are_told(
        tmp_path, capsys):
    """A benchmark of one family, alone and beside another."""
    small = small_tables(n_models=16, n_families=4).only('easy', 'hard')
    values = small.accuracies.values.copy()
    values[np.array(small.groups) != small.groups[0], 0] = np.nan
    small = replace(small, accuracies=replace(small.accuracies, values=values))
    for name in ('both', 'alone'):
        (tmp_path / name).mkdir()
    assert not main(call_on(tmp_path / 'both', small, '--leave-family-out'))
    assert ('warning: easy: 4 models not predicted, because no model of '
            'another family was run on this benchmark.\n'
            in capsys.readouterr().out)
    assert 'at least two families' in refusal(
        capsys, *call_on(tmp_path / 'alone', small.only('easy'),
                         '--leave-family-out'))  # yapf: disable


@pytest.mark.slow
def test_models_of_all_splits_count_where_families_are_left_out(
        tmp_path, capsys):
    """A benchmark that only models of the test split were run on stays."""
    small = small_tables(n_models=8, n_families=4).only('easy', 'hard')
    values = small.accuracies.values.copy()
    is_test = np.array([SPLITS[i % 5] == 'test' for i in range(8)])
    is_test[0] = True  # It is of another family than the other.
    values[~is_test, 0] = np.nan
    small = replace(small, accuracies=replace(small.accuracies, values=values))
    call = call_on(tmp_path, small, '--leave-family-out')
    splits = ['test' if test else 'train' for test in is_test]
    write_tables(tmp_path / 'in', small, dict(zip(small.models, splits)))
    assert main(call) == 0
    assert '8 models, each predicted from other fam' in capsys.readouterr().out
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    assert {row['benchmark'] for row in rows} == {'easy', 'hard'}


@pytest.mark.slow
def test_columns_beside_the_losses_change_nothing(tmp_path, call, usual):
    """Tables of trainers have steps and tokens, too."""
    losses = tmp_path / 'in/losses.csv'
    header, *rows = losses.read_text().splitlines()
    rows = [f'{row},{k}000,{k}.5e9' for k, row in enumerate(rows)]
    losses.write_text('\n'.join([f'{header},step,train/tokens', *rows, '']))
    with pytest.warns(UserWarning, match="left out: 'step', 'train/tokens'"):
        assert main(call) == 0
    assert_same_numbers(tmp_path, usual[0])


def assert_same_numbers(folder, other):
    """But for the last digits, which may hang on where arrays lie."""
    names = 'predicted', 'low', 'high', 'expected_error'
    numbers = [[float(row[name]) for row in all_rows(each) for name in names]
               for each in (folder, other)]  # yapf: disable
    np.testing.assert_allclose(*numbers, rtol=0, atol=1e-7)


@pytest.mark.slow
def test_the_same_twice(tmp_path, call, usual):
    before, _ = usual
    assert main(call) == 0
    assert_same_numbers(tmp_path, before)
    for name in 'leaderboard.md', 'report.md':
        old, new = ((folder / 'out' / name).read_text('utf-8')
                    for folder in (before, tmp_path))
        assert new == old.replace(str(before), str(tmp_path))


@pytest.mark.slow
def test_a_long_fit_shows_its_steps(call, capsys, monkeypatch):
    monkeypatch.setattr('csv_plugin.cli.options.monotonic', count().__next__)
    assert main(call) == 0
    assert 'steps of the fit: 100%' in capsys.readouterr().err


@pytest.mark.slow
def test_splits(tmp_path, call):
    assert main([*call, '--fit', 'train', '--predict', 'val', 'test']) == 0
    rows = all_rows(tmp_path)
    assert len(rows) == 3 * 15
    assert {row['split'] for row in rows} == {'train', 'validation', 'test'}
    assert [row['split'] for row in rows
            if row['benchmark'] == 'easy'].count('train') == 9
    report = (tmp_path / 'out/report.md').read_text('utf-8')
    assert report.startswith('# 6 models predicted from 9\n')


@pytest.mark.parametrize('options, found', [
    ('--fit dev',
     "models in split 'dev', found only the splits test, train, validation"),
    ('--predict test dev',
     "models.csv (--predict): expected models in split 'dev'"),
    ('--predict train validation', 'nor of train, validation, found none.'),
    ('--fit train test', 'test in both. Take the split out of one of'),
])
def test_splits_that_do_not_go(tmp_path, call, capsys, options, found):
    assert found in refusal(capsys, *call, *options.split())
    assert not (tmp_path / 'out').exists()


@pytest.mark.slow
@pytest.mark.parametrize('more', ['', '--leave-family-out --fit train test'])
def test_a_benchmark_without_a_score_is_left_out(tmp_path, call, capsys, more):
    """Also from the means, and if only models to predict have scores."""
    path = tmp_path / 'in/benchmarks.csv'
    path.write_text(path.read_text().replace('none,0.25,200,0',
                                             'none,0.25,200,1'))
    path = tmp_path / 'in/scores.csv'
    rows = csv_rows(path)
    for place, row in enumerate(rows):
        if SPLITS[place % 5] == 'test' and not more:
            row['none'] = '0.5'
    write_csv(path, list(rows[0]), [row.values() for row in rows])
    assert main([*call, *more.split()]) == 0
    said = capsys.readouterr().out
    assert said.count('none: ') == said.count(
        'warning: none: left out, as none of the models to fit to was run '
        'on it.')
    assert 'mean of 2 ' in said
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    assert {row['benchmark'] for row in rows} == {'easy', 'hard', 'pair'}
    assert 'none' not in (tmp_path / 'out/leaderboard.md').read_text('utf-8')
    predictor = load_predictor(tmp_path / 'out/predictor.safetensors')
    assert 'none' not in predictor.names


def test_no_score_of_a_model_to_fit_to(tmp_path, call, capsys, tables):
    without_scores(tmp_path, tables.models)
    assert 'scores.csv: expected at least one acc' in refusal(capsys, *call)
    assert not (tmp_path / 'out').exists()


@pytest.mark.slow
def test_models_without_scores_are_not_fitted_to(tmp_path, call, capsys,
                                                 tables):
    """They do not count in the title."""
    without_scores(tmp_path, tables.models[:2])
    assert main(call) == 0
    assert '3 models predicted from 10\n' in capsys.readouterr().out
    predictor = load_predictor(tmp_path / 'out/predictor.safetensors')
    assert len(predictor.fit_models) == 10


@pytest.mark.slow
def test_models_without_scores_are_predicted(tmp_path, call, capsys, tables):
    """A table of errors would be empty."""
    new = tables.models[4::5]
    without_scores(tmp_path, new)
    assert main(call) == 0
    printed = capsys.readouterr().out
    assert '3 models predicted from ' in printed
    assert all(f'\n{model} ' in printed for model in new)
    assert 'of mean loss' not in printed
    predictor = load_predictor(tmp_path / 'out/predictor.safetensors')
    sizes = np.abs(predictor.left_out - predictor.observed)
    errors = dict(zip(predictor.names, 100 * np.nanmean(sizes, axis=0)))
    mean = np.mean([errors[name] for name in predictor.main])
    assert (f'left out: {mean:.1f} points, over '
            f'{len(predictor.main)} benchmark' in printed)
    # The report begins with these errors.
    report = (tmp_path / 'out/report.md').read_text('utf-8')
    first, _ = report.split('## Families left out')
    assert '|' not in first and 'All errors are of held-out' not in report


def test_warnings_on_a_single_family_are_in_the_report(tmp_path, capsys):
    small = small_tables(n_models=10, n_families=1).only('easy')
    assert main(call_on(tmp_path, small)) == 0
    report = (tmp_path / 'out/report.md').read_text('utf-8')
    notes = report.partition('## Notes')[2]
    assert 'no family can be left out' in capsys.readouterr().out
    assert 'no family can be left out' in notes


def test_families_that_look_alike(tmp_path, capsys):
    small = small_tables(n_models=8, n_families=4).only('easy')
    call = call_on(tmp_path, small)
    path = tmp_path / 'in/models.csv'
    path.write_text(path.read_text().replace('family-1', 'FAMILY-0 '))
    assert main(call) == 0
    assert "warning: families 'FAMILY-0' and 'family-0' differ only in" in (
        capsys.readouterr().out)


@pytest.mark.slow
def test_a_chance_level_that_cannot_be_is_told(tmp_path, capsys):
    small = small_tables(n_models=8, n_families=4).only('easy', 'same')
    call = call_on(tmp_path, small)
    path = tmp_path / 'in/benchmarks.csv'
    assert main(call) == 0
    assert 'Check the chance level' not in capsys.readouterr().out
    path.write_text(path.read_text().replace('same,0.25', 'same,0.75'))
    assert main(call) == 0
    warning, = (
        line for line in capsys.readouterr().out.splitlines()
        if 'Check the chance level' in line)
    assert warning.startswith('warning: same: all ')
    assert 'chance level of 75 %, the best with 50.0 %' in warning
