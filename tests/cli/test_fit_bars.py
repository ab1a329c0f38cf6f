"""Progress bars of a fit: one for each of its parts, under its name."""
import re

import pytest

from csv_plugin.cli.fit_bars import fit_bars
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import SOLVERS
from tests.tables import small_tables


@pytest.mark.parametrize('solver', ['plain', 'averaged'])
def test_bars_say_what_is_under_way(capsys, solver):
    """Also where all benchmarks are fitted together."""
    tables = small_tables(n_models=8).only('easy', 'hard')
    fit_predictor(
        tables.features,
        tables.accuracies,
        tables.groups,
        SOLVERS[solver],
        progress=fit_bars())
    shown = re.findall(r'(\w+): 100%.* 2/2 ', capsys.readouterr().err)
    assert list(dict.fromkeys(shown)) == ['fits', 'intervals']
