"""Losses and scores of models, from where they were left.

Errors name every model that lacks something, so that one look tells what to
run.
"""
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.io.collection import write_collection
from csv_plugin.io.dumps import TokenLossDump, read_dump
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.paper import paper_scores
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.runs.run_scores import read_run_scores
from csv_plugin.io.tables import (BenchmarkInfo, FilePath, ModelColumns,
                                  ModelInfo, read_benchmarks, read_scores)

#: What options call the paper's tables of scores.
PAPER = 'paper'
#: By model and benchmark, fractions; what was not run is missing.
Scores = dict[str, dict[str, float]]


def collect(folder: FilePath,
            texts: TextSet,
            info: Mapping[str, ModelInfo],
            benchmarks: Mapping[str, BenchmarkInfo],
            runs: Sequence[FilePath] = (),
            dumps: Sequence[FilePath] = (),
            scores: Optional[FilePath] = None,
            progress: Progress = iter) -> None:
    """Make a collection of OpenCompass runs, or of dumps and a table.

    Args:
        folder (FilePath): Where to.
        texts (TextSet): The validation set.
        info (Mapping[str, ModelInfo]): The models.
        benchmarks (Mapping[str, BenchmarkInfo]): The benchmarks.
        runs (Sequence): As in `dumps_of_runs`.
        dumps (Sequence): As in `dumps_of_files`, if there are no runs.
        scores (Optional[FilePath]): As in `scores_of_table`; by default
            those of the runs.
        progress (Progress): Wraps the models.

    Raises:
        InputError: As in these functions, before anything is written.
    """
    _check_names(info)
    if scores:
        known = scores_of_table(scores, info, list(benchmarks))
    elif runs:
        known = scores_of_runs(runs, info, list(benchmarks))
    else:
        raise InputError('dumps', 'a table of scores beside them', 'none',
                         'Name it, or give runs with summaries.')
    losses = (
        dumps_of_runs(runs, info, texts.fingerprint, progress)
        if runs else dumps_of_files(dumps, info, texts.fingerprint, progress))
    write_collection(folder, texts, losses, info, known, benchmarks)


def _check_names(models: Iterable[str]) -> None:
    """Refuse what cannot be the name of a file."""
    for model in models:
        if '/' in model or model.startswith('.'):
            raise InputError(f'model {model!r}',
                             'a name without slashes, which files can '
                             'have', repr(model),
                             'Give it another `abbr` in its config.')


def dumps_of_runs(runs: Sequence[FilePath],
                  models: Iterable[str],
                  fingerprint: str,
                  progress: Progress = iter) -> dict[str, TokenLossDump]:
    """Token losses of models in OpenCompass runs.

    Args:
        runs (Sequence): Time-stamped folders, the newest last; the last one
            that has a model's dump counts.
        models (Iterable[str]): Their abbreviations.
        fingerprint (str): Of the validation set.
        progress (Progress): Wraps the models.

    Raises:
        InputError: If a model has no dump on these texts in any run.
    """

    def read(model: str) -> TokenLossDump:
        reasons = []
        for run in reversed(runs):
            try:
                return read_run_dump(run, model, fingerprint)
            except InputError as error:
                reasons.append(f'{os.fspath(run)}: {error}')
        raise InputError(f'losses of {model!r}', 'a dump in one of the runs',
                         '; '.join(reasons) or 'no run', 'Collect them.')

    return _of_all(read, models, progress)


def dumps_of_files(paths: Sequence[FilePath],
                   models: Iterable[str],
                   fingerprint: str,
                   progress: Progress = iter) -> dict[str, TokenLossDump]:
    """Token losses of models in files that are named after them.

    Args and errors as in `dumps_of_runs`, with paths such as
    `losses/my-model.parquet` in place of runs.
    """
    check_unique('names of dumps', [Path(path).stem for path in paths])
    by_name = {Path(path).stem: path for path in paths}

    def read(model: str) -> TokenLossDump:
        if model not in by_name:
            raise InputError(f'losses of {model!r}', f'a file {model}.parquet',
                             'none', 'Collect them.')
        dump = read_dump(by_name[model])
        if dump.info.fingerprint != fingerprint:
            raise InputError(
                os.fspath(by_name[model]),
                f'losses on the texts {fingerprint[:12]}',
                f'those on {dump.info.fingerprint[:12]}',
                'Score the texts of this validation set.')
        return dump

    return _of_all(read, models, progress)


