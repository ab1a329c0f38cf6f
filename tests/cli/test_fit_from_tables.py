"""Fits to tables: what the command writes, and what it says of bad input."""
import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.cli.salience import main as salience
from csv_plugin.core.salience import SOLVERS
from csv_plugin.core.split_studies import leave_families_out
from csv_plugin.core.study import Study
from csv_plugin.io.model_tables import read_loss_features, read_model_tables
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.report.study_tables import PREDICTION_COLUMNS
from tests.scripts import check_end, csv_rows
from tests.tables import Tables, small_tables, write_tables

OUTPUTS = [
    'in_sample.csv', 'leaderboard.md', 'predictions.csv',
    'predictor.safetensors', 'report.md'
]
SPLITS = ('train', 'train', 'train', 'val', 'test')
#: Fits to nothing, where it does not matter what is fitted.
QUICK = ('--solver', 'uniform')


def main(options: list[str]) -> int:
    return salience(['fit', *options])


@pytest.fixture(scope='module')
def tables() -> Tables:
    return small_tables(n_models=15, n_families=4)


def given(folder: Path, tables: Tables) -> list[str]:
    """Tables in a folder of their own, and where to write."""
    (folder / 'in').mkdir()
    splits = {m: SPLITS[i % 5] for i, m in enumerate(tables.models)}
    return [
        *write_tables(folder / 'in', tables, splits), '--out',
        str(folder / 'out')
    ]


@pytest.fixture
def arguments(tmp_path, tables) -> list[str]:
    return given(tmp_path, tables)


def assert_says(error: str, *parts: str) -> None:
    """One line, no traceback."""
    assert error.startswith('error: ') and error.endswith('.\n')
    assert error.count('\n') == 1
    for part in parts:
        assert part in error


def inputs(tmp_path: Path) -> list[Path]:
    return [
        tmp_path / f'in/{name}.csv'
        for name in ('losses', 'scores', 'models', 'benchmarks')
    ]


def test_outputs(tmp_path, tables):
    arguments = given(tmp_path, tables)
    with redirect_stdout(io.StringIO()) as said, \
            redirect_stderr(io.StringIO()) as bars:
        assert main(arguments) == 0
    out = tmp_path / 'out'
    assert sorted(path.name for path in out.iterdir()) == OUTPUTS
    assert '3 models predicted from 12' in said.getvalue()
    report = (out / 'report.md').read_text('utf-8')
    assert report.split('\n')[2].startswith('    salience fit --losses ')
    lines = check_end(said.getvalue())
    assert '--losses ... ' not in said.getvalue()
    assert not any('|' in line for line in lines)
    row, = (line.split() for line in lines if line.startswith('hard '))
    predictor = load_predictor(out / 'predictor.safetensors')
    losses = read_loss_features(inputs(tmp_path)[0])
    study = Study.of({'averaged': predictor}, losses, tables.accuracies)
    errors = study.errors('averaged')['hard']
    assert row[1] == str(errors.n_models)
    assert row[2] == f'{100 * errors.mae:.1f}'
    assert row[4] == f'{errors.coverage:.0%}'
    assert 'back-tests: 100%' in bars.getvalue()
    rows = csv_rows(out / 'predictions.csv') + csv_rows(out / 'in_sample.csv')
    assert tuple(rows[0]) == PREDICTION_COLUMNS
    assert len(rows) == 15 * 5
    for row in rows:
        place = tables.models.index(row['model'])
        split = SPLITS[place % 5].replace('val', 'validation')
        assert row['split'] == split
        scored = row['observed'] != ''
        assert row['in_sample'] == str(int(scored and split != 'test'))
    predictor = load_predictor(out / 'predictor.safetensors')
    read_again = read_model_tables(*inputs(tmp_path))
    predicted = predictor.predict(read_again.features)
    for row in rows:
        cell = predicted.at(row['model'], row['benchmark'])
        # Rows are predicted together with others: the last bit may differ.
        assert float(row['predicted']) == pytest.approx(cell.value, rel=1e-12)
        assert row['extrapolated'] == str(int(cell.extrapolated))
    fitted = predictor.benchmarks[0].fit_models
    assert fitted == tuple(m for i, m in enumerate(tables.models) if i % 5 < 4)


