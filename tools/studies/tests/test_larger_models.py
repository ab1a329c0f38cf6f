"""Errors on real models' losses and accuracies stay as low as they were.

The data are the losses of 89 models on 263 texts, and those of 180 checkpoints
of 15 pretraining runs on 34,412 items of benchmarks, with their accuracies;
they are not part of the repository but lie beside it. Bounds are on geometric
means of the test MSE over the main benchmarks.
"""
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.split_studies import split_study
from csv_plugin.core.study import Study, geometric_mean
from csv_plugin.io.model_tables import ModelTables
from tools.studies.options import tables_in

REAL = Path(__file__).resolve().parents[4] / 'shared/real'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (REAL / 'gemstones/losses.safetensors').is_file(),
        reason='the real models\' tables are not at ../shared/real'),
    pytest.mark.filterwarnings('ignore:.*does not name its models')
]


def read_main(folder: Path) -> ModelTables:
    """Of the main benchmarks alone: the bounds are about these."""
    tables = tables_in(folder)
    main = tables.accuracies.select(benchmarks=tables.accuracies.main)
    return replace(tables, accuracies=main)


def split(tables: ModelTables, solver: str) -> Study:
    """Fits a solver on the smaller models and predicts the larger ones."""
    fit_models = tables.models_in('train', 'validation')
    return split_study(tables.features, tables.accuracies, tables.families,
                       fit_models, SOLVERS[solver])


@pytest.fixture(scope='module')
def tables() -> ModelTables:
    return read_main(REAL)


def mean_mse(study: Study, method: str) -> float:
    return geometric_mean(e.mse for e in study.errors(method).values())


def cell_coverage(study: Study) -> float:
    """Share of all cells, without the models that were fitted on."""
    errors = study.errors(study.predictions.methods[0]).values()
    n_models = [e.n_models for e in errors]
    return np.average([e.coverage for e in errors], weights=n_models)


@pytest.mark.parametrize('solver, most', [
    ('ridge', 0.80e-3), ('averaged', 0.54e-3),
    pytest.param('nonnegative', 1.40e-3, marks=pytest.mark.long)
])  # yapf: disable
def test_larger_models(tables, solver, most):
    study = split(tables, solver)
    assert tuple(study.errors(solver)) == tables.accuracies.main
    assert mean_mse(study, 'mean-loss') == pytest.approx(1.31e-3, rel=0.02)
    assert mean_mse(study, solver) <= most
    if solver != 'nonnegative':
        assert 0.86 <= cell_coverage(study) <= 0.97


@pytest.mark.long
def test_larger_runs_from_item_losses():
    study = split(read_main(REAL / 'gemstones'), DEFAULT_SOLVER)
    assert mean_mse(study, 'averaged') <= 0.13e-3
    assert cell_coverage(study) >= 0.86


def test_the_baseline_is_no_step(tables):
    """Where its floor was at chance, it predicted up to 45 %."""
    study = split(tables, 'mean-loss')
    assert study.errors('mean-loss')['core_openbookqa'].mse < 1e-3
    part = study.predictions.select(
        benchmarks=['core_openbookqa'], methods=['mean-loss'])
    assert .1 < part.values.min() < part.values.max() < .38