def _of_all(read: Callable[[str], TokenLossDump], models: Iterable[str],
            progress: Progress) -> dict[str, TokenLossDump]:
    dumps, errors = {}, {}
    for model in progress(list(models)):
        try:
            dumps[model] = read(model)
        except InputError as error:
            errors[model] = error
    if errors:
        raise InputError(
            'token losses', 'a dump of every model on these texts',
            f'none of {", ".join(errors)} (first: '
            f'{next(iter(errors.values()))})',
            'Collect them, or remove the models from the table.')
    return dumps


def scores_of_runs(runs: Sequence[FilePath], models: Iterable[str],
                   benchmarks: Sequence[str]) -> Scores:
    """Observed scores of OpenCompass runs, as `read_run_scores` reads them.

    Args:
        runs (Sequence): As in `dumps_of_runs`; of several runs the last one
            that has a score counts.
        models (Iterable[str]): Their abbreviations.
        benchmarks (Sequence[str]): Abbreviations of datasets or groups.

    Raises:
        InputError: If no run has a summary, or a benchmark has no score.
    """
    found, errors = [], []
    for run in runs:
        try:
            found.append(read_run_scores(run, benchmarks))
        except InputError as error:
            errors.append(error)
    # A run of other models may have been given up before its summary.
    if not found:
        raise errors[0]
    scores: Scores = {model: {} for model in models}
    _check_models('runs', scores, {m for scored in found for m in scored})
    for scored in found:
        for model, row in scored.items():
            if model in scores:
                scores[model].update(row)
    _check_benchmarks('runs', scores, benchmarks)
    return scores


def scores_of_table(table: FilePath, models: Iterable[str],
                    benchmarks: Sequence[str]) -> Scores:
    """Observed scores of a table.

    Args:
        table (FilePath): As in `read_scores`, or `PAPER` for the paper's
            Tables 3 and 4.
        models (Iterable[str]): Whose scores.
        benchmarks (Sequence[str]): Columns of the table.

    Raises:
        InputError: If the file cannot be used, or a benchmark has no score.
    """
    if table == PAPER:
        known = paper_scores()
        found = ModelColumns(known.models, known.benchmarks, known.values)
    else:
        found = read_scores(table)
    wanted = set(models)
    _check_models(f'scores of {os.fspath(table)}', wanted, set(found.models))
    scores: Scores = {
        model: {
            name: float(value)
            for name, value in zip(found.columns, row)
            if name in benchmarks and not np.isnan(value)
        }
        for model, row in zip(found.models, found.values) if model in wanted
    }
    _check_benchmarks(f'scores of {os.fspath(table)}', scores, benchmarks)
    return scores


def _check_models(where: str, wanted: Iterable[str], known: set[str]) -> None:
    if known.isdisjoint(wanted):
        raise InputError(where, f'scores of models such as {min(wanted)!r}',
                         f'those of {", ".join(sorted(known)) or "none"}',
                         'Use the same names in all tables.')


def _check_benchmarks(where: str, scores: Scores,
                      benchmarks: Sequence[str]) -> None:
    lacking = [
        name for name in benchmarks
        if not any(name in row for row in scores.values())
    ]
    if lacking:
        raise InputError(where,
                         'a score of one of the models on every benchmark',
                         f'none on {", ".join(lacking)}',
                         'Run them, correct the names, or leave them out.')


def named_benchmarks(names: Sequence[str],
                     chance: Mapping[str, float]) -> dict[str, BenchmarkInfo]:
    """Benchmarks with their chance levels.

    Args:
        names (Sequence[str]): One table as in `read_benchmarks`, a path that
            ends in .csv, or names that the shipped table knows.
        chance (Mapping[str, float]): Chance levels of names that it lacks,
            or where another level is meant.

    Raises:
        InputError: As in `read_benchmarks` and `benchmark_infos`.
    """
    if len(names) == 1 and names[0].endswith('.csv'):
        known = read_benchmarks(names[0])
        levels = {name: info.chance for name, info in known.items()}
        checked = benchmark_infos(list(known), {**levels, **chance})
        return {
            name: replace(info, chance=checked[name].chance)
            for name, info in known.items()
        }
    return benchmark_infos(names, chance)
