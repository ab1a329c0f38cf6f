"""Differences of two models against literal versions and simulations."""
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special, stats

from csv_plugin.core import differences
from csv_plugin.core.differences import (MOST_FREEDOM, JointPredictions,
                                         OwnErrors, predict_jointly)
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.intervals import OWN_SHARE, item_variance
from csv_plugin.core.predictor import TrainingScores
from csv_plugin.core.salience import Plain
from tests.tables import small_tables

TABLES = small_tables()


@pytest.fixture(scope='module')
def predictor():
    return fit_predictor(TABLES.features, TABLES.accuracies, TABLES.groups,
                         Plain())


def simulated(rng, n_families=60, n_each=6, own=.02, family=.03):
    """Scores of training models with errors of known variances."""
    families = np.repeat(np.arange(n_families), n_each)
    held_out = rng.uniform(.3, .7, len(families))
    errors = (
        rng.normal(0, own, len(families)) +
        rng.normal(0, family, n_families)[families])
    return TrainingScores(
        tuple(f'f{family}' for family in families),
        (held_out - errors)[:, None], held_out[:, None])


def pairs_of(scores, columns=(0, )):
    floors = np.full(scores.held_out.shape[1], .1)
    return differences._Pairs.of(scores, [*columns], floors)


def pair(predictor):
    both = FeatureTable(('a', 'b'), predictor.columns,
                        TABLES.features.values[[2, 9]])
    return predict_jointly(predictor, both, 'ab').differences(0, 1)


def above(found):
    """Probability that B is above A."""
    return stats.t.sf(0, found.freedom, found.difference, found.deviation)


def test_main_benchmarks_make_the_mean(predictor):
    names = predictor.names[:2]
    found = predict_jointly(predictor, TABLES.features, main=names)
    assert found.benchmarks[-1] == 'mean of 2'
    last = len(predictor.names)
    np.testing.assert_array_equal(
        [*found.rank_ranges(.9), found.chances()],
        [*found.rank_ranges(.9, last),
         found.chances(last)])
    for part in (found.values, found.orders):
        np.testing.assert_allclose(part[-1], part[:2].mean(axis=0))
    alone = predict_jointly(predictor, TABLES.features, main=names[:1])
    assert alone.benchmarks == predictor.names


def test_all_pairs(predictor):
    """They are antisymmetric, and each is that of its two models."""
    joint = predict_jointly(predictor, TABLES.features)
    places = np.arange(len(TABLES.groups))
    every = joint.differences(places[:, None], places)
    np.testing.assert_allclose(above(every) + above(every).swapaxes(1, 2), 1)
    for found, expected in zip(every, pair(predictor)):
        np.testing.assert_allclose(found[:, 2, 9], expected)


def joint(values, families, parts, own=None, orders=None):
    """Models with these accuracies and parts of errors, of two families."""
    values = np.array([values], float)
    nothing = np.zeros(values.shape)
    return JointPredictions(
        ('exam', ), values, nothing if orders is None else np.array([orders]),
        np.array([[*parts, 0, 0][:5]]), np.array([2]), nothing + 1, nothing,
        np.array([*families]), np.array([True]), own)


def test_expected_differences():
    """Against the formula, where a family's own part of the scale counts."""
    found = joint([.5, .6, .6], 'abb', [.02, .01, .1, .4, .2], None,
                  [0, 2, -1]).differences([0, 1], [1, 2])
    square = .02 + .01 + .1 * .1
    moved = .4 * .1 - .2 * np.sqrt(square) * 2
    np.testing.assert_allclose(found.difference[0], [
        .1 - square / (square + .1**2) * moved, .2 * np.sqrt(.02) * -3
    ])  # yapf: disable


def test_small_differences():
    """Half of them is error, or only the order of scores counts.

    Without pairs within a family, no part is of two families.
    """
    rng = np.random.default_rng(7)
    observed, errors = rng.normal(0, .02, (2, 120, 1))
    flat = np.exp(100 * (observed - .3))
    for held_out, expected in ((observed + errors, [1, 0]), (flat, [0, 1])):
        scores = TrainingScores(
            tuple(map(str, range(120))), observed + .5, held_out + .5)
        pairs = differences._Pairs.of(scores, [0], np.full(1, .5))
        _, of_two, _, shrink, order = differences._fit([pairs])[0]
        assert pairs.between.all() and of_two < 1e-9
        np.testing.assert_allclose([shrink, order], expected, atol=.49)


