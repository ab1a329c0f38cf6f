"""Collect losses and accuracies of models from runs, files and tables.

Errors name all models whose losses are missing, so that they can be scored
in one run.
"""
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import (FRACTIONS_REMEDY, AccuracyTable,
                                        fractions_found, seem_fractions)
from csv_plugin.core.cells import counted
from csv_plugin.core.conventions import InputError, Progress, shortened
from csv_plugin.core.model_losses import ModelLosses, TokenLossDump
from csv_plugin.core.texts import TextSet
from csv_plugin.io.collection import Collection
from csv_plugin.io.dumps import merge_dumps, read_dump
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import group_remedy
from csv_plugin.io.model_paths import paths_by_model
from csv_plugin.io.paper import paper_accuracies
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.runs.run_scores import (SUMMARY, newest_summary,
                                           read_run_accuracies)
from csv_plugin.io.tables import (BenchmarkInfo, ModelColumns, ModelInfo,
                                  read_accuracy_columns)

#: The paper's tables of accuracies, in place of the path of a table.
PAPER = 'paper'
#: Accuracies in 0..1 by model and benchmark, without those that were not run.
Accuracies = dict[str, dict[str, float]]
_RUNS = 'runs'


def collect(texts: TextSet,
            info: Mapping[str, ModelInfo],
            benchmarks: Mapping[str, BenchmarkInfo],
            runs: Sequence[FilePath] = (),
            dumps: Sequence[FilePath] = (),
            scores: Optional[FilePath] = None,
            progress: Progress = iter) -> Collection:
    """A collection from OpenCompass runs, or from dumps and a table.

    Args:
        texts (TextSet): The validation set.
        info (Mapping[str, ModelInfo]): The models.
        benchmarks (Mapping[str, BenchmarkInfo]): The benchmarks.
        runs (Sequence): As in `dumps_of_runs`.
        dumps (Sequence): As in `dumps_of_files`, used if there are no runs.
        scores (Optional[FilePath]): The table of accuracies, as in
            `accuracies_of_table`; None to read those of the runs.
        progress (Progress): Wraps the models.

    Raises:
        InputError: As in these functions.
    """
    if scores:
        accuracies = accuracies_of_table(scores, info, list(benchmarks))
    elif runs:
        accuracies = accuracies_of_runs(runs, info, list(benchmarks))
        _check_percent(accuracies, benchmarks)
    else:
        raise InputError('dumps', 'a table of accuracies beside them', 'none',
                         'Give the table, or give runs with summaries.')
    losses = (
        dumps_of_runs(runs, info, texts.fingerprint, progress)
        if runs else dumps_of_files(dumps, info, texts.fingerprint, progress))
    table = AccuracyTable(
        tuple(info), tuple(benchmarks),
        np.array([[
            accuracies.get(model, {}).get(name, np.nan) for name in benchmarks
        ] for model in info]),
        np.array([details.chance for details in benchmarks.values()]),
        np.array([details.n_items for details in benchmarks.values()]))
    return Collection(
        ModelLosses(texts, {
            model: merge_dumps([dump], texts)
            for model, dump in losses.items()
        }), table, info,
        tuple(name for name in benchmarks if not benchmarks[name].main))


def dumps_of_runs(runs: Sequence[FilePath],
                  models: Iterable[str],
                  fingerprint: str,
                  progress: Progress = iter) -> dict[str, TokenLossDump]:
    """Read the token losses of models from OpenCompass runs.

    Args:
        runs (Sequence): Time-stamped folders, the newest last. If several
            contain a dump of a model, the last of them counts.
        models (Iterable[str]): Abbreviations of the models.
        fingerprint (str): Of the validation set.
        progress (Progress): Wraps the models.

    Returns:
        dict[str, TokenLossDump]: By model, in the given order.

    Raises:
        InputError: No run has a dump of a model on these texts.
    """

    def read(model: str) -> TokenLossDump:
        reasons = []
        for run in reversed(runs):
            try:
                return read_run_dump(run, model, fingerprint)
            except InputError as error:
                reasons.append(f'{os.fspath(run)}: {error}'.rstrip('.'))
        raise InputError(f'losses of {model!r}', 'a dump in one of the runs',
                         '; '.join(reasons) or 'no run',
                         'Score the texts with the model.')

    return _read_all(read, models, progress)


def dumps_of_files(paths: Sequence[FilePath],
                   models: Iterable[str],
                   fingerprint: str,
                   progress: Progress = iter) -> dict[str, TokenLossDump]:
    """Read the token losses of models from files that are named after them.

    Args:
        paths (Sequence): Paths such as `losses/my-model.safetensors`.
        models (Iterable[str]): Names of the models. A warning tells of other
            models that have a file.
        fingerprint (str): Of the validation set.
        progress (Progress): Wraps the models.

    Returns:
        dict[str, TokenLossDump]: By model, in the given order.

    Raises:
        InputError: Two files have one name, or a model has no file, or the
            file of a model is not a dump on these texts.
    """
    files, models = paths_by_model(paths), list(models)
    rest = [name for name in files if name not in models]
    if rest:
        warnings.warn(
            f'losses of {counted(len(rest), "model")} without a row in the '
            f'table of models are left out: {shortened(", ".join(rest), 80)}',
            stacklevel=3)

    def read(model: str) -> TokenLossDump:
        if model not in files:
            raise InputError(f'losses of {model!r}',
                             f'a file {model}.safetensors', 'none',
                             'Score the texts with the model.')
        dump = read_dump(files[model])
        if dump.info.fingerprint != fingerprint:
            raise InputError(
                str(files[model]), f'losses on the texts {fingerprint[:12]}',
                f'losses on the texts {dump.info.fingerprint[:12]}',
                'Score the texts of this validation set.')
        return dump

    return _read_all(read, models, progress)


