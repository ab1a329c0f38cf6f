"""Differences, heat maps and training models, or why there are none."""
import math
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.extras.page.sections import fitted_on, method_errors
from tests.extras.page.pages import awkward_board
from tests.runs import train


def test_differences_and_coverage():
    predictions = awkward_board().predictions
    main, other = (
        method_errors(predictions, label) for label in predictions.methods)
    assert (main.label, other.label) == ('predicted', 'all-token')
    # 0.3..0.5 holds 0.5 but not 0.51; fitted on, or not known: not counted.
    assert (main.n_inside, main.n_cells) == (2, 3)
    assert (other.n_inside, other.n_cells) == (1, 5)
    np.testing.assert_allclose(
        list(main.by_benchmark.values()), [math.nan, 0.29 / 3])
    assert main.overall == pytest.approx(0.29 / 3)
    assert other.by_benchmark == pytest.approx({'b0': 0.115, 'b1': 0.11})
    assert other.overall == pytest.approx(0.112)
    fitted = replace(
        predictions, in_sample=np.ones_like(predictions.in_sample))
    nothing = method_errors(fitted, 'predicted')
    assert math.isnan(nothing.overall)
    assert (nothing.n_inside, nothing.n_cells) == (0, 0)


def test_benchmarks_of_the_same_models_stand_together():
    predictor = train(('x', 'y', 'z'))
    x, y, z = predictor.benchmarks
    y = replace(y, fit_models=('fit-0', 'fit-1', 'fit-2'))
    x_and_z, only_y = fitted_on(
        replace(predictor, benchmarks=(x, y, z)), {
            'fit-0': 'A',
            'fit-2': 'A',
            'fit-3': 'B'
        })
    assert x_and_z[0] == ['x', 'z']
    assert x_and_z[1]['A'] == ['fit-0', 'fit-2']
    assert sum(map(len, x_and_z[1].values())) == 16
    assert only_y == (['y'], {'A': ['fit-0', 'fit-2'], '': ['fit-1']})
