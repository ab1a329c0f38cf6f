"""Find the accuracies of benchmarks in the results of an OpenCompass run.

OpenCompass keeps results by model and by row of its table. A row belongs to a
dataset or to a group of datasets, and has one or more metrics. The result of a
group is the average over its subsets, which are datasets or other groups.
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
    """The row and the metric in which a benchmark's accuracies are found.

    `abbr` is the name of a dataset or of a group of datasets. `is_chosen` says
    whether the config of the run names the metric.
    """
    abbr: str
    metric: str
    is_chosen: bool


@dataclass(frozen=True, eq=False)
class RunResults:
    """Results of a run, as OpenCompass's summarizer holds them.

    `datasets` and `groups` are entries of the config. `raw` contains, by model
    and row, the result as it was written, which may be an 'error'. `parsed`
    contains, by model, row and metric, a number; accuracies are in percent.
    `metrics` contains the names of the metrics of each row.

    The argument `folders` of the methods maps the name of each model in the
    summary to its name in the files of the run.
    """
    work_dir: str
    datasets: Sequence[Any]
    groups: Sequence[Mapping[str, Any]]
    raw: Mapping[str, Mapping[str, Mapping[str, Any]]]
    parsed: Mapping[str, Mapping[str, Mapping[str, float]]]
    metrics: Mapping[str, Sequence[str]]

    def row(self, name: Union[str, tuple[str, str]]) -> Row:
        """Return the row of a benchmark by its name in the run.

        `name` is the name of a dataset or group, or a pair of the name and a
        metric. The default metric is the first accuracy of a dataset or the
        average of a group.
        """
        if not isinstance(name, str):
            abbr, metric = name
            return Row(abbr, metric, True)
        listed = self.metrics.get(name, ['-'])
        names_of_groups = [group['name'] for group in self.groups]
        if name in names_of_groups:
            # The metrics of a group are in random order, except that the
            # average comes last.
            return Row(name, listed[-1], False)
        return Row(name, first_accuracy(listed) or listed[0], False)

    def accuracies(
        self, rows: Mapping[str, Row], folders: Mapping[str, str]
    ) -> dict[tuple[str, str], Union[float, Missing]]:
        """Return accuracies as fractions by model and benchmark.

        A `Missing` in place of an accuracy gives the reason why it is missing.
        `rows` maps each benchmark to its row.
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

    def _why_missing(self, model: str, folder: str, row: Row) -> str:
        """Return why a model has no number for the metric of a row."""
        numbers = self.parsed[model].get(row.abbr, {})
        if numbers:
            return f'no metric {row.metric!r} but {", ".join(numbers)}'
        raw = self.raw[model].get(row.abbr, {})
        error = ' '.join(str(raw.get('error', '')).split())
        if error:
            # Longer errors of OpenCompass are shortened to this length.
            n_characters = 240
            return shortened(error, n_characters)
        reason = 'no accuracy in this run'
        # For a group, name the first failure of one of its datasets.
        for dataset in self._datasets_of(row.abbr):
            failure = failure_of(self.work_dir, folder,
                                 dataset_abbr_from_cfg(dataset))
            if failure:
                return f'{reason}: {failure}'
        return reason

    def _no_accuracy_in(self, row: Row) -> str:
        """Return a metric of a row, or averaged in it, that is no accuracy.

        The result is '' if all these metrics are accuracies. The row of a
        group averages the metrics of its subsets; the first metric that is not
        an accuracy is returned.
        """
        averaged = self._averaged(row.abbr, row.metric)
        if averaged == [row.metric] and not row.is_chosen:
            return '' if is_accuracy(row.metric) else row.metric
        # A metric that a user chose, or that is averaged, is refused only if
        # its name is known not to be an accuracy.
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
        """Return the config entries of the datasets that a row is made of."""
        for dataset in self.datasets:
            if dataset_abbr_from_cfg(dataset) == abbr:
                return [dataset]
        found = []
        for name, _ in self._subsets(abbr):
            found += self._datasets_of(name)
        return found

    def items(self, rows: Mapping[str, Row], folders: Mapping[str, str],
              whole: Mapping[str, int]) -> dict[tuple[str, str], int]:
        """Return how many items each model ran, by model and benchmark.

        Pairs whose number is unknown are left out. `whole` is the number of
        items of each benchmark that the predictors were fitted to, 0 if
        unknown. If it is unknown, items are counted only if the run used a
        part of the benchmark.
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
        """Return how many items of datasets were evaluated, together."""
        n_items = 0
        for dataset in datasets:
            n_answers = items_run(self.work_dir, folder,
                                  dataset_abbr_from_cfg(dataset))
            # Each item is answered `n` times.
            n_items += n_answers // dataset.get('n', 1)
        return n_items


def _are_part(datasets: Sequence[Any]) -> bool:
    """Return whether a `test_range` leaves out items of the datasets."""
    return any(dataset['reader_cfg'].get('test_range') for dataset in datasets)
