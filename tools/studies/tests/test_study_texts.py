"""The study of texts: what it writes, and what it says of bad input."""
import csv

import pytest

from tools.studies import study_texts as script


@pytest.mark.long
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