def test_ranges_of_ranks():
    """Models that cannot be told apart may be in either order."""
    found = joint([.9, .5, .45, .1], 'abcd', [.01, 0, 0])
    best, worst = found.rank_ranges(.9)
    assert (best.tolist(), worst.tolist()) == ([1, 2, 2, 4], [1, 3, 3, 4])
    # The interval is two-sided: t of 2 degrees of freedom is 2.92 at 95 %,
    # 1.89 at 90 %, and the error is .1.
    close = joint([.5, .25], 'ab', [.01, 0, 0])
    assert close.rank_ranges(.9)[1].tolist() == [2, 2]
    # Models with .3 of each other count as equal.
    assert found.rank_ranges(.9, within=.3)[0].tolist() == [1, 1, 1, 2]


def test_chances_to_be_best():
    """Of two models that of the pair; of three, by independent errors."""
    two = joint([.5, .6], 'ab', [.01, 0, 0])
    likely = above(two.differences(0, 1))[0]
    assert two.chances()[1] == pytest.approx(likely, abs=.02)
    # Two models that are certainly alike share their chance.
    three = joint([.5, .6, .6], 'abb', [0, .01, 0])
    assert three.chances()[0] == pytest.approx(1 - likely, abs=.02)
    scaled = stats.t(2, .1, .1)
    assert two.chances(within=.05) == pytest.approx(
        [scaled.cdf(.05), scaled.sf(-.05)], abs=.02)


def test_own_errors_of_models():
    """They add to those of the predictor, freedom after Welch."""
    own = OwnErrors(np.array([[.02, .03]]), np.array([3, 8]))
    found = joint([.5, .6], 'ab', [.01, 0, 0], own).differences(0, 1)
    assert found.deviation[0] == pytest.approx(np.sqrt(.06))
    assert found.freedom[0] == pytest.approx(
        .06**2 / (.01**2 / 2 + .02**2 / 3 + .03**2 / 8))


def test_many_pairs_are_drawn(monkeypatch):
    """Their variance is that of the pairs one by one."""
    scores = simulated(np.random.default_rng(4))
    drawn = pairs_of(scores)
    monkeypatch.setattr(differences, 'MOST_PAIRS', 10**6)
    pairs = pairs_of(scores)
    assert len(drawn.sizes) < len(pairs.sizes) / 3
    assert drawn.weights.sum() == pytest.approx(1)
    near = np.stack([np.ones(3), [0, 1, 1], [0, .1, .3]], axis=1)
    fast, exact = (
        np.sqrt(near @ differences._fit([part])[0, :3])
        for part in (drawn, pairs))
    np.testing.assert_allclose(fast, exact, rtol=.02)


def test_most_likely_parts():
    """Where the weighted likelihood and the prior have no slope in a part."""
    rng = np.random.default_rng(2)
    pairs = pairs_of(simulated(rng, 12, 4))
    orders = rng.uniform(size=len(pairs.sizes))
    pairs = pairs._replace(
        orders=orders, errors=pairs.errors + .3 * pairs.sizes - .03 * orders)
    fitted = differences._fit_parts(*pairs)
    columns = np.stack([np.ones(len(pairs.sizes)), pairs.between, pairs.sizes])
    near = differences._beside_noise(pairs.sizes, pairs.orders,
                                     fitted[:3] @ columns)

    def loss(parts):
        likely = stats.t.logpdf(
            pairs.errors - near @ parts[3:],
            MOST_FREEDOM,
            scale=np.sqrt(parts[:3] @ columns))
        return parts[3:] @ parts[3:] / 24 - pairs.weights @ likely

    slopes = fitted * optimize.approx_fprime(fitted, loss, 1e-8)
    assert (fitted > 0).all() and np.abs(slopes).max() < 5e-5
    # The shape that one benchmark shares is its own.
    np.testing.assert_allclose(differences._fit([pairs])[0], fitted, 1e-6)


def test_weights_of_pairs():
    """Half for each kind; k pairs of two families count as their root."""
    first, second = np.array([0, 0, 0, 0, 1, 2]), np.array([0, 1, 1, 1, 1, 1])
    found = differences._weights(first, second, 3)
    assert found[[0, 4]] == pytest.approx(.25)
    assert found[[1, 2, 3, 5]].sum() == pytest.approx(.5)
    assert found[1:4].sum() / found[5] == pytest.approx(np.sqrt(3))


