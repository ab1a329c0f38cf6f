"""Draws of models, and the errors that are counted on families left out."""
from collections import Counter

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from tests.extras.pictures.layout import assert_readable
from tests.tables import small_tables
from tools.studies import models_study as study
from tools.studies.errors_by_models import ModelsStudyRow, models_picture
from tools.studies.tests.small_study import FAMILIES, shrink, small_draws


def test_draws():
    drawn = study.draws(FAMILIES, (0, 1))
    assert len(drawn) == 2 * (len(study.NUMBERS) + len(study.FAMILIES))
    for draw in drawn:
        held = {FAMILIES[model] for model in draw.predicted}
        assert not held & {FAMILIES[model] for model in draw.fitted}
        assert len(draw.predicted) >= study.PREDICTED * len(FAMILIES)
        # Whole families.
        assert {model
                for model in FAMILIES
                if FAMILIES[model] in held} == {*draw.predicted}
    first = [draw for draw in drawn if draw.seed == 0]
    assert len({draw.predicted for draw in first}) == 1
    by_number = [draw.fitted for draw in first if draw.series == 'models']
    assert [len(fitted) for fitted in by_number] == list(study.NUMBERS)
    for fewer, more in zip(by_number, by_number[1:]):
        assert {*fewer} < {*more}
    for draw, n in zip(first[len(by_number):], study.FAMILIES):
        counts = Counter(FAMILIES[model] for model in draw.fitted)
        assert [*counts.values()] == n * [study.FIXED // n]
    assert drawn == study.draws(FAMILIES, (0, 1))
    assert drawn[0].predicted != drawn[len(first)].predicted


def test_errors_are_of_families_left_out(monkeypatch):
    shrink(monkeypatch)
    tables = small_tables(24, n_families=8).only('easy')
    rows = study.models_study(*small_draws(tables))
    assert [(row.series, row.n_models, row.n_families, row.method)
            for row in rows] == [('models', 14, 6, 'ridge'),
                                 ('models', 14, 6, 'mean loss'),
                                 ('families', 6, 2, 'ridge'),
                                 ('families', 6, 2, 'mean loss')]
    assert all(0 < row.mae < 0.2 and 0 < row.width <= 1 for row in rows)
    assert all(0 <= row.coverage <= 1 for row in rows)
    # Half of the units are noise.
    assert rows[0].mae < rows[1].mae


ROWS = [
    ModelsStudyRow(series, n, k, seed, method, mae * (1 + seed), 0.4,
                   0.9 - 0.1 * seed)
    for series, n, k in (('models', 6, 5), ('models', 9, 7),
                         ('families', 12, 4), ('families', 12, 6))
    for seed in range(3)
    for method, mae in (('ridge', 0.02), ('mean loss', 0.03))
]


def test_picture():
    figure = models_picture(ROWS)
    assert_readable(figure)
    left, right = figure.axes
    assert left.get_xlabel() == 'models of all families'
    assert right.get_xlabel() == 'families of 12 models'
    np.testing.assert_allclose(left.lines[0].get_ydata(), [4, 4])
    ends = np.array(left.collections[1].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, [[3.6, 8.4]] * 2)
    with pytest.raises(InputError, match='none'):
        models_picture([])
