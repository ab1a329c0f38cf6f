"""The command line: what it writes, and what it says of bad input."""
import csv
import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / 'tools/study_texts.py'


def load_script():
    spec = importlib.util.spec_from_file_location('study_texts', SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()


def test_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(script, 'FIXED', 5)
    out = tmp_path / 'new/out'
    assert script.main(
        ['--texts', '5', '10', '--draws', '1', '--out',
         str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        'texts.csv', 'texts.png', 'texts.svg'
    ]
    with (out / 'texts.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [
        (row['series'], row['n_texts'], row['n_sources']) for row in rows[::6]
    ] == [('texts', '5', '5'), ('texts', '10', '5'),
          *(('sources', '5', str(n)) for n in range(1, 6))]
    assert all(0 < float(row['mse']) < 1 for row in rows)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 + 7 and 'groups, ridge' in printed[0]


def test_bad_numbers(tmp_path, capsys):
    out = tmp_path / 'out'
    assert script.main(['--texts', '300', '--out', str(out)]) == 2
    assert '1 to 50 of' in capsys.readouterr().err
    assert not out.exists()


def test_file_in_the_way(tmp_path, capsys):
    (tmp_path / 'out').write_text('')
    assert script.main(['--out', str(tmp_path / 'out')]) == 2
    assert 'the file' in capsys.readouterr().err


@pytest.mark.parametrize('arguments', [[], ['--texts', 'many', '--out', 'x']])
def test_usage(arguments):
    with pytest.raises(SystemExit):
        script.main(arguments)
