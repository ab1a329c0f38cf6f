"""Methods side by side on tables: what is written, printed and refused."""
import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.salience import DEFAULT_SOLVER
from tests.tables import small_tables, write_tables
from tools.studies import compare_methods as script

TABLES = small_tables(18, n_families=6).only('easy', 'hard')
SPLITS = {
    model: 'seen' if m < 13 else 'test'
    for m, model in enumerate(TABLES.models)
}


@pytest.fixture
def options(tmp_path):
    return [
        *write_tables(tmp_path, TABLES, SPLITS), '--fit', 'seen', '--out',
        str(tmp_path / 'out')
    ]


def rows(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def test_files_and_the_screen(options, tmp_path, capsys):
    options += ['--methods', 'constant', 'completion', 'ladder', 'constant']
    assert script.main(options) == 0
    out = tmp_path / 'out'
    methods = rows(out / 'methods.csv')
    assert [row['method'] for row in methods
            ] == [DEFAULT_SOLVER, 'constant', 'completion', 'ladder']
    assert float(methods[0]['ratio']) == 1
    benchmarks = rows(out / 'benchmarks.csv')
    assert [row['benchmark'] for row in benchmarks] == ['easy', 'hard'] * 4
    of_constant = [float(row['mse']) for row in benchmarks[2:4]]
    assert float(methods[1]['mse']) == pytest.approx(np.prod(of_constant)**0.5)
    printed = capsys.readouterr().out
    report = (out / 'comparison.md').read_text()
    for text in (printed, report):
        assert '5 models predicted from 13' in text
        assert f'{1e3 * float(methods[1]["mse"]):.3f}' in text
        assert f'{1e3 * of_constant[0]:.2f}' in text
        assert '| ladder ' in text and '|   ladder |' in text
    assert '--methods constant' in report
    assert 'over 2 benchmarks' in report and '5 families' in report


def test_families_left_out_as_json(options, capsys):
    options += ['--leave-family-out', '--methods', 'constant', '--json']
    assert script.main(options) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['title'] == '18 models, each predicted from other families'
    constant = answer['methods']['constant']
    assert constant['looks_at'] == 'nothing'
    assert constant['mae'] == pytest.approx(
        np.mean([constant['benchmarks'][name]['mae']
                 for name in ('easy', 'hard')]))  # yapf: disable
    real = TABLES.accuracies.column('easy')
    assert constant['benchmarks']['easy']['mse'] > real.var()


def test_own_units_and_doubles_are_taken_from_the_options(
        options, tmp_path, capsys):
    options += [
        '--methods', 'own-units', 'completion', '--own-units', 'easy=t0',
        '--doubles', 'easy=hard', '--json'
    ]
    assert script.main(options) == 0
    methods = json.loads(capsys.readouterr().out)['methods']
    own = methods['own-units']['benchmarks']
    assert own['easy']['mse'] is not None and own['hard']['mse'] is None
    assert methods['own-units']['mse'] is None
    assert methods['completion']['benchmarks']['easy']['mse'] is None


def test_models_of_other_splits_tell_nothing(options, tmp_path, capsys):
    """Not even what the holes of others are filled with."""
    options += ['--methods', 'completion', '--json']
    values = TABLES.accuracies.values.copy()
    values[0, 1] = np.nan
    splits = SPLITS | {model: 'other' for model in TABLES.models[1:4]}
    found = []
    for changed in (0, 0.1):
        values[1:4] += changed
        accuracies = replace(TABLES.accuracies, values=values.copy())
        write_tables(tmp_path, replace(TABLES, accuracies=accuracies), splits)
        assert script.main(options) == 0
        methods = json.loads(capsys.readouterr().out)['methods']
        found.append(methods['completion']['benchmarks'])
    assert found[0] == found[1]


@pytest.mark.parametrize('more, said', [
    (['--doubles', 'easy=piqa'], "found 'piqa'"),
    (['--own-units', 'piqa=p'], "found 'piqa'"),
    (['--own-units', 'easy=t0', 'easy=t1'], 'benchmarks of --own-units'),
    (['--predict', 'seen'], 'seen in both'),
    (['--predict', 'dev'], "models in split 'dev'"),
])
def test_wrong_options_are_one_line(options, tmp_path, capsys, more, said):
    assert script.main([*options, *more]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count('\n') == 1
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize('text', ['piqa', '=p', 'piqa='])
def test_pairs_need_two_names(options, text, capsys):
    with pytest.raises(SystemExit):
        script.main([*options, '--own-units', text])
    assert f'found {text!r}' in capsys.readouterr().err


@pytest.mark.parametrize('more, family', [
    (['--leave-family-out'], 'family-0'),
    ([], None),
])
def test_benchmarks_without_a_score_to_fit_to_are_left_out(
        options, tmp_path, capsys, more, family):
    """All models with one are of the same family, or are to be predicted."""
    values = TABLES.accuracies.values.copy()
    for m, model in enumerate(TABLES.models):
        kept = (
            TABLES.families[model] == family
            if family else SPLITS[model] == 'test')
        values[m, 0] = values[m, 0] if kept else np.nan
    accuracies = replace(TABLES.accuracies, values=values)
    write_tables(tmp_path, replace(TABLES, accuracies=accuracies), SPLITS)
    options += ['--methods', 'constant', *more]
    assert script.main([*options, '--json']) == 0
    answer = json.loads(capsys.readouterr().out)
    said = 'easy: left out, as no model to fit to was run there.'
    assert answer['warnings'] == [said]
    assert [*answer['methods']['constant']['benchmarks']] == ['hard']
    assert script.main(options) == 0
    assert capsys.readouterr().out.startswith(f'warning: {said}\n')


def test_no_score_to_fit_to(options, tmp_path, capsys):
    nothing = np.full_like(TABLES.accuracies.values, np.nan)
    accuracies = replace(TABLES.accuracies, values=nothing)
    write_tables(tmp_path, replace(TABLES, accuracies=accuracies), SPLITS)
    assert script.main(options) == 2
    assert 'expected a score of a model to fit' in capsys.readouterr().err
