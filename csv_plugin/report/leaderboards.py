"""Make leaderboards: observed and predicted accuracies of a run's models."""
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.arrays import Floats
from csv_plugin.core.copies import equal_models, hash_of, notes_on_copies
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import grouped, labelled, or_none, percent
from csv_plugin.core.model_losses import mixed_engine_notes
from csv_plugin.core.overall import NamedJoint, Overall
from csv_plugin.core.predicting import (ColumnsByLabel, ObservedAccuracies,
                                        Predictors, collect_features,
                                        fitted_benchmarks, known_items,
                                        predict_models)
from csv_plugin.core.predictions import NOT_YET, OBSERVED, Missing, Predictions
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import scores_alone
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.report.notes import (Files, copy_notes, item_notes, mean_notes,
                                     prediction_notes, predictor_notes)

#: Columns of the CSV file and fields of the JSON rows, see `Leaderboard.rows`.
FIELDS = ('model', 'benchmark', 'predictor', 'observed', 'items', 'predicted',
          'low', 'high', 'difference', 'extrapolated', 'in_sample', 'missing',
          'with_scores', 'at_chance', 'expected_error')

#: Numbers of items by model and benchmark.
Items = Mapping[tuple[str, str], int]
#: Maps each model's name in tables to its name in the files of a run.
Folders = Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Models with their observed and predicted accuracies.

    The methods of `predictions` are the labels of predictors. `notes`, one
    line each, explain marks, give the reasons for missing values, and make
    remarks. `overall` has means over benchmarks, and ranks. `known` are
    accuracies that the predictions are conditioned on. The models of `known`
    have the names in the files of the run, which are the values of `folders`,
    not the names that are shown. `items` has the numbers of items on which
    observed accuracies were measured, where known.
    """
    predictions: Predictions
    folders: Folders
    notes: tuple[str, ...]
    overall: Overall
    items: Items = field(default_factory=dict)
    known: Optional[AccuracyTable] = None

    @classmethod
    def of(cls,
           predictions: Predictions,
           folders: Optional[Folders] = None,
           remarks: Sequence[str] = (),
           joints: Mapping[str, NamedJoint] = MappingProxyType({}),
           known: Optional[AccuracyTable] = None) -> 'Leaderboard':
        """Make a leaderboard with means, ranks and notes.

        `remarks` are further notes. `joints` maps labels to the joint
        distribution of the accuracies, where it is known; intervals of means
        and ranges of ranks need it. `known` are the accuracies that the
        predictions are conditioned on.
        """
        if not folders:
            models = predictions.models
            folders = dict(zip(models, models))
        # Where predictions only fill gaps, no observed means are shown.
        of_means = predictions
        if known is not None and _is_gap_filling(predictions):
            of_means = replace(predictions, observed=np.array(np.nan))
        overall = Overall.of(of_means, joints)
        notes = [
            *prediction_notes(predictions, overall),
            *remarks,
            *mean_notes(overall, predictions.level),
        ]
        return cls(predictions, folders, tuple(notes), overall, known=known)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for every model, benchmark and predictor, in this order.

        Its keys are `FIELDS`. Accuracies are in percent, and flags are 0 or 1;
        missing values are None.
        """
        predictions = self.predictions
        by_method = [predictions.difference(m) for m in predictions.methods]
        # In the order of the records: by model, benchmark and method.
        differences = np.dstack(by_method).ravel().tolist()
        for record, difference in zip(predictions.records(), differences):
            row: dict[str, Any] = {}
            for name, value in record.items():
                row[name] = _plain(value)
            row['predictor'] = row['method']
            row['items'] = None
            if row['observed'] is not None:
                cell = row['model'], row['benchmark']
                row['items'] = self.items.get(cell)
            # The difference is computed from fractions, as in the tables. A
            # difference of rounded percentages may have another digit.
            row['difference'] = _percent_or_none(difference)
            yield {name: row[name] for name in FIELDS}

    def mean_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for every model and predictor, with its means and ranks.

        Means are in percent, flags 0 or 1, and `probability_best` is a
        fraction; missing values are None. The rank by the predicted mean lies
        between `best_rank` and `worst_rank` with the probability of the
        intervals. Where reports show no means, there are no rows.
        """
        overall = self.overall
        if not overall.has_means:
            return
        observed_ranks = overall.observed_ranks()
        for m, model in enumerate(overall.models):
            for method in self.predictions.methods:
                row = {
                    'model': model,
                    'predictor': method,
                    'observed': _percent_or_none(overall.observed[m]),
                    'predicted': None,
                    'low': None,
                    'high': None,
                    'difference': None,
                    'in_sample': None,
                    'observed_rank': or_none(observed_ranks[m], int),
                    'best_rank': None,
                    'worst_rank': None,
                    'probability_best': None
                }
                if method in overall.methods:
                    row |= self._predicted_mean(m, method)
                yield row

    def _predicted_mean(self, m: int, method: str) -> dict[str, Any]:
        """Return the fields of `mean_rows` that are of predictions.

        `m` is the index of the model. Fields of a joint distribution that is
        not known are left out.
        """
        overall = self.overall
        p = overall.methods.index(method)
        if math.isnan(overall.values[m, p]):
            return {}
        difference = overall.differences()[m, p]
        found = {
            'predicted': _percent_or_none(overall.values[m, p]),
            'difference': _percent_or_none(difference),
            'in_sample': int(overall.in_sample[m, p]),
        }
        view = overall.views.get(method)
        if view is not None:
            found |= {
                'low': _percent_or_none(view.low[m]),
                'high': _percent_or_none(view.high[m]),
                'best_rank': or_none(view.ranks.first[m], int),
                'worst_rank': or_none(view.ranks.last[m], int),
                'probability_best': or_none(view.ranks.best[m])
            }
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with accuracies in percent."""
        predictions = self.predictions
        chance = {}
        for name, level in predictions.chance.items():
            chance[name] = percent(level)
        items = []
        for cell, n_items in self.items.items():
            items.append([*cell, n_items])
        known: dict[str, dict[str, float]] = {}
        if self.known is not None:
            for model, accuracies in self.known.to_dict().items():
                known[model] = {}
                for name, accuracy in accuracies.items():
                    if accuracy is not None:
                        known[model][name] = percent(accuracy)
        overall = self.overall
        return {
            'unit': 'percent',
            'level': or_none(predictions.level),
            'models': list(predictions.models),
            'benchmarks': list(predictions.benchmarks),
            'predictors': list(predictions.methods),
            'rows': list(self.rows()),
            'means_over':
            list(overall.benchmarks) if overall.has_means else [],
            'means': list(self.mean_rows()),
            'chance': chance,
            'folders': dict(self.folders),
            'items': items,
            'known': known,
            'notes': list(self.notes),
        }


