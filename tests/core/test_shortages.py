"""Too few models are told of exactly where predictions suffer."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import Ridge
from csv_plugin.core.shortages import least_models, shortages
from tests.tables import small_tables


def fitted(n_models, n_families, level=0.9):
    """Shortages of a benchmark, and widths of intervals that follow."""
    tables = small_tables(n_models, n_families=n_families).only('easy')
    found = shortages(tables.accuracies, tables.families, tables.models, level)
    lines = [f'{benchmark}: {few}' for benchmark, few in found.items()]
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups, Ridge())
    table = predictor.predict(tables.features, level)
    return lines, (table.high - table.low)[:, 0, 0], predictor.benchmarks[0]


@pytest.mark.parametrize('n_models, n_families, starts', [
    (2, 2, 'easy: too few models to fit to, 2 of 2 families: the mean accu'),
    (3, 1, 'easy: too few models to fit to, 3 of 1 family: nothing can be he'),
    (20, 1, 'easy: too few models to fit to, 20 of 1 family: nothing can be '),
    (3, 3, 'easy: too few models to fit to, 3 of 3 families: all 90% interva'),
    (8, 4, 'easy: too few models to fit to, 8 of 4 families: all 90% interva'),
])  # yapf: disable
def test_what_comes_of_too_few_models(n_models, n_families, starts):
    [line], widths, part = fitted(n_models, n_families)
    assert line.startswith(starts)
    assert '9 models of 2 families would do' in line
    assert (part.solver == 'constant') == ('mean accuracy' in line)
    assert (widths == 1).all()


def test_no_model_was_run():
    tables = small_tables().only('easy', 'none')
    found = shortages(tables.accuracies, tables.families, tables.models)
    assert found == {'none': 'left out, as no model to fit to was run there.'}
    assert tables.accuracies.benchmarks_run == ('easy', )


@pytest.mark.parametrize('level', [.5, .8, .9, .95])
@pytest.mark.parametrize('n_families', [2, 5])
def test_least_models(level, n_families):
    """One model less, and intervals say nothing."""
    enough = least_models(level)
    if enough >= n_families:
        lines, widths, _ = fitted(max(enough, 3), n_families, level)
        assert not lines and (widths < 1).all()
    if enough > max(n_families, 3):
        lines, widths, _ = fitted(enough - 1, n_families, level)
        assert lines and (widths == 1).all()


def test_models_that_were_not_run_do_not_count():
    values = np.full((20, 2), .5)
    values[2:, 1] = np.nan
    models = tuple(map(str, range(20)))
    table = AccuracyTable(models, ('all', 'few'), values, np.zeros(2),
                          np.zeros(2, int))
    families = {model: model[-1] for model in models}
    [(benchmark, few)] = shortages(table, families, models).items()
    assert benchmark == 'few'
    assert few.startswith('too few models to fit to, 2 of 2 families')
    assert len(shortages(table, families, models[:5])) == 2


def test_whether_a_model_is_above_chance_does_not_count():
    """What comes of it is known when losses were asked what they tell."""
    models = tuple(map(str, range(20)))
    table = AccuracyTable(models, ('guessed', ), np.full((20, 1), .265),
                          np.array([.25]), np.zeros(1, int))
    families = {model: model[-1] for model in models}
    assert shortages(table, families, models) == {}
