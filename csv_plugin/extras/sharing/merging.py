"""Contributions of several groups, joined to one collection.

What two groups both give has to be equal, so that their order does not matter.
"""
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from csv_plugin.core.input_error import InputError, check_list
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.sharing.contributions import (Contribution,
                                                     read_contribution)
from csv_plugin.io.collection import write_collection
from csv_plugin.io.dumps import merge_dumps
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo, write_csv

#: The table of who gave what.
GIVERS = 'givers.csv'
#: Kinds of facts.
MODEL, BENCHMARK, ACCURACY = 'model', 'benchmark', 'accuracy'
#: Details of a model or a benchmark that no contribution contains.
_UNKNOWN: dict[str, Any] = {
    MODEL: ModelInfo('', '', math.nan),
    BENCHMARK: BenchmarkInfo(0, 0, True, ''),
}
_REMEDY = 'Leave one of the two out, or correct it.'

#: Kind of a fact, model or benchmark, and field (of an accuracy, benchmark);
#: then the value.
_Fact = tuple[tuple[str, str, str], Any]
#: A row of the table of givers: model, benchmark or '' for its losses, giver
#: and licence.
_Gift = tuple[str, str, str, str]


def merge_contributions(paths: Sequence[FilePath],
                        texts: TextSet,
                        folder: FilePath,
                        progress: Progress = iter) -> list[_Gift]:
    """Join contributions to a collection, which `read_collection` reads.

    Models and benchmarks are sorted by name. `givers.csv` contains who gave
    the losses of a model, or its accuracy on a benchmark, and the licence.

    Args:
        paths (Sequence[FilePath]): Files that `write_contribution` wrote.
        texts (TextSet): The validation set that all losses are on.
        folder (FilePath): The collection to create: a new or empty folder.
        progress (Progress): Wraps the contributions.

    Returns:
        list[tuple]: The rows of `givers.csv`: model, benchmark (empty where
        it is about losses), giver and licence.

    Raises:
        InputError: The folder has files, there is no contribution, one
            cannot be used (see `read_contribution`), or two disagree.
    """
    check_list('contributions', paths)
    root = Path(folder)
    if not paths:
        raise InputError('contributions', 'at least one', 'none',
                         'Name files that salience contribute wrote.')
    if root.exists() and any(root.iterdir()):
        raise InputError(
            str(root), 'a new or empty folder', 'a folder with files',
            'Choose another folder.')
    merger = _Merger(texts)
    for path in progress(list(paths)):
        merger.add(os.fspath(path), read_contribution(path, texts))
    gifts = sorted(merger.gifts)
    merger.write(root)
    write_csv(root / GIVERS, ('model', 'benchmark', 'giver', 'licence'), gifts)
    return gifts


class _Merger:
    """The content of all contributions so far."""

    def __init__(self, texts: TextSet) -> None:
        self.texts = texts
        self.gifts: set[_Gift] = set()
        self._dumps: dict[str, TokenLossDump] = {}
        self._facts: dict[tuple[str, str, str], Any] = {}
        #: The first contribution that gave each dump and fact, for errors.
        self._origins: dict[Any, str] = {}

    def add(self, path: str, contribution: Contribution) -> None:
        """Join one more, which must not contradict earlier ones."""
        by = contribution.giver, contribution.licence
        for model, dump in contribution.collection.losses.items():
            self._add_dump(path, model, dump)
            self.gifts.add((model, '', *by))
        for key, value in _facts(contribution):
            earlier = self._facts.setdefault(key, value)
            origin = self._origins.setdefault(key, path)
            if earlier != value:
                raise InputError(f'{origin} and {path}',
                                 f'the same {" ".join(key)}',
                                 f'{earlier!r} and {value!r}', _REMEDY)
            kind, model, benchmark = key
            if kind == ACCURACY:
                self.gifts.add((model, benchmark, *by))

    def _add_dump(self, path: str, model: str, dump: TokenLossDump) -> None:
        origin = self._origins.setdefault(model, path)
        earlier = self._dumps.setdefault(model, dump)
        if earlier is dump:
            return
        try:
            self._dumps[model] = merge_dumps([earlier, dump], self.texts)
        except InputError as error:
            raise InputError(f'{origin} and {path}',
                             f'the same losses of {model!r}',
                             str(error).rstrip('.'), _REMEDY) from error

    def write(self, folder: Path) -> None:
        """Write the collection, models and benchmarks sorted."""
        models = sorted(self._dumps)
        scores: dict[str, dict[str, float]] = {model: {} for model in models}
        for (kind, model, benchmark), value in self._facts.items():
            if kind == ACCURACY:
                scores[model][benchmark] = value
        benchmarks = sorted(set[str]().union(*scores.values()))
        write_collection(
            folder, self.texts, {name: self._dumps[name]
                                 for name in models},
            {name: self._known(MODEL, name)
             for name in models}, scores,
            {name: self._known(BENCHMARK, name)
             for name in benchmarks})

    def _known(self, kind: str, name: str) -> Any:
        """Details of a model or a benchmark from all contributions."""
        unknown = _UNKNOWN[kind]
        return replace(
            unknown, **{
                field: self._facts[kind, name, field]
                for field in vars(unknown)
                if (kind, name, field) in self._facts
            })


def _facts(contribution: Contribution) -> Iterator[_Fact]:
    """All values of a contribution but those that it leaves open."""
    collection = contribution.collection
    for kind, infos in ((MODEL, collection.info), (BENCHMARK,
                                                   contribution.benchmarks)):
        for name, info in infos.items():
            for field, value in vars(info).items():
                if not _is_open(field, value):
                    yield (kind, name, field), value
    for model, row in collection.accuracies.to_dict().items():
        for benchmark, accuracy in row.items():
            if accuracy is not None:
                yield (ACCURACY, model, benchmark), accuracy


def _is_open(field: str, value: Any) -> bool:
    """True if a field of a model or benchmark is not known."""
    return value == '' or value != value or (field == 'n_items' and value == 0)