def _is_gap_filling(predictions: Predictions) -> bool:
    """Return True if predictions fill gaps between the observed accuracies.

    Then the predictions are conditioned on all observed accuracies, and some
    accuracies of main benchmarks are not observed. Only means of predicted
    accuracies are shown in this case: observed means would be over few
    benchmarks or models, and would test no prediction.
    """
    of_main = predictions.select(benchmarks=predictions.main)
    has_gaps = bool(np.isnan(of_main.observed).any())
    main_method = predictions.methods[0]
    has_held_out = predictions.held_out(main_method).any()
    return has_gaps and not has_held_out


def _plain(value: Any) -> Any:
    """Turn a fraction into percent and a flag into 0 or 1; keep all else."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return percent(value)
    return value


def _percent_or_none(fraction: float) -> Optional[float]:
    """Return a fraction in percent, None for NaN."""
    if math.isnan(fraction):
        return None
    return percent(fraction)


def predict_run(work_dir: FilePath,
                folders: Folders,
                predictors: Predictors,
                files: Files,
                observed: ObservedAccuracies,
                progress: Progress = iter,
                known: Optional[AccuracyTable] = None,
                items: Items = MappingProxyType({}),
                families: Optional[Mapping[str, str]] = None
                ) -> tuple[Leaderboard, ColumnsByLabel]:  # yapf: disable
    """Return the leaderboard of a run, and the feature columns of its models.

    `work_dir` is the folder of the run. `predictors` maps labels to
    predictors, or to a `Missing` with the reason why a predictor is unusable.
    `observed` has an entry for each model and each of the
    `fitted_benchmarks`: an accuracy, or a `Missing` with the reason why there
    is none. `progress` wraps the loop over models. The docstring of
    `predict_columns` explains the other arguments.
    """
    read = partial(read_run_dump, work_dir)
    names = list(folders.values())
    columns, infos = collect_features(predictors, names, read, progress)
    info_of_model = {}
    for model, folder in folders.items():
        if folder in infos:
            info_of_model[model] = infos[folder]
    remarks = mixed_engine_notes(info_of_model)
    board = predict_columns(columns, folders, predictors, files, observed,
                            remarks, known, items, families)
    return board, columns


def predict_columns(
        columns: ColumnsByLabel,
        folders: Folders,
        predictors: Predictors,
        files: Files,
        observed: ObservedAccuracies,
        remarks: Sequence[str] = (),
        known: Optional[AccuracyTable] = None,
        items: Items = MappingProxyType({}),
        families: Optional[Mapping[str, str]] = None) -> Leaderboard:
    """Return the leaderboard of models, given their feature columns.

    `known` and `families` are arguments of `Predictor.predict`; their models
    have the names that are the values of `folders`. `items` has the numbers of
    items on which observed accuracies were measured, where known. If a model
    ran fewer items than a predictor was fitted to, its observed accuracies are
    compared with wider intervals (see `Predictions.widened_intervals`). The
    other arguments are explained in `predict_run` and `Leaderboard.of`.
    """
    benchmarks = fitted_benchmarks(predictors)
    predictions, joints = predict_models(predictors, columns, benchmarks,
                                         known, families)
    predictions = predictions.select(folders)
    missing = dict(predictions.missing)
    for (model, benchmark), accuracy in observed.items():
        if isinstance(accuracy, Missing):
            missing[model, benchmark, OBSERVED] = accuracy
    predictions = replace(
        predictions,
        observed=_observed_accuracies(observed, folders, benchmarks),
        missing=missing,
        more_noise=_more_noise(predictions, predictors, items))
    of_training = predictor_notes(predictors, files)
    if predictions.at_chance.any():
        # The legend explains the mark of these predictions.
        of_training = [
            note for note in of_training if not note.endswith(NOT_YET)
        ]
    notes = [
        *remarks,
        *_copies(columns, predictors),
        *item_notes(predictions, items),
        *of_training,
    ]
    named_joints = {}
    for label, joint in joints.items():
        named_joints[label] = joint.renamed(folders)
    board = Leaderboard.of(predictions, folders, notes, named_joints, known)
    return replace(board, items=items)


def _copies(columns: ColumnsByLabel, predictors: Predictors) -> list[str]:
    """Return lines on copies of models, with the labels of the predictors.

    These are copies of training models, and copies among new models. They call
    models by their names in files, as the predictor does.
    """
    notes = []
    for label, predictor in predictors.items():
        if isinstance(predictor, Missing):
            continue
        # The columns of the mean loss.
        counted = predictor.columns.uniform != 0
        losses = predictor.fit.losses[:, counted]
        fitted = dict(zip(predictor.fit_models, losses))
        predicted = {}
        for model, table in columns[label].items():
            if isinstance(table, FeatureTable):
                predicted[model] = table.values[:, counted]
        of_training = {hash_of(part) for part in fitted.values()}
        new = {}
        for model, part in predicted.items():
            if hash_of(part) not in of_training:
                new[model] = part
        twins = notes_on_copies('models', equal_models(new))
        for note in (*copy_notes(fitted, predicted), *twins):
            notes.append((note, label))
    lines = []
    for note, labels in grouped(notes).items():
        lines.append(labelled(labels, [*predictors], note))
    return lines


def known_in_run(observed: ObservedAccuracies, folders: Folders,
                 benchmarks: Sequence[str]) -> AccuracyTable:
    """Return the accuracies of a run as a table.

    In the table, models have their names in the files of the run, which are
    the values of `folders`.
    """
    values = _observed_accuracies(observed, folders, benchmarks)
    return scores_alone([*folders.values()], benchmarks, values)


def _more_noise(predictions: Predictions, predictors: Predictors,
                items: Items) -> Floats:
    """Return the additional variance of accuracies of few items, `(M, B, P)`.

    The variance is divided by p (1 - p), where p is the accuracy. For n items
    that were drawn without replacement from the N items that predictors were
    fitted to, the result is 1/n - 1/N. It is 0 where all items were run, or
    where n is unknown. An unknown N counts as infinite.
    """
    whole = known_items(predictors)
    found = np.zeros(predictions.values.shape)
    for m, model in enumerate(predictions.models):
        for b, name in enumerate(predictions.benchmarks):
            n_items = items.get((model, name), 0)
            n_whole = whole[name]
            if n_items:
                noise_of_whole = 1 / n_whole if n_whole else 0
                found[m, b] = max(1 / n_items - noise_of_whole, 0)
    return found


def _observed_accuracies(observed: ObservedAccuracies, models: Collection[str],
                         benchmarks: Collection[str]) -> Floats:
    """Return observed accuracies, fractions, `(M, B)`; NaN if missing."""
    shape = len(models), len(benchmarks)
    values = np.full(shape, np.nan)
    for m, model in enumerate(models):
        for b, name in enumerate(benchmarks):
            accuracy = observed.get((model, name), np.nan)
            if not isinstance(accuracy, Missing):
                values[m, b] = accuracy
    return values