@pytest.mark.slow
def test_leave_family_out(tmp_path, capsys):
    small = small_tables(n_models=8, n_families=4).only('easy')
    arguments = given(tmp_path, small)
    assert main([*arguments, '--leave-family-out', '--solver', 'ridge']) == 0
    tables = read_model_tables(*inputs(tmp_path))
    tables = tables.select(
        tables.models_in('train', 'validation') + tables.models_in('test'))
    study = leave_families_out(tables.features, tables.accuracies,
                               tables.families, SOLVERS['ridge'])
    method = study.predictions.methods.index('ridge')
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    values = [float(row['predicted']) for row in rows]
    np.testing.assert_array_equal(
        values, study.predictions.values[:, :, method].ravel())
    assert csv_rows(tmp_path / 'out/in_sample.csv') == []
    report = (tmp_path / 'out/report.md').read_text('utf-8')
    assert report.startswith(
        '# 8 models, each predicted from other families\n')
    predictor = load_predictor(tmp_path / 'out/predictor.safetensors')
    assert len(predictor.benchmarks[0].fit_models) == 8
    # Four families, four folds.
    assert re.search('folds: 100%.* 4/4 ', capsys.readouterr().err)


@pytest.mark.parametrize('split, fit', [('all', ['--fit', 'all']), ('', [])])
def test_families_are_left_out_without_a_test_split(tmp_path, split, fit,
                                                    capsys):
    """One that is named has to be there."""
    small = small_tables(n_models=8, n_families=4).only('easy')
    (tmp_path / 'in').mkdir()
    arguments = [
        *write_tables(tmp_path / 'in', small, dict.fromkeys(
            small.models, split)), *QUICK, '--leave-family-out', *fit, '--out',
        str(tmp_path / 'out')
    ]
    assert main(arguments) == 0
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    assert [row['model'] for row in rows] == list(small.models)
    assert main([*arguments, '--predict', 'test']) == 2
    assert "models in split 't" in capsys.readouterr().err


def test_left_out_families_that_nothing_can_be_fitted_to_are_told(
        tmp_path, capsys):
    """A benchmark of one family, alone and beside another."""
    small = small_tables(n_models=8, n_families=4).only('easy', 'hard')
    values = small.accuracies.values.copy()
    values[np.array(small.groups) != small.groups[0], 0] = np.nan
    small = replace(small, accuracies=replace(small.accuracies, values=values))
    for name, tables in (('both', small), ('alone', small.only('easy'))):
        (tmp_path / name).mkdir()
        code = main(
            [*given(tmp_path / name, tables), *QUICK, '--leave-family-out'])
        assert code == (2 if name == 'alone' else 0)
    said = capsys.readouterr()
    assert 'warning: easy: 2 models not predicted, as none of' in said.out
    assert 'models of several families were run' in said.err


def test_same_bytes_twice(tmp_path, arguments):
    contents = []
    arguments += QUICK
    for _ in range(2):
        assert main(arguments) == 0
        contents.append([(tmp_path / 'out' / name).read_bytes()
                         for name in OUTPUTS])  # yapf: disable
    assert contents[0] == contents[1]


@pytest.mark.parametrize('fit, predict, n_rows, title', [
    (['train'], ['val', 'test'], 15, '6 models predicted from 9'),
    (['train'], ['validation'], 12, '3 models predicted from 9'),
    (['val', 'train'], ['test'], 15, '3 models predicted from 12'),
])
def test_splits(tmp_path, arguments, fit, predict, n_rows, title):
    assert main([*arguments, '--fit', *fit, '--predict', *predict,
                 *QUICK]) == 0
    rows = csv_rows(tmp_path / 'out/predictions.csv') + csv_rows(
        tmp_path / 'out/in_sample.csv')
    assert len(rows) == 5 * n_rows
    expected = {name.replace('val', 'validation') if name == 'val' else name
                for name in fit + predict}  # yapf: disable
    assert {row['split'] for row in rows} == expected
    report = (tmp_path / 'out/report.md').read_text('utf-8')
    assert report.startswith(f'# {title}\n')


