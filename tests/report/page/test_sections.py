"""Heat maps and training models, or why there are none."""
import math
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.report.page.sections import HeatMaps, fitted_on, heat_sections
from tests.runs import OTHER_TEXTS, TEXTS, train


def test_why_there_are_no_heat_maps():
    predictor = train()
    assert '--predictor' in heat_sections(None, None)
    assert '--texts' in heat_sections(predictor, None)
    of_tables = replace(predictor, targets=None, matrix=None)
    assert 'tables' in heat_sections(of_tables, TEXTS)
    with pytest.raises(InputError, match=OTHER_TEXTS.fingerprint):
        heat_sections(predictor, OTHER_TEXTS)


def test_heat_maps_of_each_benchmark():
    predictor = train()
    for section in heat_sections(predictor, TEXTS):
        weights = predictor.token_weights(section.benchmark)
        assert section.full == pytest.approx(
            np.quantile(np.abs(weights), 0.99))
        assert len(section.maps) == 3 and not section.rising


@pytest.mark.parametrize('weight, level', [(0, ''), (math.nan, ''),
                                           (0.01, 'p1'), (0.25, 'p1'),
                                           (0.26, 'p2'), (2, 'p8'), (50, 'p8'),
                                           (-0.01, 'n1'), (-1, 'n4'),
                                           (-50, 'n8')])
def test_levels(weight, level):
    assert HeatMaps('b', 2.0, False, []).level(weight) == level


def test_benchmarks_of_the_same_models_stand_together():
    predictor = train(('x', 'y', 'z'))
    x, y, z = predictor.benchmarks
    y = replace(y, fit_models=('fit-0', 'fit-1', 'fit-2'))
    one, two = fitted_on(
        replace(predictor, benchmarks=(x, y, z)), {
            'fit-0': 'A',
            'fit-2': 'A',
            'fit-3': 'B'
        })
    assert (one.benchmarks, one.n_models) == (('x', 'z'), 16)
    assert one.families['A'] == ['fit-0', 'fit-2']
    assert (two.benchmarks, two.n_models) == (('y', ), 3)
    assert two.families == {'A': ['fit-0', 'fit-2'], '': ['fit-1']}


def test_text_sets_of_one_text():
    """Fewer texts than are shown."""
    texts = TextSet(TEXTS.texts[:1])
    sections = heat_sections(_trained_on(texts), texts)
    assert [len(section.maps) for section in sections] == [1, 1]


def _trained_on(texts: TextSet) -> Predictor:
    predictor = train()
    targets = replace(
        predictor.targets,
        text_ids=texts.ids,
        hashes=predictor.targets.hashes[:1],
        spans=predictor.targets.spans[:1],
        fingerprint=texts.fingerprint)
    return replace(
        predictor,
        targets=targets,
        matrix=predictor.matrix[:3],
        scored=predictor.scored[:3],
        fingerprint=texts.fingerprint)
