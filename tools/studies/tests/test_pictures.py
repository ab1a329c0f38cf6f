"""Pictures show what their titles say."""
import numpy as np
import pytest

import csv_plugin as cp
from csv_plugin.core.scaling_law import Curve
from csv_plugin.demo import shipped
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.training_steps import TrainingSteps
from tests.extras.pictures.layout import assert_readable
from tools.studies import demo_pictures, paper_figures, results_pictures
from tools.studies.pictures import Token
from tools.studies.zoo_study import ZooStudy

METHODS = ('mean loss', "the paper's head", 'salience')


@pytest.fixture(scope='module')
def zoo():
    """The zoo on a seventh of its texts, trained for few steps."""
    study = ZooStudy.load()
    texts = [
        text for i, text in enumerate(study.collection.texts)
        if i % 7 == 0 or text.text_id == paper_figures.TEXT
    ]
    return paper_figures.Zoo(
        study.of_texts(texts), HeadSettings(1., n_steps=12))


@pytest.mark.parametrize('name', [*paper_figures.FIGURES])
def test_the_papers_figures(zoo, name):
    if name == 'paper_8':
        errors = {
            n: [dict(zip(METHODS, (26, 30 - n, 20 - 3 * n)))]
            for n in (1, 5)
        }
        figure = paper_figures.texts_figure(
            dict(kinds=errors, texts=errors), 'dark')
        assert figure.texts[0].get_text().endswith('from 17 to 5 points')
    else:
        figure = paper_figures.FIGURES[name](zoo, 'light')
    if name == 'paper_4':
        found = paper_figures.errors_at_chosen(zoo.training.steps)
        panels = [axes.get_title() for axes in figure.axes]
        assert panels == [
            f'{exam}: {error:.1f} points' for exam, error in found.items()
        ]
    if name != 'paper_9':  # Words of a text touch each other.
        assert_readable(figure)


def test_models_of_equal_loss_are_compared():
    losses = np.array([.5, .502, .6, .602])
    accuracies = np.array([.3, .5, .9, .2])
    curve = Curve(-np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    steps = TrainingSteps(('exam', ), tuple('abcd'), np.full(4, 'training'),
                          accuracies[:, None], losses[None, :, None], curve,
                          np.zeros(1, int))
    assert paper_figures.gap_at_equal_loss(steps, 'exam') == pytest.approx(70)


def test_weights_of_swaps_by_kind():
    """Colours that a step names, those that come out, and all else."""
    words = ('Question: Ada| red|.\n|Steps|: First| Ada| and| Leo| swap| red'
             '| and| blue|: Ada| blue|.\n|Answer|: Ada| blue').split('|')
    weights = {9: 8., 11: 4., 13: 2., 17: 6.}
    tokens = [
        Token(word, weights.get(i, 1.), ''.join(words[:i]))
        for i, word in enumerate(words)
    ]
    assert paper_figures.swap_weights({'a': tokens}) == dict(
        swapped=6, result=4, other=1)


def test_draws_of_texts_are_nested(zoo):
    texts = zoo.study.collection.texts
    few, many = (
        paper_figures.drawn_texts(texts, n, 2, seed=1) for n in (6, 10))
    assert len(few) == 6 and len({text.source for text in many}) == 2
    assert {text.text_id for text in few} < {text.text_id for text in many}


def test_the_concept_has_the_numbers_of_the_predictor():
    losses = cp.read_collection(shipped.COLLECTION).losses
    shown = cp.load(shipped.PREDICTOR).predict(
        losses.select([demo_pictures.MODEL]))
    shown = shown.select(benchmarks=[demo_pictures.EXAM])
    value, low, high = (
        round(100 * float(cube[0, 0, 0]))
        for cube in (shown.values, shown.low, shown.high))
    figure = demo_pictures.draw_concept('light')
    # A text may have several lines.
    words = [
        ' '.join(text.get_text().split()) for text in figure.axes[0].texts
    ]
    assert f'4 predicted {value} %, 90 % interval {low}-{high} %' in words
    assert_readable(demo_pictures.draw_series('dark'))


def test_titles_of_results_count_intervals():
    observed = np.array([40., 50.])
    panels = [
        results_pictures.Panel(name, observed, np.array(predicted),
                               observed - 1, observed + [1, -.5])
        for name, predicted in (('a', [41, 52]), ('b', [41, 53]), ('c',
                                                                   [42, 54]))
    ]
    figure = results_pictures.draw('Two models', panels, False, 'dark')
    assert figure.texts[0].get_text() == (
        'Two models:\noff by 2.2 points, 3 of 6 in their intervals')
    figure = results_pictures.draw('Two models', panels, True, 'light')
    assert figure.axes[0].get_title() == 'a\n1.5 points, 1 of 2'
