"""What `salience status` prints."""
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
    assert lines[-1] == ('Next: opencompass configs/20260101_120000_7.py -r '
                         f'{tmp_path.name} --work-dir {tmp_path.parent}')
    assert [line.split() for line in lines[2:5]] == [
        'a 2 of 2 1 of 1'.split(), 'b 1 of 2 1 of 1'.split(),
        'c 0 of 2 0 of 1'.split()
    ]
    assert lines[6:8] == ['b: hard: not run', 'c: easy, hard: not run']
    assert lines[8].startswith(f'c: {LOSSES}: token losses: expected a dump')


def test_a_whole_run(tmp_path, capsys, monkeypatch):
    write_config(tmp_path, config(['a', 'b'], ['easy', 'hard']))
    write_run(tmp_path, {'a': 1, 'b': 2})
    monkeypatch.chdir(tmp_path)
    assert main(['status', '.']) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == 'Next: salience fit --help'
    lines = check_end(printed)
    assert lines[2].split() == ['a', '2', 'of', '2', '-']
    assert lines[4:] == ['', 'Nothing is missing.']
    # A single model has no next command that would work.
    write_config(tmp_path, config(['a'], ['easy', 'hard']))
    assert main(['status', '.']) == 0
    lines = check_end(capsys.readouterr().out, is_last=True)
    assert lines[-1] == 'Nothing is missing.'
