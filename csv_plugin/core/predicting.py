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
from csv_plugin.core.predictions import (UNKNOWN_BENCHMARK, Cell, Missing,
                                         Predictions)
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress

#: By label, a predictor or why it is unusable.
Predictors = Mapping[str, Union[Predictor, Missing]]
#: By model and benchmark, an observed accuracy in 0..1 or why there is none.
ObservedAccuracies = Mapping[tuple[str, str], Union[float, Missing]]
#: Feature columns by model, or why there are none.
ModelColumns = Mapping[str, Union[FeatureTable, Missing]]
#: The same by label.
ColumnsByLabel = Mapping[str, ModelColumns]
#: What describes the losses of each model.
Infos = Mapping[str, DumpInfo]
#: Reads the losses of a model on the texts with a fingerprint.
ReadDump = Callable[[str, str], TokenLossDump]


def or_missing(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function or, if its input is bad, a `Missing`."""
    try:
        return function(*arguments)
    except InputError as error:
        return Missing(str(error))


def fitted_benchmarks(predictors: Predictors) -> tuple[str, ...]:
    """Return the benchmarks of at least one of the predictors, each once."""
    # The keys of a dict keep their order.
    found: dict[str, None] = {}
    for predictor in predictors.values():
        if isinstance(predictor, Predictor):
            found |= dict.fromkeys(predictor.names)
    return tuple(found)


def known_items(predictors: Predictors) -> dict[str, int]:
    """Return the most items of each benchmark that predictors were fitted to.

    0 if no predictor knows their number.
    """
    found = dict.fromkeys(fitted_benchmarks(predictors), 0)
    for predictor in predictors.values():
        if isinstance(predictor, Predictor):
            numbers = predictor.fit.observed.n_items.tolist()
            for name, n_items in zip(predictor.names, numbers):
                found[name] = max(n_items, found[name])
    return found


def collect_features(
        predictors: Predictors,
        models: Sequence[str],
        read: ReadDump,
        progress: Progress = iter) -> tuple[ColumnsByLabel, Infos]:
    """Return feature columns by predictor and model, or reasons for gaps.

    Also what describes the losses that were read. A dump is read once for all
    predictors of one validation set, and mapped once for all that share their
    tokens. `progress` wraps the models.
    """
    columns: dict[str, Any] = {label: {} for label in predictors}
    infos: dict[str, DumpInfo] = {}
    for model in progress(models):

        @lru_cache(maxsize=None)
        def read_once(fingerprint: str, model: str = model) -> TokenLossDump:
            """Read the dump on these texts, and note its settings."""
            dump = read(model, fingerprint)
            infos[model] = dump.info
            return dump

        tables: dict[Any, LossTable] = {}
        for label, predictor in predictors.items():
            columns[label][model] = or_missing(_features, model, predictor,
                                               read_once, tables)
    return columns, infos


def _features(model: str, predictor: Union[Predictor, Missing],
              read: Callable[[str], TokenLossDump],
              tables: dict[Any, LossTable]) -> Union[FeatureTable, Missing]:
    if isinstance(predictor, Missing):
        return predictor
    predictor.check_tokens()
    fingerprint = predictor.columns.fingerprint
    dump = read(fingerprint)
    key = fingerprint, predictor.targets and predictor.targets.spans
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
    """Return predictions by all predictors, or reasons for gaps.

    Also the joint distributions of the accuracies, by label, of which the
    predictions are one view. They are conditioned on `known` accuracies of
    some of the models. `known` and `families` are as in `Predictor.predict`.
    """
    by_label: dict[str, Optional[Predictions]] = {}
    joints: dict[str, NamedJoint] = {}
    missing: dict[Cell, Missing] = {}
    for label, predictor in predictors.items():
        by_label[label] = None
        names: Sequence[str] = benchmarks
        tables, without = [], {}
        for model, table in columns[label].items():
            if isinstance(table, Missing):
                without[model] = table
            else:
                tables.append(table)
        if isinstance(predictor, Predictor):
            names = predictor.names
            if tables:
                features = FeatureTable.concatenate(tables)
                by_label[label], joint = predictor.predict_jointly(
                    features, families=families, known=known)
                joints[label] = NamedJoint(features.models, predictor.names,
                                           joint)
        for model, reason in without.items():
            for name in benchmarks:
                cell = model, name, label
                missing[cell] = reason if name in names else UNKNOWN_BENCHMARK
    models = tuple(next(iter(columns.values())))
    return Predictions.side_by_side(by_label, models, benchmarks,
                                    missing), joints
