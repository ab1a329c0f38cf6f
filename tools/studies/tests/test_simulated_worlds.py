import numpy as np
import pytest

from tools.studies.simulated_worlds import (BEYOND, KINDS, N_NEW, World,
                                            predict_world, rows)


def test_kinds_of_benchmarks_are_what_they_are_called() -> None:
    world = World.draw(np.random.default_rng(0))
    compute = np.repeat([0., 2., 3.], 200)
    losses, accuracies = world.models(compute, np.arange(600))
    falls = losses.reshape(3, 200, -1).mean(axis=(1, 2))
    assert falls[0] > falls[1] > falls[2]
    means = accuracies.reshape(3, 200, -1, 2).mean(axis=(1, 3))
    least, most, beyond = dict(zip(KINDS, means.T)), *means[1:]
    assert [*least] == [*KINDS]
    flat, emerging = least['flat'], least['emerging']
    assert np.ptp(flat) < .15
    assert emerging[0] < .28 and emerging[2] - emerging[1] > .15
    assert least['saturating'][1] > .9
    assert beyond.shape == most.shape == (len(KINDS), )


def test_most_intervals_hold_what_is_observed() -> None:
    found = [predict_world(seed, 6) for seed in range(2)]
    for name in BEYOND:
        held = np.array([world[name].held[:, :2] for world in found])
        assert held.shape == (2, N_NEW, 2)
        assert .7 < held.mean() <= 1
        width = np.array([world[name].width[:, :2] for world in found])
        assert .05 < width.mean() < .4


def test_the_table_has_a_row_for_each_kind() -> None:
    found = rows(3, 1)
    assert [row[:2] for row in found] == [[kind, 3] for kind in KINDS]
    seen = predict_world(0, 3)
    assert found[1][2] == pytest.approx(seen['within'].held[:, 2:4].mean())
    assert found[1][7] == pytest.approx(100 *
                                        seen['10 times'].width[:, 2:4].mean())
