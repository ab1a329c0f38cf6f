"""Studies that fit to some of the models and predict the others."""
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import check_known
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Constant, MeanLoss, Solver
from csv_plugin.core.salience.base import grouped_folds
from csv_plugin.core.study import Study


def split_study(features: FeatureTable,
                accuracies: AccuracyTable,
                families: Mapping[str, str],
                fit_models: Sequence[str],
                solver: Solver,
                seed: int = 0,
                progress: Progress = iter) -> Study:
    """Fit to some of the models, predict all of them.

    Features and accuracies are of all models, families of the training models
    `fit_models`. The seed is that of the cross-validation folds; `progress`
    wraps the benchmarks of the fit under study.

    Raises:
        InputError: A model has no features, accuracies or family.
    """
    fitted = accuracies.select(fit_models)
    groups = _groups(families, fit_models)
    predictors = {
        name:
        fit_predictor(features, fitted, groups, method, seed,
                      progress if method is solver else iter)
        for name, method in _methods(solver).items()
    }
    return Study.of(predictors, features, accuracies)


def leave_families_out(features: FeatureTable,
                       accuracies: AccuracyTable,
                       families: Mapping[str, str],
                       solver: Solver,
                       seed: int = 0,
                       n_folds: int = 8,
                       progress: Progress = iter) -> Study:
    """Predict every model from models of other families.

    Families are dealt to `n_folds` folds, fewer if there are fewer families.
    Each fold is predicted by a fit to the others, cross-validation included. A
    benchmark that none of these models was run on gets no prediction. The
    study's predictor is fitted to all models. Other arguments and errors are
    as in `split_study`, but `progress` wraps the folds.
    """
    observed = accuracies.select(features.models)
    groups = _groups(families, features.models)
    folds = grouped_folds(groups, n_folds, seed)
    names = np.array(features.models, dtype=object)
    parts = []
    for fold in progress(sorted(set(folds))):
        others = list(names[folds != fold])
        study = split_study(features, observed, families, others, solver, seed)
        held_out = study.predictions.select(
            list(names[folds == fold]),
            observed.select(others).benchmarks_run)
        by_method = {
            method: held_out.select(methods=[method])
            for method in held_out.methods
        }
        parts.append(
            Predictions.side_by_side(by_method, held_out.models,
                                     observed.benchmarks))
    predictor = fit_predictor(features, observed, groups, solver, seed)
    predictions = Predictions.concatenate(parts).select(features.models)
    return Study(predictor, predictions.with_real(observed))


def _groups(families: Mapping[str, str], models: Iterable[str]) -> list[str]:
    check_known('families', models, families, 'Name its family.')
    return [families[model] for model in models]


def _methods(solver: Solver) -> dict[str, Solver]:
    """The solver and its baselines, by name."""
    methods: dict[str, Solver] = {solver.name: solver}
    for baseline in (MeanLoss(), Constant()):
        methods.setdefault(baseline.name, baseline)
    return methods
