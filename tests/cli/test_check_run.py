"""What `salience status` prints."""
import json

from csv_plugin.cli.salience import main
from tests.io.runs.test_run_plan import LOSSES, config, write_config
from tests.runs import write_run
from tests.scripts import check_end


def test_table(tmp_path, capsys, monkeypatch):
    write_config(tmp_path, config(['a', 'b', 'c']))
    write_run(tmp_path, {'a': 1, 'b': 2})
    (tmp_path / 'results/b/hard.json').unlink()
    monkeypatch.chdir(tmp_path)
    assert main(['status', '.']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f' -r {tmp_path.name} --work-dir {tmp_path.parent}' in lines[-1]
    assert [line.split() for line in lines[2:5]] == [
        'a 2 of 2 1 of 1'.split(), 'b 1 of 2 1 of 1'.split(),
        'c 0 of 2 0 of 1'.split()
    ]
    assert lines[6:8] == ['b: hard: not run', 'c: easy, hard: not run']
    assert lines[8].startswith(f'c: {LOSSES}: token losses: expected a dump')


def test_json(tmp_path, capsys):
    write_config(tmp_path, config(['a'], ['easy', 'hard']))
    write_run(tmp_path, {'a': 1})
    assert main(['status', str(tmp_path), '--json']) == 0
    assert json.loads(capsys.readouterr().out) == {
        'complete': True,
        'models': {
            'a': ['easy', 'hard']
        },
        'missing': []
    }
    assert main(['status', str(tmp_path)]) == 0
    lines = check_end(capsys.readouterr().out)
    assert lines[2].split() == ['a', '2', 'of', '2', '-']
    assert lines[3:] == ['', 'Nothing is missing.']


def test_models_of_a_list(tmp_path, capsys):
    models, out = tmp_path / 'models.txt', tmp_path / 'out'
    models.write_text('dir/a\n\nb=dir/other/\nc@1=x\n')
    out.mkdir()
    for name in ('a', 'c@1'):
        (out / f'{name}.safetensors').write_bytes(b'x')
    assert main(['status', str(out), '--list', str(models)]) == 0
    assert check_end(capsys.readouterr().out) == [
        '2 of 3 models have a dump.', 'Without one: b'
    ]
    assert main(['status', str(out), '--list', str(models), '--json']) == 0
    assert json.loads(capsys.readouterr().out) == {
        'complete': False,
        'models': ['a', 'b', 'c@1'],
        'missing': ['b']
    }
    assert main(['status', str(models), '--list', str(models)]) == 2
    assert 'expected a folder with dumps' in capsys.readouterr().err
