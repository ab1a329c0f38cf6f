"""Read, write and check the data that a predictor is trained on.

A collection contains the token losses and the accuracies of many models, and
the texts on which the losses were measured.
"""
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean, one_line
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.core.metric_names import why_no_accuracy
from csv_plugin.core.model_losses import ModelLosses, TokenLossDump
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.io.dumps import merge_dumps, read_dumps, write_dump
from csv_plugin.io.files import FilePath, check_file_names, file_set
from csv_plugin.io.model_tables import (BENCHMARKS, SCORES, accuracy_table,
                                        read_accuracies, read_accuracy_columns,
                                        write_accuracies)
from csv_plugin.io.paper import PAPER, paper_accuracies
from csv_plugin.io.runs.run_dumps import DumpPlace, NoDump, find_dumps
from csv_plugin.io.runs.run_scores import (SUMMARY, newest_summary,
                                           read_run_accuracies)
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo, check_names_in,
                                  read_models, write_csv)
from csv_plugin.io.text_sets import TEXTS, read_texts, write_texts

#: Name of the table of models in the folder of a collection.
MODELS = 'models.csv'
#: The beginning of errors about the accuracies of OpenCompass runs.
_RUNS = 'runs'
#: Accuracies by model and benchmark.
_Scores = Mapping[str, Mapping[str, Optional[float]]]


@dataclass(frozen=True, eq=False)
class Collection:
    """Losses and accuracies of M models on one validation set.

    `losses` and `accuracies` have the same models in the same order. `info`
    has the family, split and size of each model.
    """
    losses: ModelLosses
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]

    def __repr__(self) -> str:
        return f'Collection({self.losses}, {self.accuracies})'

    @property
    def texts(self) -> TextSet:
        """Validation set on which the losses were measured."""
        return self.losses.texts

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return {model: info.family for model, info in self.info.items()}

    def coverage(self, fitted: Sequence[str]) -> list[str]:
        """Return lines that tell how complete the losses and accuracies are.

        The first line is about the losses, each further line about a
        benchmark. `fitted` are the models to fit a predictor to.

        Raises:
            InputError: No model in `fitted` has an accuracy on some benchmark.
        """
        models = self.accuracies.models
        lines = [
            f'{len(models)} models, {len(fitted)} to fit to, losses on '
            f'{len(self.texts)} texts'
        ]
        for name in self.accuracies.benchmarks:
            gaps = np.isnan(self.accuracies.column(name))
            missing = list(compress(models, gaps))
            n_run = len(models) - len(missing)
            n_fitted = len({*fitted}.difference(missing))
            if not n_fitted:
                raise InputError(
                    f'accuracies on {name!r}',
                    'the accuracy of a model to fit to',
                    f'accuracies of {n_run} models, none of them to fit to',
                    'Run the benchmark on models to fit to, or leave the '
                    'benchmark out.')
            rest = f'; none of {", ".join(missing)}' if missing else ''
            lines.append(f'{name}: accuracies of {n_run} of {len(models)} '
                         f'models, {n_fitted} of them to fit to{rest}')
        return list(map(one_line, lines))

    def write(self, folder: FilePath) -> None:
        """Write the files that `read_collection` reads into a folder.

        The folder is made if it does not exist.
        """
        check_file_names('model', self.info, 'Rename the model.')
        root = Path(folder)
        with file_set(root):
            for model, dump in self.losses.items():
                write_dump(root / f'{model}.safetensors', dump)
            write_texts(root / TEXTS, self.texts)
            header = 'model', 'family', 'params_b', 'split', 'tokens'
            rows = []
            for model, row in self.info.items():
                rows.append(
                    (model, row.family, row.params_b, row.split, row.tokens))
            write_csv(root / MODELS, header, rows)
            write_accuracies(root, self.accuracies)


def read_collection(folder: FilePath, progress: Progress = iter) -> Collection:
    """Read a collection from a folder with a dump of every model.

    A dump is `<model>.safetensors`. The folder also has `texts.jsonl`,
    `models.csv`, `scores.csv` and `benchmarks.csv`, which docs/formats.md
    describes. A model without a row in `scores.csv` was run on no benchmark.
    `progress` wraps the loop over dumps.

    Raises:
        InputError: A file is missing or cannot be used, a model of
            `scores.csv` is not in `models.csv`, or the name of a model cannot
            be the name of a file.
    """
    root = Path(folder)
    texts = read_texts(root / TEXTS)
    info = read_models(root / MODELS)
    check_file_names(f'{root / MODELS}, model', info, 'Rename the model.')
    accuracies = read_accuracies(root / SCORES, root / BENCHMARKS)
    check_names_in(root / SCORES, 'models', accuracies.models, root / MODELS,
                   info)
    accuracies = accuracies.reindexed(tuple(info), accuracies.benchmarks)
    files = {model: root / f'{model}.safetensors' for model in info}
    losses = read_dumps(files, texts, progress)
    return Collection(losses, accuracies, info)


