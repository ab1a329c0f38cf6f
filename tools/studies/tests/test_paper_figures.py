"""The paper's figures show what their titles say."""
import re
from functools import partial

import numpy as np
import pytest

from csv_plugin.core.scaling_law import Curve
from csv_plugin.demo import shipped
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.training_steps import TrainingSteps
from tests.extras.pictures.layout import assert_readable
from tools.studies import paper_figures
from tools.studies.paper_figures import (FIGURES, TEXT, Token, Zoo,
                                         gap_at_equal_loss, largest_gap,
                                         swap_weights, texts_figure)
from tools.studies.zoo_study import ZooStudy

METHODS = ('mean loss', "the paper's head", 'salience')
BY_TEXTS = {
    name: {
        number: [{
            method: error + draw
            for method, error in zip(METHODS, (26, 30 - 2 * k, 20 - 3 * k))
        } for draw in (0, 1)]
        for k, number in enumerate(numbers)
    }
    for name, numbers in (('kinds', range(1, 6)), ('texts', (10, 25, 50, 100,
                                                             250)))
}


@pytest.fixture(scope='module')
def zoo():
    """The zoo on a seventh of its texts, trained for few steps."""
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER)
    texts = [
        text for i, text in enumerate(study.collection.texts)
        if i % 7 == 0 or text.text_id == TEXT
    ]
    return Zoo(study.of_texts(texts), HeadSettings(1., n_steps=12))


@pytest.mark.slow
def test_pictures_are_readable_and_titles_are_findings(zoo):
    drawn = {
        name: draw(zoo, 'light')
        for name, draw in FIGURES.items() if name != 'paper_8'
    }
    drawn['paper_8'] = texts_figure(BY_TEXTS, 'dark')
    titles = {}
    for name, figure in drawn.items():
        titles[name] = figure.texts[0].get_text()
        if name != 'paper_9':  # Words of a text touch each other.
            assert_readable(figure)
    gap, model, exam = largest_gap(zoo)
    both = zoo.study.collection.accuracies.select([model, 'c' + model[1:]],
                                                  [exam]).values[:, 0]
    assert gap == pytest.approx(100 * abs(both[1] - both[0]))
    assert f'up to {gap:.0f} points apart' in titles['paper_1']
    assert titles['paper_8'] == ('From one kind of texts to five, the error '
                                 'of\nsalience falls from 20 to 8 points')
    errors = errors_of(zoo.training.steps)
    panels = [axes.get_title() for axes in drawn['paper_4'].axes]
    assert panels == [
        f'{name}: {error:.1f} points' for name, error in errors.items()
    ]
    best, worst = min(errors.values()), max(errors.values())
    numbers = [*map(int, re.findall(r'\d+', titles['paper_6']))]
    assert numbers[1] == round(best) and numbers[3] == round(worst)
    late = errors_of(zoo.own_series['ab']).values()
    assert f'{min(late):.0f} to {max(late):.0f}' in titles['paper_5']


def errors_of(steps):
    """Errors of the test models at the chosen steps, in points."""
    rows = steps.splits == 'test'
    found = {}
    for b, name in enumerate(steps.benchmarks):
        predicted = steps.predicted()[steps.best_step[b], rows, b]
        off = predicted - steps.accuracies[rows, b]
        found[name] = 100 * np.sqrt(np.mean(off**2))
    return found


def test_models_of_equal_loss_are_compared():
    losses = np.array([.5, .502, .6, .602])
    accuracies = np.array([.3, .5, .9, .2])
    steps = TrainingSteps(('exam', ), tuple('abcd'), np.full(4, 'training'),
                          accuracies[:, None], losses[None, :, None],
                          Curve(-np.ones((1, 1)), np.ones((1, 1)),
                                np.zeros((1, 1))), np.zeros(1, int))
    assert gap_at_equal_loss(steps, 'exam') == pytest.approx(70)


def test_weights_of_swaps_by_kind():
    """Colours that a step names, those that come out, and all else."""
    words = ('Question: Ada| red|.\n|Steps|: First| Ada| and| Leo| swap| red'
             '| and| blue|: Ada| blue|.\n|Answer|: Ada| blue').split('|')
    weights = {9: 8., 11: 4., 13: 2., 17: 6.}
    tokens = [
        Token(word, weights.get(i, 1.), ''.join(words[:i]))
        for i, word in enumerate(words)
    ]
    assert swap_weights({'a': tokens}) == dict(swapped=6, result=4, other=1)


def test_pictures_have_both_grounds(tmp_path):
    paper_figures.save_themes(tmp_path, 'a', partial(texts_figure, BY_TEXTS))
    light, dark = ((tmp_path / f'a_{theme}.png').read_bytes()
                   for theme in ('light', 'dark'))
    assert light.startswith(b'\x89PNG') and light != dark
