"""Find the accuracies of benchmarks in the results of an OpenCompass run.

OpenCompass keeps results by model and by row of its table. A row belongs to a
dataset or to a group of datasets, and has one or more metrics. The result of a
group is the average over its subsets, which are datasets or other groups.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opencompass.utils import dataset_abbr_from_cfg

from csv_plugin.core.formatting import shortened
from csv_plugin.core.metric_names import (first_accuracy, is_accuracy,
                                          is_no_accuracy, why_no_accuracy)
from csv_plugin.core.predicting import ObservedAccuracies
from csv_plugin.core.predictions import Missing
from csv_plugin.io.runs.run_failures import failure_of
from csv_plugin.io.runs.run_items import items_run
from csv_plugin.oc.classes import BenchmarkName, Entry
from csv_plugin.report.leaderboards import Folders


class AccuracyRow(NamedTuple):
    """The row, and its metric, in which a benchmark's accuracies are found.

    `abbr` is the name of a dataset or of a group of datasets. `is_chosen` says
    whether the config of the run names the metric.
    """
    abbr: str
    metric: str
    is_chosen: bool


#: Maps each benchmark to its row.
RowByBenchmark = Mapping[str, AccuracyRow]


@dataclass(frozen=True, eq=False)
class RunResults:
    """The results of a run, as OpenCompass's summarizer stores them.

    `datasets` and `groups` are entries of the config. `raw` contains, by model
    and row, the result as it was written, which may be an 'error'. `parsed`
    contains, by model, row and metric, a number; accuracies are in percent.
    `metrics` contains the names of the metrics of each row.
    """
    work_dir: str
    datasets: Sequence[Any]
    groups: Sequence[Entry]
    raw: Mapping[str, Mapping[str, Any]]
    parsed: Mapping[str, Mapping[str, Mapping[str, float]]]
    metrics: Mapping[str, Sequence[str]]

    def row(self, name: BenchmarkName) -> AccuracyRow:
        """Return the row of a benchmark by its name in the run.

        If `name` contains no metric, the metric is the first accuracy of a
        dataset or the average of a group.
        """
        if not isinstance(name, str):
            abbr, metric = name
            return AccuracyRow(abbr, metric, True)
        listed = self.metrics.get(name, ['-'])
        names_of_groups = [group['name'] for group in self.groups]
        if name in names_of_groups:
            # The metrics of a group are in random order, except that the
            # average comes last.
            metric = listed[-1]
        else:
            metric = first_accuracy(listed) or listed[0]
        return AccuracyRow(name, metric, False)

    def accuracies(self, rows: RowByBenchmark,
                   folders: Folders) -> ObservedAccuracies:
        """Return accuracies as fractions by model and benchmark.

        A `Missing` in place of an accuracy gives the reason why it is missing.
        """
        found = {}
        for benchmark, row in rows.items():
            other_metric = self._no_accuracy_in(row)
            for model, folder in folders.items():
                accuracy = self._accuracy(model, folder, row, other_metric)
                found[model, benchmark] = accuracy
        return found

    def _accuracy(self, model: str, folder: str, row: AccuracyRow,
                  other_metric: str) -> float | Missing:
        """Return the accuracy of a model, a fraction, or why it is missing.

        `other_metric` is what `_no_accuracy_in` returned for the row.
        """
        numbers = self.parsed[model].get(row.abbr, {})
        if row.metric not in numbers:
            return Missing(self._why_missing(model, folder, row))
        if other_metric:
            return Missing(why_no_accuracy(other_metric))
        accuracy = numbers[row.metric]
        if not 0 <= accuracy <= 100:
            return Missing(f'the accuracy {accuracy} is not in percent')
        return accuracy / 100

    def _why_missing(self, model: str, folder: str, row: AccuracyRow) -> str:
        """Return why a model has no number for the metric of a row."""
        numbers = self.parsed[model].get(row.abbr, {})
        if numbers:
            return f'no metric {row.metric!r} but {", ".join(numbers)}'
        raw = self.raw[model].get(row.abbr, {})
        error = str(raw.get('error', ''))
        words = error.split()
        if words:
            # Longer errors of OpenCompass are shortened to this length.
            n_characters = 240
            return shortened(' '.join(words), n_characters)
        reason = 'no accuracy in this run'
        # For a group, name the first failure of one of its datasets.
        for dataset in self._datasets_of(row.abbr):
            abbr = dataset_abbr_from_cfg(dataset)
            failure = failure_of(self.work_dir, folder, abbr)
            if failure:
                return f'{reason}: {failure}'
        return reason

    def _no_accuracy_in(self, row: AccuracyRow) -> str:
        """Return the first metric in a row that is not an accuracy, or ''.

        The metrics in the row of a group include the metrics of its subsets,
        over which the group averages.
        """
        averaged = self._averaged(row.abbr, row.metric)
        is_default = averaged == [row.metric] and not row.is_chosen
        if is_default and not is_accuracy(row.metric):
            return row.metric
        # A metric that a user chose, or that a group averages, is refused only
        # if its name is known not to be an accuracy.
        for metric in averaged:
            if is_no_accuracy(metric):
                return metric
        return ''

    def _averaged(self, abbr: str, metric: str) -> list[str]:
        """Return the metric of a row, then the metrics that it averages."""
        found = [metric]
        for name, chosen in self._subsets(abbr):
            # OpenCompass averages the first metric of each dataset.
            first = next(iter(self.metrics.get(name, ())), '')
            found += self._averaged(name, chosen or first)
        return found

    def _subsets(self, abbr: str) -> list[tuple[str, str]]:
        """Return pairs of the name and the metric of each subset of a group.

        The metric is empty if the group names none. A dataset has no subsets.
        """
        for group in self.groups:
            if group['name'] == abbr:
                return list(map(_name_and_metric, group['subsets']))
        return []

    def _datasets_of(self, abbr: str) -> list[Any]:
        """Return the config entries of the datasets that a row is made of."""
        for dataset in self.datasets:
            if dataset_abbr_from_cfg(dataset) == abbr:
                return [dataset]
        found = []
        for name, _ in self._subsets(abbr):
            found += self._datasets_of(name)
        return found

    def items(self, rows: RowByBenchmark, folders: Folders,
              whole: Mapping[str, int]) -> dict[tuple[str, str], int]:
        """Return on how many items each model ran, by model and benchmark.

        Pairs whose number is unknown are left out. `whole` is the number of
        items of each whole benchmark, as the predictors know it, or 0. If it
        is 0, items are counted only if the run used a part of the benchmark.
        """
        found = {}
        for benchmark, row in rows.items():
            datasets = self._datasets_of(row.abbr)
            if not whole[benchmark] and not _are_part(datasets):
                continue
            for model, folder in folders.items():
                n_items = self._items_of(folder, datasets)
                if n_items:
                    found[model, benchmark] = n_items
        return found

    def _items_of(self, folder: str, datasets: Sequence[Any]) -> int:
        """Return how many items of these datasets were evaluated in total."""
        n_items = 0
        for dataset in datasets:
            abbr = dataset_abbr_from_cfg(dataset)
            n_answers = items_run(self.work_dir, folder, abbr)
            # Each item is answered `n` times.
            n_items += n_answers // dataset.get('n', 1)
        return n_items


def _name_and_metric(subset: Any) -> tuple[str, str]:
    """Return the name and the metric of a subset of a group.

    `subset` is a name or a pair. The metric of a name is empty.
    """
    if isinstance(subset, str):
        return subset, ''
    name, metric = subset
    return name, metric


def _are_part(datasets: Sequence[Any]) -> bool:
    """Return whether a `test_range` leaves out items of the datasets."""
    for dataset in datasets:
        if dataset['reader_cfg'].get('test_range'):
            return True
    return False