def collect(texts: TextSet,
            info: Mapping[str, ModelInfo],
            benchmarks: Mapping[str, BenchmarkInfo],
            runs: Sequence[FilePath] = (),
            dumps: Sequence[FilePath] = (),
            scores: Optional[FilePath] = None,
            progress: Progress = iter) -> Collection:
    """Return a collection from OpenCompass runs, or from dumps and a table.

    The result has the models of `info` and the benchmarks of `benchmarks`. A
    warning names models that are left out although they have a dump, and
    benchmarks that are left out because their metric is no accuracy.

    Args:
        texts (TextSet): Validation set on which the losses were measured.
        info (Mapping[str, ModelInfo]): Family, split and size by model.
        benchmarks (Mapping[str, BenchmarkInfo]): Chance level and number of
            items by benchmark.
        runs (Sequence[FilePath]): Time-stamped folders, the newest last. If
            several runs have the same dump or accuracy, the last run counts.
            Accuracies come from the runs with a summary; at least one run must
            have a summary.
        dumps (Sequence[FilePath]): Paths as in `find_dumps`, used only if
            there are no runs.
        scores (Optional[FilePath]): Table as in `read_accuracy_columns`, or
            'paper' for Tables 3 and 4 of the paper. None reads the accuracies
            of the runs.
        progress (Progress): Wraps the loop over models.

    Raises:
        InputError: A file cannot be used, a model has no dump on `texts`, or
            no model has an accuracy on some benchmark.
    """
    if scores:
        found = _scores_of(scores)
        where = f'accuracies of {os.fspath(scores)}'
    elif runs:
        found, others = _scores_of_runs(runs, list(benchmarks))
        benchmarks = _without(benchmarks, others)
        where = _RUNS
    else:
        raise InputError('dumps', 'a table of accuracies beside them', 'none',
                         'Give the table, or give runs with summaries.')
    if not info.keys() & found.keys():
        raise InputError(
            where, f'accuracies of models such as {min(info)!r}',
            f'models {", ".join(sorted(found)) or "none"}',
            f'{did_you_mean(info, found)}Use the same names in all tables.')
    rows = []
    for model in info:
        row = found.get(model, {})
        rows.append([row.get(name) for name in benchmarks])
    values = np.array(rows, np.float64)
    accuracies = accuracy_table(tuple(info), benchmarks, values)
    run_on = accuracies.benchmarks_run
    missing = [name for name in benchmarks if name not in run_on]
    if missing:
        run_names: set[str] = set()
        for of_model in found.values():
            run_names.update(of_model)
        similar = did_you_mean(missing, run_names)
        remedy = (f'{similar}Run the benchmarks, correct their names, or '
                  'leave them out.')
        if where == _RUNS:
            remedy += (' An average such as mmlu needs its summary_groups in '
                       'the summarizer, and then -m viz -r.')
        raise InputError(
            where, 'an accuracy on every benchmark, of at least one model',
            f'none on {", ".join(missing)}', remedy)
    if not scores:
        _check_percent(accuracies)
    losses = _read_losses(texts, list(info), runs, dumps, progress)
    return Collection(ModelLosses(texts, losses), accuracies, info)


def _read_losses(texts: TextSet, models: Sequence[str],
                 runs: Sequence[FilePath], dumps: Sequence[FilePath],
                 progress: Progress) -> dict[str, TokenLossDump]:
    """Return the dump of every model, by the name of the model.

    Raises:
        InputError: Models have no dump that can be used. The error names all
            of these models.
    """
    files = {} if runs else find_dumps(dumps)
    rest = [name for name in files if name not in models]
    if rest:
        names = shortened(', '.join(rest), 80)
        warnings.warn(
            f'losses of {counted(len(rest), "model")} without a row in the '
            f'table of models are left out: {names}',
            stacklevel=3)
    found = {}
    errors = {}
    for model in progress(models):
        if model in files:
            places = [files[model]]
        else:
            # The last run that contains a dump counts.
            places = [DumpPlace(Path(run), model) for run in reversed(runs)]
        try:
            dump = _first_dump(model, places, texts.fingerprint)
            found[model] = merge_dumps([dump], texts)
        except InputError as error:
            errors[model] = error
    if errors:
        raise InputError(
            'token losses', 'a dump of every model on these texts',
            f'none of {len(errors)}: {", ".join(errors)} (the first error: '
            f'{next(iter(errors.values()))})',
            f'{did_you_mean(errors, rest)}Score the texts with these models, '
            'or remove their rows.')
    return found


