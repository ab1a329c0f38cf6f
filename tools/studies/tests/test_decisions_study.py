"""Rules of decision, and what is counted of them."""
import sys
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.noise import PREDICTOR, Noise
from tests.tables import small_tables, write_tables
from tools.studies import decisions_study as study

TABLES = small_tables(48, n_families=16).only('easy', 'hard')


@pytest.fixture(scope='module')
def pairs():
    parts = []
    for fold in study.folds(TABLES.features, TABLES.accuracies,
                            TABLES.families):
        sides = [{TABLES.families[name]
                  for name in side.models}
                 for side in (fold.fitted, fold.held_out)]
        assert not set.intersection(*sides)
        parts.append(study.pairs_of(fold, TABLES.accuracies, TABLES.families))
    return study.Pairs.join(parts)


def test_pairs_of_held_out_models(pairs):
    """Three benchmarks with the mean, all pairs of each fold."""
    assert pairs.is_mean.sum() * 3 == len(pairs.real)
    means = pairs.where(pairs.is_mean)
    assert means.within.any() and not means.within.all()
    assert np.corrcoef(means.difference, means.real)[0, 1] > .9
    assert np.corrcoef(means.gap, means.real)[0, 1] > .5


def test_rules(pairs):
    found = study.decisions(pairs)
    assert 'all items' not in found  # 'hard' has an unknown number
    decided, sign = found['differences']
    assert study.right_signs(sign, pairs.real)[decided].mean() > .95
    assert decided.sum() > found['intervals'][0].sum()
    assert found['mean loss'][0].all()
    some = pairs.where(~np.isnan(pairs.variance))
    of_items = study.decisions(some)
    assert of_items['all items'][0].sum(
    ) > of_items['half of the items'][0].sum()


def test_ties_are_half_right():
    right = study.right_signs(np.array([1, -2, 3]), np.array([.1, .2, 0]))
    assert right.tolist() == [1, 0, .5]


def test_margins():
    """The least gap from which training pairs are in order."""
    fold = next(
        study.folds(TABLES.features, TABLES.accuracies, TABLES.families))
    observed = np.array([[.1, .5], [.2, .5], [.3, .4], [.35, np.nan]])
    fit = fold.predictor.fit
    predictor = replace(
        fold.predictor,
        fit=replace(fit, observed=replace(fit.observed, accuracies=observed)))
    found = study.margins(predictor, np.array([4, 3, 1, 1.1]))
    # The pair with the smallest gap is in the wrong order.
    assert found[0] == pytest.approx(1)
    assert found[1] == np.inf


def test_calibration(pairs):
    n = 200
    some = replace(
        pairs.where(np.arange(len(pairs.real)) < n),
        probability=np.repeat([.25, .75], n // 2),
        real=np.where(np.arange(n) % 4 < 1, 1., -1.))
    rows, gap = study.calibration('x', some)
    # Of the first half, the other model is better in 75 of 100.
    assert [row[2:] for row in rows] == [[200, .75, .5]]
    assert gap == .25


def test_told_apart():
    assert study.told_apart(.1, {PREDICTOR: Noise.even(.04)})
    assert not study.told_apart(.1, {PREDICTOR: Noise.even(.04, 2)})


def test_folds_do_not_divide_families():
    fold = study.dealt(['a', 'b', 'b', 'c', 'b', 'a'], 2)
    assert fold.tolist() == [1, 0, 0, 1, 0, 1]


def test_tables(tmp_path, monkeypatch, capsys):
    write_tables(tmp_path, TABLES, dict.fromkeys(TABLES.models, 'train'))
    monkeypatch.setattr(sys, 'argv', ['decisions_study', str(tmp_path)])
    study.main()
    printed = capsys.readouterr().out
    assert 'mean loss, margin' in printed and 'Largest gap' in printed
