"""Hidden states are standardised over the tokens that count."""
import numpy as np
import pytest
import torch

from csv_plugin.lm.head.state_scale import StateScale


def test_states_are_standardised_over_the_tokens_that_count():
    """Also more tokens than are read at a time, and constant states."""
    rng = np.random.default_rng(0)
    values = rng.normal([1, -3, 0, 0], [2, .5, 0, 0], (9000, 4))
    values[:, 3] = 7.7
    counted = rng.random(9000) < .7
    states = torch.from_numpy(values)
    scale = StateScale.of(states, counted)
    np.testing.assert_allclose(scale.mean, values[counted].mean(axis=0))
    spread = values[counted].std(axis=0)
    np.testing.assert_allclose(scale.spread, [*spread[:2], 1, 1])
    found = scale.apply(states)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(
        found.numpy()[:, :2], (values - scale.mean)[:, :2] / spread[:2],
        rtol=1e-4,
        atol=1e-5)
    assert not found.numpy()[:, 2].any()


@pytest.mark.parametrize('constant', [-7.7, 7.7])
def test_the_spread_of_constant_states_is_1(constant):
    states = torch.full((9, 2), constant, dtype=torch.float64)
    scale = StateScale.of(states, np.full(9, True))
    assert scale.spread.tolist() == [1, 1]
