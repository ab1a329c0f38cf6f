"""Decisions between two models, on screen, for programs and by exit code."""
import json

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.predictors import save_predictor
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
    lines = ['model,' + ','.join(f'easy/{i}' for i in range(1000))]
    for name, period in (('old', 2), ('new', 3), ('same', 2)):
        lines.append(name + ''.join(f',{int(i % period > 0)}'
                                    for i in range(1000)))
    (tmp_path / 'answers.csv').write_text('\n'.join(lines))
    return tmp_path


def call(*options):
    return main(['compare', *options])


def test_tables_end_with_a_sentence(folder, capsys):
    assert call('old.safetensors', 'new.safetensors', '--answers',
                'answers.csv:old', 'answers.csv:new') == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['A: old.safetensors', 'B: new.safetensors']
    assert all(len(line) <= 100 for line in lines)
    assert lines[-1].startswith('B is better than A: accuracy on easy +16.60 '
                                'points (')
    row = next(line for line in lines if line.startswith('easy   1000'))
    assert row.split()[2:6] == ['50.0', '%', '66.6', '%']


def test_items_that_are_needed_and_what_the_prediction_is_worth(
        folder, capsys):
    options = ('old.safetensors', 'new.safetensors', '--answers',
               'answers.csv:old', 'answers.csv:new', '--predictor',
               'p.safetensors', '--margin', '2')
    assert call(*options) == call(*options, '--json') == 0
    shown, _, content = capsys.readouterr().out.partition('\n{')
    content = json.loads('{' + content)
    predicted, observed = (
        next(part for part in content['differences']
             if (part['kind'], part['benchmark']) == (kind, 'easy'))
        for kind in ('predicted', 'observed'))
    items, = content['answers']
    # Errors fall with the square root of the number of items.
    assert observed['detectable'] * (
        1000 / items['needed'])**.5 == pytest.approx(0.02)
    assert observed['error'] * (1000 / items['worth'])**.5 == pytest.approx(
        predicted['error'])
    row = next(line for line in shown.splitlines()
               if line.startswith('easy   1000'))
    assert row.split()[-2:] == [
        f'{items[name]:.0f}' for name in ('needed', 'worth')
    ]


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
    assert fields['noise'] == 'texts'
    assert (fields['a'], fields['b']) == (a, b)
    low, value, high = (
        float(fields[name]) for name in ('low', 'difference', 'high'))
    assert low <= value <= high


def test_noise_of_runs_is_known_of_predicted_benchmarks_alone(folder, capsys):
    text = (folder / 'answers.csv').read_text()
    (folder / 'answers.csv').write_text(
        text.replace('easy/999', 'other/1').replace('easy/998', 'other/2'))
    dumps = 'old.safetensors', 'new.safetensors'
    call(*dumps, '--predictor', 'p.safetensors', '--answers',
         'answers.csv:old', 'answers.csv:new', '--same-recipe', *dumps)
    shown = capsys.readouterr().out.partition('Observed accuracy, points')[2]
    easy, other = (
        next(line for line in shown.splitlines() if line.startswith(name))
        for name in ('easy', 'other'))
    assert easy.split()[-1] != '-' and other.split()[-1] == '-'


def test_level_and_margin(folder, capsys):
    answers = '--answers', 'answers.csv:old', 'answers.csv:same', '--line'
    assert call(*answers) == 4
    assert call(*answers, '--margin', '0.01') == 5
    assert call('losses.csv:odd', 'losses.csv:new', '--level', '30') == 0


def test_runs_of_opencompass_and_folders(folder, capsys):
    write_run('run', {'a': 0.3, 'b': 1.8})
    options = '--predictor', 'p.safetensors', '--by', 'loss', '--line'
    assert call('run:a', 'run:b', *options) == 0
    (folder / 'dumps').mkdir()
    (folder / 'new.safetensors').rename('dumps/new.safetensors')
    assert call('dumps', 'old.safetensors', *options) == 3


@pytest.mark.parametrize('places, message', [
    (['old.safetensors'], 'PLACE: expected two'),
    (['run', 'old.safetensors'], 'one model, found a, b'),
    (['run:c', 'old.safetensors'], 'losses of c'),
    (['none.safetensors', 'old.safetensors'], 'Check the path'),
    (['losses.csv:mine', 'losses.csv:old'], 'one of the models, found old'),
    (['losses.csv', 'losses.csv:old'], 'one of the models, found old'),
    (['--answers', 'answers.csv:old', 'answers.csv:mine'
      ], 'one of the models, found old, new, same'),
    ([], 'losses or answers'),
])
def test_what_cannot_be_compared(folder, capsys, places, message):
    write_run('run', {'a': 0.3, 'b': 1.8})
    assert call(*places) == 2
    assert message in capsys.readouterr().err
