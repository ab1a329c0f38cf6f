"""Studies: predictions of models, and their errors from observed accuracies.
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable, check_accuracies
from csv_plugin.core.arrays import Booleans
from csv_plugin.core.conventions import InputError, families_of_models
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.formatting import counted, number, percent, short_repr
from csv_plugin.core.losses import LossTable
from csv_plugin.core.overall import NamedJoint
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Losses, Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.text_tables import text_table, wrapped

#: Name of the default method.
SALIENCE = 'salience'
#: Name of the baseline.
MEAN_LOSS = 'mean-loss'

#: Maps the name of each model to its family.
Families = Mapping[str, str]


@dataclass(frozen=True)
class BenchmarkErrors:
    """Errors of the predictions of one method on one benchmark.

    Accuracies are fractions: `mae` and the mean `width` of the intervals are
    in 0..1, and `mse` is in squared fractions. Training models are left out.
    `n_models` is the number of other models with an observed accuracy. Some
    of them may have no prediction; then the errors leave them out. `spearman`
    is the rank correlation of predicted and observed accuracies. `coverage` is
    the share of observed accuracies inside their intervals, NaN if no interval
    rules anything out (see `Predictions.rules_nothing_out`).
    """
    n_models: int
    mse: float
    mae: float
    spearman: float
    coverage: float
    width: float


@dataclass(frozen=True, eq=False)
class Study:
    """Predictions of the same models by a method under study and by baselines.

    `predictions` also contain the observed accuracies. The method under study
    is their first method, then come baselines such as 'mean-loss'. `predictor`
    is the predictor of the method under study. `joints` maps each method whose
    joint distribution of accuracies is known to this distribution.
    """
    predictor: Predictor
    predictions: Predictions
    joints: Mapping[str, NamedJoint] = field(default_factory=dict)

    @classmethod
    def of(cls, predictors: Mapping[str, Predictor], losses: Losses,
           observed: AccuracyTable) -> 'Study':
        """Predict the same models with several predictors.

        `predictors` maps each method to its predictor, the method under study
        first. Other predictors may lack some of the benchmarks. If losses are
        dumps, they are mapped onto the target tokens of the first predictor,
        which must be the same for all predictors. `observed` has accuracies
        of at least these models.

        Raises:
            InputError: As in `Predictor.predict`, or `observed` lacks a model.
        """
        first, *_ = predictors.values()
        if not isinstance(losses, (FeatureTable, LossTable)):
            losses = first.loss_table(losses)
        by_method = {}
        joints = {}
        for method, predictor in predictors.items():
            table, joint = predictor.predict_jointly(losses)
            # All methods predict the same models.
            models = table.models
            by_method[method] = table
            joints[method] = NamedJoint(models, predictor.names, joint)
        predictions = Predictions.side_by_side(by_method, models,
                                               observed.benchmarks)
        predictions = predictions.with_observed(observed)
        return cls(first, predictions, joints)

    __repr__ = short_repr

    def __str__(self) -> str:
        """Return the mean errors of each method, in points of accuracy."""
        judged = self.benchmarks_with_error
        rows = [['method', 'mean abs. error', 'coverage']]
        for method in self.predictions.methods:
            errors = self.errors(method)
            mae = np.array([errors[name].mae for name in judged])
            coverage = np.array([errors[name].coverage for name in judged])
            known = coverage[~np.isnan(coverage)]
            cells = ['-', '-']
            if len(mae):
                cells[0] = number(percent(mae.mean()))
            if len(known):
                cells[1] = f'{known.mean():.0%}'
            rows.append([method, *cells])
        legend = (f'Of held-out models, in points, as a mean over '
                  f'{counted(len(judged), "benchmark")}; coverage: share of '
                  'observed accuracies inside their intervals. '
                  'study.errors(method) has each benchmark.')
        return f'{text_table(rows)}\n\n{wrapped([legend])}'

    @property
    def benchmarks_with_error(self) -> list[str]:
        """Main benchmarks with an error of the method under study.

        Means of errors are over these. Benchmarks that are not predictable yet
        are left out, as in means of accuracies.
        """
        predictions = self.predictions
        errors = self.errors(predictions.methods[0])
        found = []
        for name in predictions.main:
            has_error = not np.isnan(errors[name].mse)
            if has_error and name not in predictions.not_yet:
                found.append(name)
        return found

    def errors(self, method: str) -> dict[str, BenchmarkErrors]:
        """Return errors by benchmark; training models are left out."""
        table = self.predictions.select(methods=[method])
        # An interval that rules nothing out always covers the accuracy.
        says_nothing = table.rules_nothing_out(method)
        errors = {}
        for b, benchmark in enumerate(table.benchmarks):
            of_benchmark = says_nothing[:, b]
            errors[benchmark] = _errors(table, b, of_benchmark)
        return errors


def split_study(features: FeatureTable,
                accuracies: AccuracyTable,
                families: Families,
                fit_models: Sequence[str],
                progress: Progress = iter) -> Study:
    """Fit to some of the models, and predict all models.

    Features and accuracies are given for all models. `families` maps at least
    each of the training models, `fit_models`, to its family. `progress` wraps
    the steps of the fit.

    Raises:
        InputError: A model has no features, accuracies or family.
    """
    check_accuracies('accuracies', accuracies)
    fitted = accuracies.select(fit_models)
    predictors = _fit_both(features, fitted, families, progress)
    return Study.of(predictors, features, accuracies)


def leave_families_out(features: FeatureTable,
                       accuracies: AccuracyTable,
                       families: Families,
                       progress: Progress = iter) -> Study:
    """Predict every observed accuracy from models of other families.

    The predictions follow in closed form from a fit to all models. A model has
    no prediction on a benchmark on which it was not observed. Arguments are as
    in `split_study`, but `families` has the family of every model.

    Raises:
        InputError: As in `split_study`, or all models are of one family.
    """
    check_accuracies('accuracies', accuracies)
    observed = accuracies.select(features.models)
    own_families = families_of_models(families, observed.models)
    if len(set(own_families)) < 2:
        raise InputError('families', 'at least two families', 'one',
                         'Add models of another family.')
    predictors = _fit_both(features, observed, families, progress)
    by_method = {}
    for method, predictor in predictors.items():
        by_method[method] = predictor.predict_left_out()
    predictions = Predictions.side_by_side(by_method, features.models,
                                           observed.benchmarks)
    predictions = predictions.with_observed(observed)
    return Study(predictors[SALIENCE], predictions)


def _fit_both(features: FeatureTable, fitted: AccuracyTable,
              families: Families, progress: Progress) -> dict[str, Predictor]:
    """Fit the predictors of the default method and of the baseline."""
    own = families_of_models(families, fitted.models)
    predictor = fit_predictor(features, fitted, own, progress=progress)
    baseline = fit_mean_loss_predictor(features, fitted, own)
    return {SALIENCE: predictor, MEAN_LOSS: baseline}


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of the values that are not NaN.

    The result is NaN if all values are NaN.
    """
    numbers = np.array([*values], float)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return float('nan')
    # An error of 0 has the logarithm -infinity, so the mean is 0.
    with np.errstate(divide='ignore'):
        logarithms = np.log(numbers)
    mean = np.exp(logarithms.mean())
    return float(mean)


def _errors(table: Predictions, b: int,
            says_nothing: Booleans) -> BenchmarkErrors:
    """Return the errors on benchmark b of a table with a single method.

    `says_nothing`, `(M,)`, is True for models whose interval rules nothing
    out.
    """
    accuracies = table.observed[:, b]
    in_sample = table.in_sample[:, b, 0]
    rows = ~np.isnan(accuracies) & ~in_sample
    observed = accuracies[rows]
    predicted = table.values[rows, b, 0]
    low = table.low[rows, b, 0]
    high = table.high[rows, b, 0]
    coverage = metrics.coverage(observed, low, high)
    has_interval = ~np.isnan(low)
    is_informative = has_interval & ~says_nothing[rows]
    if not is_informative.any():
        coverage = np.nan
    return BenchmarkErrors(
        n_models=len(observed),
        mse=metrics.mse(observed, predicted),
        mae=metrics.mae(observed, predicted),
        spearman=metrics.spearman(observed, predicted),
        coverage=coverage,
        width=metrics.mean_width(low, high))