def _first_dump(model: str, places: Sequence[DumpPlace],
                fingerprint: str) -> TokenLossDump:
    """Read the first dump of a model that can be used.

    `places` say where dumps may be. If an earlier dump could not be used, a
    warning tells why.
    """
    reasons = []
    failed = []
    for place in places:
        try:
            dump = place.read(fingerprint)
        except InputError as error:
            reasons.append(f'{place.path}: {error}'.rstrip('.'))
            if not isinstance(error, NoDump):
                failed.append(reasons[-1])
        else:
            if failed:
                warnings.warn(
                    f'losses of {model!r} are read from {place.path}, because '
                    'the losses in a later run cannot be used '
                    f'({"; ".join(failed)})',
                    stacklevel=4)
            return dump
    raise InputError(f'losses of {model!r}', 'a dump', '; '.join(reasons)
                     or 'none', 'Score the texts with the model.')


def _scores_of(path: FilePath) -> _Scores:
    """Return the accuracies in a table, or in the paper for 'paper'."""
    if path == PAPER:
        return paper_accuracies().to_dict()
    table = read_accuracy_columns(path)
    scores = {}
    for model, row in zip(table.models, table.values.tolist()):
        scores[model] = dict(zip(table.columns, row))
    return scores


def _scores_of_runs(
        runs: Sequence[FilePath],
        benchmarks: Sequence[str]) -> tuple[_Scores, dict[str, str]]:
    """Return accuracies by model and benchmark, and metrics by benchmark.

    If several runs have the same accuracy, the last run counts. The second
    result has the benchmarks without an accuracy in any run, and the names of
    their other metrics.
    """
    # A run without a summary was given up and is not used. If no run has a
    # summary, reading the runs raises the error.
    finished = []
    for run in runs:
        if newest_summary(run, SUMMARY):
            finished.append(run)
    found: dict[str, dict[str, float]] = {}
    others: dict[str, str] = {}
    for run in finished or runs:
        by_model, other_metrics = read_run_accuracies(run, benchmarks)
        others |= other_metrics
        for model, row in by_model.items():
            found.setdefault(model, {}).update(row)
    for row in found.values():
        for name in row:
            others.pop(name, None)
    return found, others


def _without(benchmarks: Mapping[str, BenchmarkInfo],
             others: Mapping[str, str]) -> dict[str, BenchmarkInfo]:
    """Return the benchmarks that are not in `others`, and warn of `others`.

    `others` has the metrics of benchmarks whose metrics are no accuracies.
    """
    remedy = ('Leave the benchmark out, or give accuracies as a table of your '
              'own, --scores.')
    for name, metrics in others.items():
        if len(others) == len(benchmarks):
            raise InputError(f'{_RUNS}, {name}',
                             'a metric that is an accuracy', metrics, remedy)
        warnings.warn(
            f'left out benchmark {name!r}: {why_no_accuracy(metrics)}. '
            f'{remedy}',
            stacklevel=3)
    kept = dict(benchmarks)
    for name in others:
        kept.pop(name, None)
    return kept


def _check_percent(accuracies: AccuracyTable) -> None:
    """Refuse a benchmark whose results in percent seem to be fractions.

    `accuracies` are already divided by 100. A benchmark is refused if two or
    more models have an accuracy, all accuracies are at most 0.01 and below
    half of the chance level, and 100 times their median is at least half of
    the chance level.
    """
    for name, chance, values in zip(accuracies.benchmarks, accuracies.chance,
                                    accuracies.values.T):
        values = values[~np.isnan(values)]
        if len(values) < 2:
            continue
        are_low = values.max() <= 0.01 < chance / 2
        if are_low and chance / 2 <= 100 * np.median(values):
            raise InputError(
                f'accuracies on {name!r}', 'percentages, as in OpenCompass',
                'no accuracy above 1 %, where guessing gives '
                f'{100 * chance:.3g} %: they seem to be fractions',
                'Let the evaluator give percent, and remove its files in '
                'results/. Or give a table of fractions.')
