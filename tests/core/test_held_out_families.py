"""Errors by family, from predictions by the other families."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.held_out_families import HeldOutFamily, held_out_families
from csv_plugin.core.salience import Ridge
from tests.tables import small_tables


def test_errors_are_those_on_the_models_of_a_family():
    low, high = held_out_families(['b', 'a', 'b'], np.array([.1, .9, .3]),
                                  np.array([.2, .8, .1]))
    assert (low.family, low.n_models, low.lowest, low.highest) == ('a', 1, .9,
                                                                   .9)
    assert low.bias == pytest.approx(-.1) and low.error == pytest.approx(.1)
    assert high.bias == pytest.approx(-.05)
    assert high.error == pytest.approx(np.sqrt((.01 + .04) / 2))


def test_a_fit_records_its_families():
    tables = small_tables()
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups, Ridge())
    groups = np.array(tables.groups)
    for part, column in zip(predictor.benchmarks, tables.accuracies.values.T):
        names = [family.family for family in part.families]
        assert names == sorted(set(groups[~np.isnan(column)]))
        if not part.families:
            continue
        assert sum(f.n_models for f in part.families) == len(part.fit_models)
        assert max(f.highest for f in part.families) == np.nanmax(column)
        errors = [f.error**2 * f.n_models for f in part.families]
        # The mean of several predictions of a model errs less than each.
        assert 0 <= sum(errors) / len(part.fit_models) <= part.cv_mse * 1.001


def test_a_single_family_is_not_held_out():
    tables = small_tables()
    predictor = fit_predictor(tables.features, tables.accuracies,
                              ['only'] * len(tables.groups), Ridge())
    family, = predictor.benchmarks[0].families
    assert np.isnan(family.bias) and np.isnan(family.error)


@pytest.mark.parametrize('name, value', [('n_models', 0), ('lowest', -.1),
                                         ('highest', 1.1), ('bias', -1.5),
                                         ('error', -.1)])
def test_numbers_are_in_their_range(name, value):
    fields = dict(
        family='a', n_models=1, lowest=.1, highest=.2, bias=0., error=0.)
    with pytest.raises(InputError, match=f'a {name} in its range'):
        HeldOutFamily(**fields | {name: value})
