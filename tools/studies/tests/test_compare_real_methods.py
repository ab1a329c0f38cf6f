"""The comparison on real models runs on tables of the same form."""
import csv
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from csv_plugin.io.tables import write_csv
from tests.tables import small_tables, write_tables
from tools.studies import compare_real_methods as script

TABLES = small_tables(12, n_families=6).only('easy', 'hard')
SPLITS = {
    model: ('train', 'val', 'test')[m % 3]
    for m, model in enumerate(TABLES.models)
}


@pytest.fixture
def real(tmp_path, monkeypatch) -> Path:
    """Small tables in the place of both collections."""
    items = tmp_path / 'gemstones'
    items.mkdir()
    for folder in (tmp_path, items):
        write_tables(folder, TABLES, SPLITS)
    save_file({'losses': TABLES.features.values.astype(np.float16)},
              items / 'losses.safetensors',
              {'models': json.dumps(TABLES.models)})
    (items / 'units.txt').write_text('easy/0\neasy/1\nhard/0\nhard/1\n')
    write_csv(items / 'models.csv',
              ('model', 'family', 'split', 'run', 'tokens'),
              ((model, TABLES.families[model], SPLITS[model], f'{2**m}x3', 1e9)
               for m, model in enumerate(TABLES.models)))
    monkeypatch.setattr(script, 'REAL', tmp_path)
    monkeypatch.setattr(script, 'DOUBLES', ('easy=hard', ))
    monkeypatch.setattr(script, 'OWN_UNITS', ('hard=easy', ))
    return tmp_path


@pytest.mark.long
def test_one_table_of_three_comparisons(real, capsys):
    script.main([
        '--out', f'{real / "out"}', '--', '--methods', 'constant', 'ladder',
        'completion'
    ])
    printed = capsys.readouterr().out
    table = {
        line.split('|')[1].strip(): [cell.strip() for cell in line.split('|')]
        for line in printed.splitlines()[-5:]
    }
    with (real / 'out/gemstones/methods.csv').open(newline='') as file:
        rows = {row['method']: row for row in csv.DictReader(file)}
    assert table['ladder'][3] == f'{1e3 * float(rows["ladder"]["mse"]):.3f}'
    assert table['ladder'][6:12] == ['-'] * 6
    # There they are no doubles.
    assert table['completion'][3] != '-' and table['completion'][6] == '-'
    assert '4 models predicted from 8' in printed
    assert '12 models, each predicted from other families' in printed
    with (real / 'out/gemstones.csv').open(newline='') as file:
        sizes = [float(row['params_b']) for row in csv.DictReader(file)]
    assert sizes[1] == 12e-9 * 2**2 * 3 and sizes[2] == 4 * sizes[1]
