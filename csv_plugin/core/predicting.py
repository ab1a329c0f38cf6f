"""Predictions of several predictors for the same models."""
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Optional, Union

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.overall import NamedJoint
from csv_plugin.core.predictions import (UNKNOWN_BENCHMARK, CellNames, Missing,
                                         Predictions)
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress

#: Maps the label of each predictor to it, or to why it is unusable.
Predictors = Mapping[str, Union[Predictor, Missing]]
#: Maps (model, benchmark) to an observed accuracy in 0..1, or to why there is
#: none.
ObservedAccuracies = Mapping[tuple[str, str], Union[float, Missing]]
#: Maps each model to its feature columns, or to why there are none.
ModelColumns = Mapping[str, Union[FeatureTable, Missing]]
#: Maps the label of each predictor to the feature columns for it.
ColumnsByLabel = Mapping[str, ModelColumns]
#: Maps each model to what its dump says of how losses were computed.
Infos = Mapping[str, DumpInfo]
#: Takes a model and the fingerprint of texts, and reads its losses on them.
ReadDump = Callable[[str, str], TokenLossDump]


def result_or_missing(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; return its result, or a `Missing` for an `InputError`.
    """
    try:
        return function(*arguments)
    except InputError as error:
        return Missing(str(error))


def fitted_benchmarks(predictors: Predictors) -> tuple[str, ...]:
    """Return all benchmarks that a predictor was fitted to, each once."""
    # The keys of a dict keep their order.
    found: dict[str, None] = {}
    for predictor in predictors.values():
        if isinstance(predictor, Predictor):
            found |= dict.fromkeys(predictor.names)
    return tuple(found)


def known_items(predictors: Predictors) -> dict[str, int]:
    """Return the number of items of each benchmark, as the predictors know it.

    If predictors know different numbers, the largest number is returned. It is
    0 if no predictor knows it.
    """
    found = dict.fromkeys(fitted_benchmarks(predictors), 0)
    for predictor in predictors.values():
        if isinstance(predictor, Predictor):
            for fit in predictor.benchmarks:
                name = fit.benchmark
                found[name] = max(fit.n_items, found[name])
    return found


def collect_features(
        predictors: Predictors,
        models: Sequence[str],
        read: ReadDump,
        progress: Progress = iter) -> tuple[ColumnsByLabel, Infos]:
    """Return feature columns by predictor and model, and dump descriptions.

    For a model without feature columns, the reason stands in their place. A
    dump is read once for all predictors with the same texts, and its losses
    are mapped once for all predictors with the same target tokens. `progress`
    wraps the loop over models.
    """
    columns: dict[str, Any] = {label: {} for label in predictors}
    infos: dict[str, DumpInfo] = {}
    for model in progress(models):

        @lru_cache(maxsize=None)
        def read_once(fingerprint: str, model: str = model) -> TokenLossDump:
            """Read the dump on these texts, and keep its description."""
            dump = read(model, fingerprint)
            infos[model] = dump.info
            return dump

        tables: dict[Any, LossTable] = {}
        for label, predictor in predictors.items():
            found = predictor
            if isinstance(predictor, Predictor):
                found = result_or_missing(_features, model, predictor,
                                          read_once, tables)
            columns[label][model] = found
    return columns, infos


def _features(model: str, predictor: Predictor, read: Callable[[str],
                                                               TokenLossDump],
              tables: dict[Any, LossTable]) -> FeatureTable:
    """Return the feature columns of a model for a predictor.

    `read` takes the fingerprint of texts. `tables` caches the losses that are
    already mapped onto the target tokens of some predictor.
    """
    predictor.check_tokens()
    fingerprint = predictor.columns.fingerprint
    dump = read(fingerprint)
    targets = predictor.targets
    key = fingerprint, targets and targets.spans
    if key not in tables:
        tables[key] = predictor.loss_table({model: dump})
    return predictor.features(tables[key])


def predict_models(
    predictors: Predictors,
    columns: ColumnsByLabel,
    benchmarks: Sequence[str],
    known: Optional[AccuracyTable] = None,
    families: Optional[Mapping[str, str]] = None
) -> tuple[Predictions, dict[str, NamedJoint]]:
    """Return predictions by all predictors, and their joint distributions.

    Missing predictions have a reason. The joint distributions of the
    accuracies, by label, are what the predictions and intervals are computed
    from. Both are conditioned on the `known` accuracies of some of the models.
    `known` and `families` are as in `Predictor.predict`. Raises an
    `InputError` if there is no predictor, or as `Predictor.predict` does.
    """
    if not predictors:
        raise InputError('predictors', 'a predictor or more', 'none',
                         'Name a file of a predictor.')
    by_label: dict[str, Optional[Predictions]] = {}
    joints: dict[str, NamedJoint] = {}
    missing: dict[CellNames, Missing] = {}
    # The models are the same for all labels.
    models = tuple(next(iter(columns.values())))
    for label, predictor in predictors.items():
        names: Sequence[str] = benchmarks
        if isinstance(predictor, Predictor):
            names = predictor.names
        tables = []
        for model, table in columns[label].items():
            if not isinstance(table, Missing):
                tables.append(table)
                continue
            for name in benchmarks:
                cell = model, name, label
                missing[cell] = table if name in names else UNKNOWN_BENCHMARK
        by_label[label] = None
        if isinstance(predictor, Predictor) and tables:
            features = FeatureTable.concatenate(tables)
            by_label[label], joint = predictor.predict_jointly(
                features, families=families, known=known)
            joints[label] = NamedJoint(features.models, predictor.names, joint)
    joined = Predictions.side_by_side(by_label, models, benchmarks, missing)
    return joined, joints
