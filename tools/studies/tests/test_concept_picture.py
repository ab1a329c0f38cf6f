"""The concept picture shows what the demonstration's predictor predicts."""
import pytest

import csv_plugin as cp
from csv_plugin.demo import shipped
from tools.studies.concept_picture import EXAM, MODEL, draw


@pytest.mark.slow
def test_numbers_are_those_of_the_predictor():
    zoo = cp.read_collection(shipped.COLLECTION)
    shown = cp.load(shipped.PREDICTOR).predict(zoo.losses.select([MODEL]))
    value, low, high = (
        round(100 * float(cube[0, shown.benchmarks.index(EXAM), 0]))
        for cube in (shown.values, shown.low, shown.high))
    [axes] = draw('light').axes
    words = [text.get_text() for text in axes.texts]
    assert f'4  predicted {value} %, 90 % interval {low}-{high}' in words
