"""The predictor that ships for bits per character, and its page's figures."""
import csv
import json
from pathlib import Path

import numpy as np
import pytest

from csv_plugin import data
from csv_plugin.cli import salience
from csv_plugin.io.predictors import load_predictor

DATA = Path(*data.__path__)
SHIPPED = DATA / 'bits_per_character.safetensors'
#: Mean absolute errors that the page states, in points.
ERRORS = {
    'MMLU': 4.1,
    'ARC-C': 1.8,
    'HellaSwag': 1.2,
    'Winograd': 1.7,
    'TruthfulQA': 5.8,
    'GSM8K': 8.0,
    'XWinograd': 1.2,
    'HumanEval': 3.0
}


def test_a_table_is_predicted(tmp_path, capsys):
    """Bits per character as the README of OpenCompass's dataset has them."""
    table = tmp_path / 'bpc.csv'
    table.write_text('model,cc,python,arxiv_math\n'
                     'qwen1.5-7b-hf,0.6658,0.2935,0.4500\n')
    assert salience.main([
        'predict', '--losses',
        str(table), '--predictor',
        str(SHIPPED), '--json'
    ]) == 0
    rows = {
        row['benchmark']: row
        for row in json.loads(capsys.readouterr().out)['rows']
    }
    assert [*rows] == [*ERRORS]
    assert not any(row['extrapolated'] for row in rows.values())
    # Its observed accuracy is 53.5 %.
    assert 0 < rows['GSM8K']['low'] < 53.5 < rows['GSM8K']['high'] < 90


@pytest.mark.slow
def test_the_shipped_predictor_is_what_the_command_makes(tmp_path):
    """And its errors on families left out are those of the page."""
    assert not salience.main([
        'fit', *(f'--{name}={DATA}/bits_per_character_{name}.csv'
                 for name in ('losses', 'scores', 'models', 'benchmarks')),
        '--fit', 'public', '--predict', 'public', '--leave-family-out',
        '--out',
        str(tmp_path)
    ])
    errors, covered = {}, []
    with open(tmp_path / 'predictions.csv', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['observed']:
                observed, value, low, high = (
                    float(row[part])
                    for part in ('observed', 'predicted', 'low', 'high'))
                errors.setdefault(row['benchmark'],
                                  []).append(abs(observed - value))
                covered.append(low <= observed <= high)
    assert {
        name: round(100 * np.mean(sizes), 1)
        for name, sizes in errors.items()
    } == ERRORS
    assert 0.85 <= np.mean(covered) <= 0.97
    made = load_predictor(tmp_path / 'predictor.safetensors')
    ours = load_predictor(SHIPPED)
    assert made.columns.units == ours.columns.units
    # Hyper-parameters depend on the processor by some 1e-5: points do not.
    new, old = made.predict_left_out(), ours.predict_left_out()
    for field in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            getattr(new, field), getattr(old, field), rtol=0, atol=1e-5)
    for new, old in zip(made.benchmarks, ours.benchmarks, strict=True):
        for field in ('benchmark', 'chance', 'n_items', 'fit_models',
                      'at_chance', 'notes'):
            assert getattr(new, field) == getattr(old, field)
