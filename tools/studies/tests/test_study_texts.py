"""The study of texts: what it writes, and what it says of bad input."""
import csv

import pytest

from tools.studies import study_texts as script


@pytest.mark.slow
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


def test_file_in_the_way(tmp_path, capsys):
    (tmp_path / 'out').write_text('')
    assert script.main(['--out', str(tmp_path / 'out')]) == 2
    assert 'the file' in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize('number, says', [('3', 'found 3'),
                                          ('300', 'found 300')])
def test_bad_numbers(tmp_path, capsys, number, says):
    out = tmp_path / 'out'
    assert script.main(['--texts', number, '--out', str(out)]) == 2
    assert f'5 to 250 of 5 sources, {says}' in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_a_number_given_twice_counts_once(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(script, 'draws', lambda _, *numbers: asked.extend(
        numbers) or [])  # yapf: disable
    # No rows, no picture.
    assert script.main(
        ['--texts', '50', '10', '50', '--out',
         str(tmp_path / 'out')]) == 2
    assert asked == [(50, 10), 50, range(10)]


@pytest.mark.parametrize(
    'arguments',
    [[], ['--texts', 'many', '--out', 'x'], ['--texts', '0', '--out', 'x'],
     ['--texts', '-5', '--out', 'x'], ['--draws', '0', '--out', 'x']])
def test_usage(arguments):
    with pytest.raises(SystemExit):
        script.main(arguments)
