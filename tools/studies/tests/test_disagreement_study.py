"""Losses that are turned around, and the disagreement flags on them."""
import numpy as np
import pytest

from csv_plugin.core.training import answers_by_source
from csv_plugin.demo import shipped
from tests.core.training_worlds import CHARACTERS, FITTED, TEXTS, make_training
from tests.core.training_worlds import make_training_world as make_world
from tools.studies.disagreement_study import (Flags, SeriesDisagreements,
                                              disagreements_on, turned_around)
from tools.studies.study_demo_zoo import disagreements
from tools.studies.zoo_study import TRAIN, VALIDATION, ZooStudy

TABLE = make_training(CHARACTERS, make_world(CHARACTERS)).losses


def test_answers_rise_from_their_median_to_twice_as_much():
    answers = answers_by_source(TABLE, TEXTS, CHARACTERS)['sums']
    share = np.linspace(0, 1, len(FITTED))
    turned = turned_around(TABLE, answers, share)
    means = turned.losses[:, answers].mean(axis=1)
    middle = np.median(TABLE.losses[:, answers].mean(axis=1))
    np.testing.assert_allclose(means, middle * (1 + share))
    np.testing.assert_array_equal(turned.losses[:, ~answers],
                                  TABLE.losses[:, ~answers])


def test_a_row_counts_cells():
    yes, no = np.ones(2, bool), np.zeros(2, bool)
    mixed = Flags(np.array([True, False]), no, np.array([True, False]))
    parts = [
        SeriesDisagreements('series a', 3, mixed, Flags(yes, yes, yes)),
        SeriesDisagreements('series b', 3, Flags(no, yes, yes),
                            Flags(no, no, no))
    ]
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in disagreements(parts).splitlines()]
    assert rows[2][2:7] == ['2', '50', '0', '50', '0']
    assert rows[3][2:7] == ['2', '0', '100', '100', 'nan']
    assert rows[4] == [
        'all', '', '4', '25', '50', '75', '0', '4', '50', '50', '50', '100'
    ]


@pytest.mark.long
def test_flags_are_raised_on_the_census_of_an_unseen_series():
    """Whose answers' losses rise with the accuracy, and rarely elsewhere."""
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER)
    info = study.collection.info
    fitted = {
        info[name].family
        for name in study.collection.models_in(TRAIN, VALIDATION)
    }
    found = disagreements_on(study, fitted, 'series d')
    assert found.as_it_is.disagrees.mean() < .1
    assert found.turned.disagrees.mean() > .2
