"""Decisions between two models, on screen, for programs and by exit code."""
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from csv_plugin.cli.salience import main
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from tests.runs import dump, model_losses, train, write_run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Dumps of two models, a table of losses, and one of answers."""
    monkeypatch.chdir(tmp_path)
    save_predictor(train(), 'p.safetensors')
    for name, skill in (('old', 0.5), ('new', 1.5)):
        write_dump(f'{name}.safetensors', dump('model', model_losses(skill)))
    (tmp_path / 'losses.csv').write_text(
        'model,web/1,web/2,code/1,code/2\nold,2,3,1,4\nnew,1,2.1,0.1,2.9\n'
        'odd,3,2,5,1\nseed:1,2,3,1,4\nseed:2,3,4,2,5\n')
    lines = [
        'model,' + ','.join(f'easy/{i}' for i in range(1000)) + ',x/1,x/2'
    ]
    for name, period in (('old', 2), ('new', 3), ('same', 2)):
        answers = [str(int(i % period > 0)) for i in range(1002)]
        lines.append(','.join([name, *answers]))
    (tmp_path / 'answers.csv').write_text('\n'.join(lines))
    return tmp_path


def write_seeds():
    rows = [
        f'{name}{i},{share + i / 100},0.5'
        for name, share in (('s', .4), ('t', .5)) for i in (1, 2, 3)
    ]
    Path('seeds.csv').write_text('\n'.join(['model,x,y', *rows]))


def call(*options):
    return main(['compare', *options])


ANSWERS = '--answers', 'answers.csv:old', 'answers.csv:new'
DUMPS = 'old.safetensors', 'new.safetensors'


def row_of(lines, name):
    return next(line for line in lines if line.startswith(f'{name} ')).split()


def test_the_verdict_comes_before_the_tables(folder, capsys):
    save_predictor(train(('easy', ), shift=99), 'chance.safetensors')
    assert call(*DUMPS, '--predictor', 'chance.safetensors') == 0
    assert '* easy: not predictable yet, so no' in capsys.readouterr().out
    assert call(*DUMPS, *ANSWERS, '--by', 'easy') == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert all(len(line) <= 100 for line in lines)
    names, verdict, *_ = shown.split('\n\n')
    assert names == 'A: old.safetensors\nB: new.safetensors'
    verdict = ' '.join(verdict.split())
    assert verdict.startswith('B is better than A: accuracy on easy +16.60 ')
    assert '. By loss: B is better than A: mean loss -' in verdict
    row = row_of(lines[lines.index('Items'):], 'easy')
    assert row[1:6] == ['1000', '50.0', '%', '66.6', '%']


def test_lines_fit_the_terminal(folder, capsys, monkeypatch):
    options = *DUMPS, *ANSWERS, '--predictor', 'p.safetensors'
    for columns, widest in (('60', 60), ('300', 100)):
        monkeypatch.setenv('COLUMNS', columns)
        call(*options)
        lines = capsys.readouterr().out.splitlines()
        assert widest - 10 < max(map(len, lines)) <= widest


def test_answers_beside_predictions_and_runs(folder, capsys):
    """Items that are needed, what the prediction is worth, and noise."""
    seeds = 'seed-1.safetensors', 'seed-2.safetensors'
    for name, skill in zip(seeds, (0.5, 1.5)):
        write_dump(name, dump('model', model_losses(skill)))
    options = (*DUMPS, *ANSWERS, '--predictor', 'p.safetensors', '--margin',
               '2', '--same-recipe', *seeds, '--by', 'easy')
    assert call(*options) == call(*options, '--json')
    shown, _, content = capsys.readouterr().out.partition('\n{')
    content = json.loads('{' + content)
    predicted, observed = (
        next(part for part in content['differences']
             if (part['kind'], part['benchmark']) == (kind, 'easy'))
        for kind in ('predicted', 'observed'))
    easy, _ = content['answers']
    # Errors fall with the square root of the number of items.
    error = observed['errors']['items']
    power = stats.norm.ppf(.975) + stats.norm.ppf(.8)
    assert easy['noise'] == error
    assert power * error * (1000 / easy['needed'])**.5 == pytest.approx(.02)
    assert error * (1000 / easy['worth'])**.5 == pytest.approx(
        predicted['errors']['predictor'])
    lines = shown.splitlines()
    items = lines[lines.index('Items'):]
    assert row_of(items, 'easy')[-2:] == [
        f'{easy[name]:.0f}' for name in ('needed', 'worth')
    ]
    assert row_of(items, 'x')[-1] == '-'
    # Noise of runs is known of predicted benchmarks alone.
    observed = lines[lines.index('Observed accuracy, points'):]
    assert row_of(observed, 'easy')[-1] != '-' == row_of(observed, 'x')[-1]


@pytest.mark.parametrize('a, b, code, verdict', [
    ('losses.csv:old', 'losses.csv:new', 0, 'better'),
    ('losses.csv:new', 'losses.csv:old', 3, 'worse'),
    ('losses.csv:old', 'losses.csv:seed:1', 4, 'no_difference'),
    ('losses.csv:old', 'losses.csv:odd', 5, 'cannot_tell'),
])
def test_exit_codes_and_the_line(folder, capsys, a, b, code, verdict):
    assert call(a, b, '--line') == code
    line, = capsys.readouterr().out.splitlines()
    fields = dict(field.split('=') for field in line.split())
    assert fields['verdict'] == verdict and fields['by'] == 'loss'
    assert fields['noise'] == 'texts' and fields['level'] == '95'
    assert (fields['a'], fields['b']) == (a, b)
    low, value, high = (
        float(fields[name]) for name in ('low', 'difference', 'high'))
    assert low <= value <= high


def table_predictor(folder, n_columns):
    """Losses of models, and a predictor that was fitted to some of them."""
    rng = np.random.default_rng(0)
    noise = .02 * rng.normal(size=(20, n_columns))
    losses = np.linspace(3, 1, 20)[:, None] + noise
    features = FeatureTable.of_losses([f'm{i}' for i in range(20)],
                                      [f'c{k}' for k in range(n_columns)],
                                      losses)
    score = 1 / (1 + np.exp(4 * losses.mean(axis=1) - 8))
    fitted = features.models[:18]
    accuracies = AccuracyTable(fitted, ('exam', ), score[:18, None],
                               np.zeros(1), np.zeros(1, int))
    predictor = fit_predictor(features, accuracies,
                              [f'f{i % 6}' for i in range(18)])
    save_predictor(predictor, folder / 'table.safetensors')
    write_csv(folder / 'table.csv', ('model', *features.columns.units),
              ((m, *row) for m, row in zip(features.models, losses.tolist())))


@pytest.mark.slow
@pytest.mark.parametrize('n_columns', [1, 3])
def test_tables_and_their_predictor(folder, capsys, n_columns):
    """A single column has no noise of texts; a predictor has its own."""
    table_predictor(folder, n_columns)
    tables = 'table.csv:m2', 'table.csv:m9', '--predictor', 'table.safetensors'
    assert call(*tables, '--json') == 0
    found = json.loads(capsys.readouterr().out)
    decisive = found['decisive']
    assert (decisive['kind'], decisive['verdict']) == ('predicted', 'better')
    expected = np.diff(1 / (1 + np.exp(4 * np.linspace(3, 1, 20) - 8))[[2, 9]])
    assert decisive['value'] == pytest.approx(expected[0], abs=.05)
    kinds = {part['kind'] for part in found['differences']}
    of_losses = {'loss'} if n_columns > 1 else set()
    assert kinds == {'predicted'} | of_losses
    unknown = any('a single loss for each model' in note
                  for note in found['notes'])
    assert unknown == (n_columns == 1)
    assert call(*tables, '--by', 'loss') == (2 if n_columns == 1 else 0)


def test_one_column_without_a_predictor(folder, capsys):
    table_predictor(folder, 1)
    tables = 'table.csv:m2', 'table.csv:m9'
    assert call(*tables) == 2
    assert 'two or more, found 1' in capsys.readouterr().err
    runs = '--same-recipe', 'table.csv:m3', 'table.csv:m4', 'table.csv:m5'
    assert call(*tables, *runs, '--line') == 5
    assert 'noise=runs' in capsys.readouterr().out


def test_differences_that_cannot_be_detected(folder, capsys):
    """Three items cannot tell any two models apart."""
    (folder / 'few.csv').write_text('model,x/1,x/2,x/3\na,1,0,0\nb,0,1,1\n')
    grades = '--answers', 'few.csv:a', 'few.csv:b'
    assert call(*grades) == 5
    lines = capsys.readouterr().out.splitlines()
    assert ' none ' in next(line for line in lines if line.startswith('x '))
    assert 'None: no difference can be detected' in ' '.join(lines)
    assert call(*grades, '--json') == 5
    found = json.loads(capsys.readouterr().out)
    assert found['decisive']['detectable'] is None
    # More items would do.
    assert found['answers'][0]['needed'] > 1000


def test_several_runs_of_each(folder, capsys):
    """By losses, and by accuracies alone; the verdict is about recipes."""
    old, new = ([f'losses.csv:{name}' for name in names]
                for names in (('old', 'seed:1'), ('new', 'odd')))
    assert call(*old, '--against', *new, '--json') == 5
    found = json.loads(capsys.readouterr().out)
    assert found['about'] == 'recipes' and found['runs']['b'] == new
    assert [*found['decisive']['errors']] == ['texts', 'runs']
    write_seeds()
    names = 's1', 's2', 's3', '--against', 't1', 't2', 't3'
    scores = '--accuracies', 'seeds.csv'
    assert call(*names, *scores, '--line') == 0
    line = capsys.readouterr().out
    assert ' about=recipes ' in line and ' noise=runs ' in line
    assert call('s1', 's2', '--against', 's3', *scores) == 5
    assert 'PLACE:' not in capsys.readouterr().out


def test_means_in_a_table_of_accuracies_are_no_benchmarks(folder, capsys):
    write_seeds()
    lines = Path('seeds.csv').read_text().splitlines()
    Path('more.csv').write_text('\n'.join(
        [f'{lines[0]},mean', *(f'{line},0.9' for line in lines[1:])]))
    names = 's1', 's2', 's3', '--against', 't1', 't2', 't3'
    assert call(*names, '--accuracies', 'seeds.csv', '--json') == 0
    plain = json.loads(capsys.readouterr().out)
    with pytest.warns(UserWarning, match="left out: 'mean' .means over other"):
        assert call(*names, '--accuracies', 'more.csv', '--json') == 0
    assert json.loads(capsys.readouterr().out) == plain


def test_accuracies_of_runs_beside_their_losses(folder, capsys):
    """Names of dumps are those of models in the table."""
    (folder /
     'seeds.csv').write_text('model,easy\nold,0.4\nnew,0.6\nagain,0.62\n')
    write_dump('again.safetensors', dump('model', model_losses(1.6)))
    runs = DUMPS[0], '--against', DUMPS[1], 'again.safetensors'
    assert call(*runs, '--accuracies', 'seeds.csv', '--predictor',
                'p.safetensors', '--json') in (0, 5)
    found = json.loads(capsys.readouterr().out)
    kinds = {part['kind'] for part in found['differences']}
    assert kinds == {'loss', 'predicted', 'observed'}
    assert found['about'] == 'recipes'


@pytest.mark.parametrize('n_items, code', [(100, 5), (10_000, 0)])
def test_single_runs_by_their_numbers_of_items(folder, capsys, n_items, code):
    """A table of benchmarks has them, and says what the mean is over."""
    write_seeds()
    Path('benchmarks.csv').write_text(
        'benchmark,chance,n_items,main\n'
        f'x,0.25,{n_items},1\ny,0.25,{n_items},0\n')
    assert call('s1', 't1', '--accuracies', 'seeds.csv', '--benchmarks',
                'benchmarks.csv', '--json') == code
    found = json.loads(capsys.readouterr().out)
    of_x, of_y = found['differences']
    assert found['decisive'] == of_x
    assert of_x['errors']['items'] == pytest.approx(
        np.sqrt((.41 * .59 + .51 * .49) / n_items))
    assert of_y['value'] == 0


def test_level_and_margin(folder, capsys):
    answers = *ANSWERS[:2], 'answers.csv:same', '--by', 'easy'
    assert call(*answers) == 4
    assert call(*answers, '--margin', '0.01') == 5
    assert call('losses.csv:odd', 'losses.csv:new', '--level', '30') == 0
    (folder / 'more.csv').write_text((folder / 'losses.csv').read_text())
    assert call('losses.csv:old', 'more.csv:new') == 0
    # Items without a benchmark are of the file's.
    (folder / 'an exam.csv').write_text('model,1,2\na,1,0\nb,1,1\n')
    grades = '--answers', 'an exam.csv:a', 'an exam.csv:b'
    assert call(*grades, '--by', 'an exam', '--line') == 5
    assert " by='an exam' kind=" in capsys.readouterr().out


def test_runs_of_opencompass_and_folders(folder, capsys):
    write_run('run', {'a': 0.3, 'b': 1.8})
    options = '--predictor', 'p.safetensors', '--by', 'loss', '--line'
    assert call('run:a', 'run:b', *options) == 0 == call('run:a', 'run:b')
    (folder / 'dumps').mkdir()
    (folder / 'new.safetensors').rename('dumps/new.safetensors')
    assert call('dumps', 'old.safetensors', *options) == 3


def test_models_of_one_table_may_differ_as_they_like(folder):
    """Of two tables, it would be a sign of two units."""
    path = folder / 'far.csv'
    path.write_text('model,web/1,web/2\nold,9,9.5\nnew,1,1.1\n')
    assert call('far.csv:old', 'far.csv:new') == 0
    assert call(f'{folder}/far.csv:old', 'far.csv:new') == 2


def test_records_of_two_tables_are_compared(folder, capsys):
    """Each alone was imported without a warning."""
    for name, shots, template in (('a', 0, 'none'), ('b', 0, 'some'),
                                  ('c', 5, 'some')):
        (folder / name).mkdir()
        (folder / name / 'losses.csv').write_text('model,arc|1,arc|2\nm,2,3\n')
        facts = {
            'number of few-shot examples': shots,
            'chat template': template,
            'revision': name
        }
        (folder / name / 'measured.json').write_text(
            json.dumps([dict(name='m', task='arc', file='f', facts=facts)]))
    a, b, c = (f'{name}/losses.csv:m' for name in 'abc')
    with pytest.warns(UserWarning, match=f'none of {a}, some of {b}'):
        assert call(a, b) == 4
    assert call(b, c) == 2
    assert f'0 of {b}, 5 of {c}' in capsys.readouterr().err


def test_tasks_are_those_of_the_harness(folder, capsys):
    assert call(*ANSWERS, '--tasks', 'easy') == 2
    assert 'none of --tasks' in capsys.readouterr().err


@pytest.mark.parametrize('places, message', [
    (['old.safetensors'], 'PLACE: expected two'),
    (['run:', 'old.safetensors'], 'one of the models, found a, b'),
    (['new.safetensors:mine', 'old.safetensors'], 'the models, found new'),
    (['none.safetensors', 'old.safetensors'], 'Check the path'),
    (['losses.csv:mine', 'losses.csv:old'
      ], 'one of the models, found new, seed:1'),
    (['losses.csv', 'losses.csv:old'], 'one of the models, found old'),
    (['--answers', 'answers.csv:old', 'answers.csv:mine'
      ], 'one of the models, found new, same, old'),
    (['losses.csv:old', 'bits.csv:new'],
     'losses.csv:old beside bits.csv:new: expected losses in the same unit, '
     'found mean losses of 2.5 and 1.2. '),
    (['losses.csv:old', 'few.csv:new'
      ], 'few.csv:new beside losses.csv:old: expected tables with the same '
     "columns of losses, found the column 'code/2' in place of 'code/1'."),
    ([], 'losses, answers or accuracies'),
    (['old', 'new'], 'old: expected a dump, a folder with a dump, or '
     'TABLE:MODEL, found no such file or folder. Check the path: write a file '
     'such as outputs/losses/MODEL.safetensors, or TABLE.csv:MODEL for'),
    ([*DUMPS, '--predictor', 'chance.safetensors', '--by', 'easy'
      ], "--by: expected a benchmark that can be predicted, found 'easy', on "
     'which all training models are at chance, or all at 100 %. Give'),
    (['--against', 'losses.csv:old'], 'none beside --against'),
    (['losses.csv:old', 'losses.csv:new', 'losses.csv:odd'
      ], 'PLACE: expected two places, A and B, found 3. '),
    (['seed-1', 'gone', '--accuracies', 'seeds.csv'
      ], 'gone in seeds.csv: expected PLACE:MODEL with one of the models'),
    ([
        'seed-1', 'seed-2', '--accuracies', 'seeds.csv', '--same-recipe', 'x',
        'y'
    ], 'accuracies without losses: expected none of --same-recipe'),
    (['--accuracies', 'seeds.csv'], 'the runs of A and B beside it'),
    (['--level', '0.95'], 'a percentage from 1 to below 100'),
    (['seed-1', 'seed-2', '--accuracies', 'seeds.csv', '--margin', '100'
      ], '--margin: expected points of accuracy below 100'),
    (['losses.csv:old', 'losses.csv:new', '--against', 'losses.csv:new'
      ], "--against: expected runs that are not also runs of A, found "
     "'losses.csv:new'"),
    (['losses.csv:old', '--against', './losses.csv:old'
      ], '--against: expected runs that are not also runs of A'),
    ([
        'losses.csv:old', 'losses.csv:new', '--same-recipe', 'losses.csv:odd',
        './losses.csv:new'
    ], '--same-recipe: expected further runs, not runs of A or B, found '
     "'./losses.csv:new'"),
    (['losses.csv:old', 'losses.csv:new', '--benchmarks', 'x.csv'
      ], 'no --accuracies: expected none of --benchmarks'),
    (['seed-1', 'seed-2', '--accuracies', 'seeds.csv'
      ], 'or the number of items in a table (--benchmarks).'),
    ([
        'losses.csv:old', 'losses.csv:new', '--predictor', 'p.safetensors',
        '--by', 'loss', '--line', '--margin', '2'
    ], '--by loss --line: expected none of --margin'),
    (['--answers', 'answers.csv:old', 'empty.csv:new'
      ], 'and B answered items of no benchmark'),
])
def test_what_cannot_be_compared(folder, capsys, places, message):
    write_run('run', {'a': 0.3, 'b': 1.8})
    save_predictor(train(('easy', ), shift=99), 'chance.safetensors')
    (folder / 'seeds.csv').write_text('model,x\nseed-1,0.5\nseed-2,0.6\n')
    (folder / 'empty.csv').write_text('model,easy/1\nnew,\nold,1\n')
    names = 'model,web/1,web/2,code/1,code/2'
    (folder / 'bits.csv').write_text(f'{names}\nnew,1.2,1.5,.5,1.6\n')
    (folder / 'few.csv').write_text('model,web/1,web/2,code/2\nnew,2,3,4\n')
    assert call(*places) == 2
    assert message in capsys.readouterr().err