def _read_all(read: Callable[[str], TokenLossDump], models: Iterable[str],
              progress: Progress) -> dict[str, TokenLossDump]:
    """Read the dump of every model; one error names all that have none."""
    dumps, errors = {}, {}
    for model in progress(list(models)):
        try:
            dumps[model] = read(model)
        except InputError as error:
            errors[model] = error
    if errors:
        raise InputError(
            'token losses', 'a dump of every model on these texts',
            f'none of {len(errors)}: {", ".join(errors)} (the first error: '
            f'{next(iter(errors.values()))})',
            'Score the texts with these models, or remove the models from '
            'the table.')
    return dumps


def accuracies_of_runs(runs: Sequence[FilePath], models: Iterable[str],
                       benchmarks: Sequence[str]) -> Accuracies:
    """Read the accuracies of models from OpenCompass runs.

    Args:
        runs (Sequence): Time-stamped folders, the newest last; runs without
            a summary are skipped. If several have an accuracy of a model on
            a benchmark, the last of them counts.
        models (Iterable[str]): Abbreviations of the models.
        benchmarks (Sequence[str]): Abbreviations of datasets or summary
            groups.

    Returns:
        Accuracies: Of all models, in the given order.

    Raises:
        InputError: No run has a summary, a summary is damaged, or there is
            no accuracy on a benchmark.
    """
    # A run of other models may have been given up before its summary.
    finished = [run for run in runs if newest_summary(run, SUMMARY)]
    summaries = [
        read_run_accuracies(run, benchmarks) for run in finished or runs[:1]
    ]
    accuracies: Accuracies = {model: {} for model in models}
    _check_models(_RUNS, accuracies, set[str]().union(*summaries))
    for summary in summaries:
        for model in accuracies.keys() & summary:
            accuracies[model].update(summary[model])
    _check_benchmarks(_RUNS, accuracies, benchmarks)
    return accuracies


def accuracies_of_table(path: FilePath, models: Iterable[str],
                        benchmarks: Sequence[str]) -> Accuracies:
    """Read the accuracies of models from a table.

    Args:
        path (FilePath): As in `read_accuracy_columns`, or `PAPER` for Tables
            3 and 4 of the paper.
        models (Iterable[str]): Names of the models.
        benchmarks (Sequence[str]): Columns of the table.

    Returns:
        Accuracies: Of those models that have a row, in the table's order.

    Raises:
        InputError: The file cannot be used, or there is no accuracy on a
            benchmark.
    """
    if path == PAPER:
        printed = paper_accuracies()
        table = ModelColumns(printed.models, printed.benchmarks,
                             printed.values)
    else:
        table = read_accuracy_columns(path)
    where = f'accuracies of {os.fspath(path)}'
    wanted = set(models)
    _check_models(where, wanted, set(table.models))
    accuracies: Accuracies = {
        model: {
            name: float(value)
            for name, value in zip(table.columns, row)
            if name in benchmarks and not np.isnan(value)
        }
        for model, row in zip(table.models, table.values) if model in wanted
    }
    _check_benchmarks(where, accuracies, benchmarks)
    return accuracies


def _check_models(where: str, wanted: Iterable[str],
                  present: set[str]) -> None:
    if present.isdisjoint(wanted):
        raise InputError(where,
                         f'accuracies of models such as {min(wanted)!r}',
                         f'models {", ".join(sorted(present)) or "none"}',
                         'Use the same names in all tables.')


def _check_percent(accuracies: Accuracies,
                   benchmarks: Mapping[str, BenchmarkInfo]) -> None:
    for name, info in benchmarks.items():
        values = [row[name] for row in accuracies.values() if name in row]
        if seem_fractions(values, info.chance):
            raise InputError(
                f'accuracies on {name!r}', 'percentages, as OpenCompass has',
                fractions_found(info.chance),
                f'{FRACTIONS_REMEDY} Or give a table of fractions.')


def _check_benchmarks(where: str, accuracies: Accuracies,
                      benchmarks: Sequence[str]) -> None:
    lacking = [
        name for name in benchmarks
        if not any(name in row for row in accuracies.values())
    ]
    if lacking:
        raise InputError(
            where, 'an accuracy on every benchmark, of at least one model',
            f'none on {", ".join(lacking)}',
            where == _RUNS and group_remedy(lacking)
            or 'Run the benchmarks, correct their names, or leave them out.')
