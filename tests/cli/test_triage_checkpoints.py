"""The command line on made-up runs, and its watch as a process."""
import json
import sys

import pytest

from csv_plugin.cli import salience
from csv_plugin.io.predictors import save_predictor
from tests.runs import train
from tests.scripts import check_end
from tests.triage.pretraining import EARLIER, write_runs


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp('world')
    save_predictor(train(), root / 'p.safetensors')
    write_runs(root / 'old', EARLIER)
    write_runs(root / 'new', {'good': 1.8, 'bad': 1.0}, 3)
    return root


def call(world, out, *more, dumps='new', history='old'):
    given = [('--dumps', dumps), ('--history', history)]
    return salience.main([
        'triage', '--predictor',
        str(world / 'p.safetensors'), '--out',
        str(out), *(text for option, name in given if name
                    for text in (option, str(world / name))), *more
    ])


def forecasts(out):
    rows = json.loads((out / 'triage.json').read_text('utf-8'))['forecasts']
    return {(row['run'], row['benchmark']): row for row in rows}


def test_files_and_screen(world, tmp_path, capsys):
    assert call(world, tmp_path / 'out') == 0
    shown = capsys.readouterr().out
    assert 'Forecast at the end of the training, best run first' in shown
    written = f'Written to {tmp_path / "out"}.'
    assert check_end(shown, is_last=True)[-1] == written
    assert (tmp_path / 'out/triage.png').is_file()
    assert forecasts(tmp_path / 'out')['good', 'mean']['best_rank'] == 1


def test_without_history_the_same_call_with_it_is_next(world, tmp_path,
                                                       capsys):
    assert call(world, tmp_path, history=None) == 0
    shown = capsys.readouterr().out
    check_end(shown)
    assert shown.endswith(" --history 'finished/*.safetensors'\n")
    assert 'Give finished runs by --history.' in ' '.join(shown.split())
    assert '=)' not in shown


def test_no_picture_without_matplotlib(world, tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(
        sys.modules, 'csv_plugin.extras.pictures.curves', raising=False)
    for name in list(sys.modules):
        if name.startswith('csv_plugin.extras.pictures'):
            monkeypatch.delitem(sys.modules, name)
        if name.startswith('matplotlib.'):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert call(world, tmp_path) == 0
    assert 'No picture: matplotlib is not' in capsys.readouterr().out
    assert (tmp_path / 'triage.txt').exists()
    assert not (tmp_path / 'triage.png').exists()


def test_json(world, tmp_path, capsys):
    assert call(world, tmp_path, '--json') == 0
    written = (tmp_path / 'triage.json').read_text('utf-8')
    assert json.loads(capsys.readouterr().out) == json.loads(written)


@pytest.mark.parametrize('more, changes, expected', [
    ([], dict(dumps='none'), 'no such file or folder'),
    ([], dict(dumps='old'), 'not in the history'),
    (['--budget', '20'], {},
     'a budget of 35 or more, where its last checkpoint is, found 20.'),
])
def test_bad_input_is_one_line(world, tmp_path, capsys, more, changes,
                               expected):
    assert call(world, tmp_path / 'out', *more, **changes) == 2
    captured = capsys.readouterr()
    error = captured.err.splitlines()[-1]
    assert error.startswith('error: ') and expected in error
    assert not (tmp_path / 'out').exists()
