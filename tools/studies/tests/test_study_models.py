"""The study of numbers of models: draws, and errors on families left out."""
from collections import Counter

import numpy as np
import pytest

from tests.extras.pictures.layout import assert_readable
from tests.tables import small_tables, write_tables
from tools.studies import study_models as study

#: Family of each of 90 models.
FAMILIES = {f'm{i}': f'f{i % 20}' for i in range(90)}


def test_draws():
    drawn = [*study.draws(FAMILIES, 0)]
    assert drawn == [*study.draws(FAMILIES, 0)]
    assert len(drawn) == len(study.NUMBERS) + len(study.FAMILIES)
    assert len({draw.predicted for draw in drawn}) == 1
    held = {FAMILIES[model] for model in drawn[0].predicted}
    whole = {model for model in FAMILIES if FAMILIES[model] in held}
    assert whole == {*drawn[0].predicted}
    assert len(whole) >= study.PREDICTED * len(FAMILIES)
    assert not any(whole & {*draw.fitted} for draw in drawn)
    by_number = [draw.fitted for draw in drawn if draw.series == 'models']
    assert [len(fitted) for fitted in by_number] == list(study.NUMBERS)
    for fewer, more in zip(by_number, by_number[1:]):
        assert {*fewer} < {*more}
    for draw, n in zip(drawn[len(by_number):], study.FAMILIES):
        counts = Counter(FAMILIES[model] for model in draw.fitted)
        assert [*counts.values()] == n * [study.FIXED // n]


ROWS = [
    study.Row(series, n, k, seed, method, mae * (1 + seed), 0.4,
              0.9 - 0.1 * seed)
    for series, n, k in (('models', 6, 5), ('models', 9, 7), ('models', 12, 8),
                         ('families', 12, 4), ('families', 12, 6))
    for seed in range(3)
    for method, mae in (('salience', 0.02), ('mean loss', 0.03))
]


def test_picture():
    figure = study.models_picture(ROWS)
    assert_readable(figure)
    axes, = figure.axes
    assert axes.get_title('left') == '4.0 points from 6 models, 4.0 from 9'
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [4, 4, 4])
    ends = np.array(axes.collections[1].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, [[3.6, 8.4]] * 3)


@pytest.fixture
def options(tmp_path):
    tables = small_tables(24, n_families=8).only('easy')
    return [
        *write_tables(tmp_path, tables, dict.fromkeys(tables.models, 'train')),
        '--draws=1', f'--out={tmp_path / "new/out"}'
    ]


@pytest.mark.slow
def test_errors_are_of_families_left_out(options, capsys, monkeypatch):
    monkeypatch.setattr(study, 'NUMBERS', (12, 14))
    monkeypatch.setattr(study, 'FIXED', 6)
    monkeypatch.setattr(study, 'FAMILIES', (2, ))
    assert study.main(options) == 0
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:2] for row in rows] == [['12', 'all'], ['14', 'all'],
                                         ['6', '2']]
    # Half of the units are noise.
    ours, mean_loss = (float(cell.split()[0]) for cell in rows[1][2:4])
    assert 0 < ours < mean_loss < 20


def test_too_few_models(options, capsys):
    assert study.main(options) == 2
    assert '48 to fit to' in capsys.readouterr().err