def test_means_of_shared_benchmarks():
    """Pairs are compared on the benchmarks that both were run on."""
    held_out = np.array([[.5, .4, .3, .2], [.6, .6, np.nan, np.nan],
                         [.7, np.nan, np.nan, np.nan]])
    scores = TrainingScores(('a', 'a', 'b'), np.full((3, 4), .5), held_out)
    parts = pairs_of(scores, range(4))
    assert parts.sizes == pytest.approx([.15])
    assert parts.errors == pytest.approx([.15])
    gains = np.arcsinh(special.logit((np.array([.5, .6, .4, .6]) - .1) / .9))
    assert parts.orders == pytest.approx(gains @ [-1, 1, -1, 1] / 2)


def test_distant_models_differ_less_surely(predictor):
    """On all benchmarks, by the mean distance over these."""
    part = predictor.benchmarks[0]
    values = TABLES.features.values[[2, 9]]
    scores = np.array([p.model.scores(values) for p in predictor.benchmarks])
    wide = replace(part.intervals, score_low=float(scores[0].mean()))
    outside = replace(
        predictor,
        benchmarks=(replace(part, intervals=wide), *predictor.benchmarks[1:]))
    learned = sum(not part.is_mean for part in predictor.benchmarks)
    away = wide.distance(scores[0]).max() / learned
    before, after = pair(predictor), pair(outside)
    np.testing.assert_allclose(after.deviation[:2],
                               before.deviation[:2] * (1 + wide.rate * away))


def test_errors_of_the_mean():
    """They grow as their benchmarks; unbounded ones count by their share."""
    parts = np.zeros((5, 5))
    parts[:, 0] = .02, .04, .03, .03, .01
    growth = np.sqrt([1., 4., np.inf, 1.])[:, None]
    nothing = np.zeros((5, 1))
    found = JointPredictions((*'abcd', 'mean of 4'), nothing, nothing, parts,
                             np.full(5, 5), growth, nothing, np.array(['x']),
                             np.ones(4, bool))
    variance = found.differences(0, 0).deviation[-1]**2
    assert variance == pytest.approx(.01 * (.02 + .16 + .03) / .09 + 1 / 16)


def test_unbounded_errors(predictor):
    """Of a loss above all of training, of one family, and of three models."""
    values = TABLES.features.values[[0, 9]] * [[10], [1]]
    table = FeatureTable(('a', 'b'), predictor.columns, values)
    found = predict_jointly(predictor, table)
    assert np.isinf(found.larger[0]).tolist() == [True, False]
    assert found.differences(0, 1).deviation[0] == 1
    few = tuple(
        replace(
            part,
            fit_models=part.fit_models[:models],
            intervals=replace(part.intervals, n_families=n))
        for part, models, n in zip(predictor.benchmarks, (9, 4, 3), (1, 2, 2)))
    alone = replace(predictor, benchmarks=(*few, *predictor.benchmarks[3:]))
    larger = predict_jointly(alone, TABLES.features).larger
    assert np.isinf(larger).all(axis=1).tolist()[:3] == [True, False, True]


def test_nothing_held_out(predictor):
    unknown = replace(
        predictor.training_scores,
        held_out=np.full_like(predictor.training_scores.held_out, np.nan))
    found = pair(replace(predictor, training_scores=unknown))
    np.testing.assert_array_equal(found.deviation, 1)
    np.testing.assert_array_equal(found.freedom, 1)


def test_noise_of_items_is_least(predictor):
    few = replace(
        predictor,
        benchmarks=tuple(
            replace(part, n_items=10) for part in predictor.benchmarks))
    accuracies = predictor.predict(TABLES.features).values[4, :, 0]
    least = OWN_SHARE * 2 * item_variance(accuracies, 10) / 10
    found = predict_jointly(few, TABLES.features, main=few.names[:3])
    error = found.differences(4, 4).deviation
    assert error[0] == pytest.approx(np.sqrt(least[0]))
    assert error[-1] == pytest.approx(np.sqrt(least[:3].sum()) / 3)


@pytest.mark.parametrize('unit', [1e-8, 1e8])
def test_regressions_have_any_unit(unit):
    columns = np.random.default_rng(0).uniform(size=(30, 2))
    found = differences._regress(unit * columns, columns @ [1, 2], np.ones(30))
    np.testing.assert_allclose(found, [1 / unit, 2 / unit], rtol=1e-4)
