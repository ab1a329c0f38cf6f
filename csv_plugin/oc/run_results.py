"""Accuracies of benchmarks among the results of an OpenCompass run.

OpenCompass has results by model and by row of its table. A row is a dataset or
a group of datasets, and has one metric or more. The result of a group is the
average of its subsets, which are datasets or groups.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from opencompass.utils import dataset_abbr_from_cfg

from csv_plugin.core.formatting import shortened
from csv_plugin.core.metric_names import (first_accuracy, is_accuracy,
                                          is_no_accuracy, why_no_accuracy)
from csv_plugin.core.predictions import Missing
from csv_plugin.io.runs.run_failures import failure_of
from csv_plugin.io.runs.run_items import items_run


class Row(NamedTuple):
    """Row and metric that have the accuracies of a benchmark.

    `abbr` is the name of a dataset or of a group of datasets. `is_chosen` says
    whether the config names the metric.
    """
    abbr: str
    metric: str
    is_chosen: bool


@dataclass(frozen=True, eq=False)
class RunResults:
    """Results of a run, as OpenCompass's summarizer has them.

    `datasets` and `groups` are entries of the config. By model and row, `raw`
    are results as they were written, which may contain an 'error', and
    `parsed` are numbers by metric, accuracies in percent. `metrics` are the
    names of the metrics of each row.

    The methods take `folders`, the name of each model in the files of the run.
    """
    work_dir: str
    datasets: Sequence[Any]
    groups: Sequence[Mapping[str, Any]]
    raw: Mapping[str, Mapping[str, Mapping[str, Any]]]
    parsed: Mapping[str, Mapping[str, Mapping[str, float]]]
    metrics: Mapping[str, Sequence[str]]

    def row(self, name: Union[str, tuple[str, str]]) -> Row:
        """Return the row of a benchmark by its name in the run.

        The name is that of a dataset or a group, perhaps with a metric. By
        default it is the first accuracy of a dataset and the average of a
        group.
        """
        if not isinstance(name, str):
            abbr, metric = name
            return Row(abbr, metric, True)
        listed = self.metrics.get(name, ['-'])
        names_of_groups = [group['name'] for group in self.groups]
        if name in names_of_groups:
            # Its metrics are in random order but for the average, the last.
            return Row(name, listed[-1], False)
        return Row(name, first_accuracy(listed) or listed[0], False)

    def accuracies(
        self, rows: Mapping[str, Row], folders: Mapping[str, str]
    ) -> dict[tuple[str, str], Union[float, Missing]]:
        """Return accuracies by model and benchmark, or why there is none.

        `rows` are by benchmark. Accuracies are fractions.
        """
        found = {}
        for benchmark, row in rows.items():
            other_metric = self._no_accuracy_in(row)
            for model, folder in folders.items():
                found[model,
                      benchmark] = self._accuracy(model, folder, row,
                                                  other_metric)
        return found

    def _accuracy(self, model: str, folder: str, row: Row,
                  other_metric: str) -> Union[float, Missing]:
        """Return the accuracy of a model as a fraction, or why there is none.

        `other_metric` is as `_no_accuracy_in` returns it.
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

    def _why_missing(self, model: str, folder: str, row: Row) -> str:
        """Return why a row has no number of its metric."""
        numbers = self.parsed[model].get(row.abbr, {})
        if numbers:
            return f'no metric {row.metric!r} but {", ".join(numbers)}'
        raw = self.raw[model].get(row.abbr, {})
        error = ' '.join(str(raw.get('error', '')).split())
        if error:
            # Most characters of an error of OpenCompass that a reason quotes.
            n_characters = 240
            return shortened(error, n_characters)
        reason = 'no accuracy in this run'
        # Of a group none of whose datasets has a result, the first failure.
        for dataset in self._datasets_of(row.abbr):
            failure = failure_of(self.work_dir, folder,
                                 dataset_abbr_from_cfg(dataset))
            if failure:
                return f'{reason}: {failure}'
        return reason

    def _no_accuracy_in(self, row: Row) -> str:
        """Return a metric of a row that is no accuracy, else an empty text.

        The row of a group is an average, of which one metric suffices.
        """
        averaged = self._averaged(row.abbr, row.metric)
        if averaged == [row.metric] and not row.is_chosen:
            return '' if is_accuracy(row.metric) else row.metric
        # Users may choose any metric that is not known to be none.
        for metric in averaged:
            if is_no_accuracy(metric):
                return metric
        return ''

    def _averaged(self, abbr: str, metric: str) -> list[str]:
        """Return the metric of a row, and those that it is the average of."""
        found = [metric]
        for name, chosen in self._subsets(abbr):
            # An average is over the first metrics of datasets.
            first = next(iter(self.metrics.get(name, ())), '')
            found += self._averaged(name, chosen or first)
        return found

    def _subsets(self, abbr: str) -> list[tuple[str, str]]:
        """Return names and metrics of the subsets of a group.

        A metric is empty if the group names none. A dataset has no subsets.
        """
        found = []
        for group in self.groups:
            if group['name'] != abbr:
                continue
            for subset in group['subsets']:
                if isinstance(subset, str):
                    subset = subset, ''
                name, metric = subset
                found.append((name, metric))
            break
        return found

    def _datasets_of(self, abbr: str) -> list[Any]:
        """Return the entries of the datasets in a row."""
        for dataset in self.datasets:
            if dataset_abbr_from_cfg(dataset) == abbr:
                return [dataset]
        found = []
        for name, _ in self._subsets(abbr):
            found += self._datasets_of(name)
        return found

    def items(self, rows: Mapping[str, Row], folders: Mapping[str, str],
              whole: Mapping[str, int]) -> dict[tuple[str, str], int]:
        """Return numbers of items by model and benchmark, where known.

        `whole` are the items that predictors were fitted to, by benchmark, or
        0. Where it is 0, only items of a part of the benchmark are counted.
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
        """Return how many items of datasets were evaluated."""
        n_items = 0
        for dataset in datasets:
            n_answers = items_run(self.work_dir, folder,
                                  dataset_abbr_from_cfg(dataset))
            # Each item is answered `n` times.
            n_items += n_answers // dataset.get('n', 1)
        return n_items


def _are_part(datasets: Sequence[Any]) -> bool:
    """Return whether some of the items of datasets were left out."""
    return any(dataset['reader_cfg'].get('test_range') for dataset in datasets)