@pytest.mark.parametrize('options, parts', [
    (['--fit', 'dev'],
     ("models in split 'dev'", 'found only test, train, validation')),
    (['--predict', 'test', 'dev'], ("models in split 'dev'", )),
    (['--fit', 'train', 'test'], ('test in both', 'use --leave-family-out')),
])
def test_splits_that_do_not_go(tmp_path, arguments, capsys, options, parts):
    assert main([*arguments, *options]) == 2
    assert_says(capsys.readouterr().err, *parts)
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize('more', [(), ('--leave-family-out', )])
def test_a_benchmark_without_a_score_is_left_out(tmp_path, arguments, capsys,
                                                 more):
    """Also from the means, and if only models to predict have scores."""
    for path in (tmp_path / 'in/scores.csv', tmp_path / 'in/benchmarks.csv'):
        text = path.read_text('utf-8')
        path.write_text(text.replace('none,0.25,200,0', 'none,0.25,200,1'))
    rows = csv_rows(tmp_path / 'in/scores.csv')
    splits = {
        row['model']: row['split']
        for row in csv_rows(inputs(tmp_path)[2])
    }
    for row in rows:
        if splits[row['model']] == 'test' and not more:
            row['none'] = '0.5'
    write_csv(tmp_path / 'in/scores.csv', list(rows[0]),
              [row.values() for row in rows])
    assert main([*arguments, *QUICK, *more]) == 0
    said = capsys.readouterr().out
    assert said.count('none: ') == said.count(
        'warning: none: left out, as no model to fit to was run there.')
    assert 'mean of 2 ' in said
    rows = csv_rows(tmp_path / 'out/predictions.csv')
    assert {row['benchmark'] for row in rows} == {
        'easy', 'hard', 'chance', 'same', 'pair'}  # yapf: disable
    assert 'none' not in (tmp_path / 'out/leaderboard.md').read_text('utf-8')
    predictor = load_predictor(tmp_path / 'out/predictor.safetensors')
    assert 'none' not in predictor.names


def test_no_score_of_a_model_to_fit_to(tmp_path, arguments, capsys):
    path = tmp_path / 'in/scores.csv'
    rows = csv_rows(path)
    write_csv(path, list(rows[0]),
              [[row['model'], *[''] * (len(row) - 1)] for row in rows])
    assert main(arguments) == 2
    assert_says(capsys.readouterr().err, f'{path}: expected a score of a mod')
    assert not (tmp_path / 'out').exists()


def test_models_without_scores_are_predicted(tmp_path, arguments, capsys):
    """A table of errors would be empty."""
    path = tmp_path / 'in/scores.csv'
    new = {row['model'] for row in csv_rows(tmp_path / 'in/models.csv')
           if row['split'] == 'test'}  # yapf: disable
    rows = csv_rows(path)
    write_csv(path, list(rows[0]), [
        [row['model'], *[''] * (len(row) - 1)]
        if row['model'] in new else list(row.values()) for row in rows
    ])  # yapf: disable
    assert main([*arguments, *QUICK]) == 0
    printed = capsys.readouterr().out
    assert f'{len(new)} models predicted from ' in printed
    assert all(f'\n{model} ' in printed for model in new)
    assert 'of uniform' not in printed


@pytest.mark.parametrize('solver, slope, said', [
    ('averaged', .05, 0), ('averaged', 0, 1), ('ridge', .05, 0),
    ('uniform', .05, 1)
])  # yapf: disable
def test_scores_at_chance(tmp_path, capsys, solver, slope, said):
    """That the mean accuracy is predicted is said once, and where it is."""
    tables = small_tables(n_models=32, n_families=8).only('easy')
    skill = -tables.features.values.mean(axis=1)
    noise = np.random.default_rng(1).normal(size=32) / 200
    scores = .2 + slope * (skill - skill.max())[:, None] + noise[:, None]
    tables = replace(
        tables, accuracies=replace(tables.accuracies, values=scores))
    splits = dict.fromkeys(tables.models, 'train')
    splits |= dict.fromkeys(tables.models[::8], 'test')
    assert main([
        *write_tables(tmp_path, tables, splits), '--fit', 'train', '--solver',
        solver, '--out',
        str(tmp_path / 'out')
    ]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines()
        if 'the mean accuracy of the training models' in line
    ]
    assert len(lines) == said
    part, = load_predictor(tmp_path / 'out/predictor.safetensors').benchmarks
    assert (part.solver == 'constant') == bool(said)


def test_families_that_look_alike(tmp_path, arguments, capsys):
    assert main([*arguments, *QUICK]) == 0
    assert 'letter case' not in capsys.readouterr().out
    table = tmp_path / 'in/models.csv'
    table.write_text(
        table.read_text('utf-8').replace('family-1', 'FAMILY-0 ').replace(
            'family-2', 'family-\u200b0'), 'utf-8')
    assert main([*arguments, *QUICK]) == 0
    said = capsys.readouterr().out
    for name in ("'family-0'", "'FAMILY-0'", r"'family-\u200b0'"):
        assert name in said.partition('predicted from')[0]
    assert said.count('letter case') == 1 and "'family-3'" not in said
