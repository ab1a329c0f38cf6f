"""Repeat a triage whenever new dumps appear."""
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Optional

import numpy as np

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predicting import result_or_missing
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.runs.run_dumps import DumpPlace, find_dumps
from csv_plugin.triage.checkpoints import (check_described,
                                           describe_checkpoints,
                                           read_checkpoints)
from csv_plugin.triage.judging import judge
from csv_plugin.triage.notes import first_reason
from csv_plugin.triage.result import Triage

#: Where a dump is, and a stamp of its file that changes whenever the file
#: changes.
_DumpVersion = tuple[DumpPlace, object]

#: Returns a triage, or None if nothing is new.
Update = Callable[[], Optional[Triage]]
#: Shows a triage to the user.
Show = Callable[[Triage], None]
#: Tells the user a reason why an update failed.
Complain = Callable[[str], None]


class TriageJob:
    """A triage that is repeated when new dumps of checkpoints appear.

    A dump is read once, and again when its file is replaced. A dump that could
    not be used is read again at each update.

    Args:
        predictor (Predictor): Predicts the checkpoints.
        dumps (Sequence[FilePath]): Where to find the dumps of the checkpoints
            to judge, as in `find_dumps`.
        history (Sequence[FilePath]): Where to find the dumps of earlier,
            finished runs.
        table (Optional[FilePath]): Runs and steps, as in `read_checkpoints`.
        budget (float): The budget of runs that have none in the table.
        known (Optional[FilePath]): Table of known accuracies of checkpoints,
            with a column `model` and a column for each benchmark. It is read
            at every update, because accuracies may be added one by one.
        may_come (bool): Whether all known accuracies may belong to checkpoints
            that do not exist yet. If False, this is an error.

    Raises:
        InputError: The predictor was fitted to tables, or as in
            `read_checkpoints`.
    """

    def __init__(self,
                 predictor: Predictor,
                 dumps: Sequence[FilePath],
                 history: Sequence[FilePath] = (),
                 table: Optional[FilePath] = None,
                 budget: float = math.nan,
                 known: Optional[FilePath] = None,
                 may_come: bool = False) -> None:
        predictor.check_tokens()
        self.predictor = predictor
        self.budget = budget
        self.dumps = dumps
        self.history = history
        self.known = known
        self.may_come = may_come
        self.table = table
        self._table = read_checkpoints(table) if table else None
        # The stamp is part of the key because a file may be replaced.
        self._features: dict[_DumpVersion, FeatureTable] = {}

    def read_history(self) -> set[str]:
        """Read the losses of the earlier runs; return the names of these runs.

        Raises an `InputError` if there is a history, but no dump in it can be
        used.
        """
        earlier, _ = self._read_history()
        checkpoints = describe_checkpoints(earlier, self._table)
        return {checkpoint.run for checkpoint in checkpoints.values()}

    def _read_history(self) -> tuple[list[str], FeatureTable]:
        """Return the names and features of checkpoints of the earlier runs.

        Checkpoints whose dumps could not be used have a name, but no features.
        """
        earlier = find_dumps(self.history)
        versions = _versions_of(earlier)
        refused = self._read(versions)
        if self.history and len(refused) == len(earlier):
            raise InputError('history', 'losses of earlier, finished runs',
                             first_reason(refused, 'no dump'),
                             'Give other paths by --history, or omit it.')
        features = self._features_of(versions)
        return list(earlier), features

    def history_features(self) -> FeatureTable:
        """Return the features of the checkpoints of the earlier runs.

        Errors are as in `read_history`.
        """
        _, features = self._read_history()
        return features

    def _features_of(self, versions: Mapping[str,
                                             _DumpVersion]) -> FeatureTable:
        """Return the features of the dumps that could be used."""
        columns = self.predictor.columns
        n_units = len(columns.units)
        # `concatenate` needs an empty table if no dump can be used.
        no_losses = np.zeros((0, n_units))
        found = [FeatureTable((), columns, no_losses)]
        for version in versions.values():
            if version in self._features:
                found.append(self._features[version])
        return FeatureTable.concatenate(found)

    def update(self, progress: Progress = iter) -> Triage:
        """Read the new checkpoints, and judge all checkpoints.

        Raises the errors of `find_dumps`, `describe_checkpoints`, `read_known`
        and `judge`.
        """
        dumps = find_dumps(self.dumps)
        earlier = find_dumps(self.history)
        notes: list[str] = []
        if self.table and self._table is not None:
            notes += check_described(self.table, self._table, dumps | earlier)
        versions = _versions_of(dumps | earlier)
        refused = self._read(versions, progress)
        known = None
        if self.known:
            known, unused = read_known(self.known, versions,
                                       self.predictor.names, self.may_come)
            notes += unused
        features = self._features_of(versions)
        checkpoints = describe_checkpoints(dumps, self._table)
        history = describe_checkpoints(earlier, self._table)
        triage = judge(self.predictor, features, checkpoints, history,
                       self.budget, refused, known)
        return replace(triage, notes=(*triage.notes, *notes))

    def _read(self,
              versions: Mapping[str, _DumpVersion],
              progress: Progress = iter) -> dict[str, str]:
        """Read new dumps; return why some of them cannot be used, by name."""
        new = []
        for name, version in versions.items():
            if version not in self._features:
                new.append(name)
        refused = {}
        for name in progress(new):
            version = versions[name]
            place, _ = version
            features = result_or_missing(self._features_from, place)
            if isinstance(features, Missing):
                refused[name] = features.reason
            else:
                self._features[version] = features
        return refused

    def _features_from(self, dump: DumpPlace) -> FeatureTable:
        """Read a dump, and return the features of its model."""
        losses = dump.read(self.predictor.columns.fingerprint)
        return self.predictor.features({dump.model: losses})


def _versions_of(dumps: Mapping[str, DumpPlace]) -> dict[str, _DumpVersion]:
    """Return the current version of each dump, by name."""
    versions: dict[str, _DumpVersion] = {}
    for name, place in dumps.items():
        versions[name] = place, place.stamp()
    return versions


def watch(update: Update, show: Show, complain: Complain,
          interval: float) -> None:
    """Look for new checkpoints every `interval` seconds, until Ctrl-C.

    `update` returns a triage, or None if nothing is new (see
    `TriageJob.update` and `extras.live.new_checkpoints.CheckpointJob.update`).
    `show` is called with every triage. If `update` fails, `complain` is called
    with the reason, unless the last call failed for the same reason.
    """
    complaint = ''
    with suppress(KeyboardInterrupt):
        while True:
            try:
                triage = update()
            except (InputError, OSError) as error:
                reason = str(error)
                if reason != complaint:
                    complain(reason)
                complaint = reason
            else:
                complaint = ''
                if triage is not None:
                    show(triage)
            time.sleep(interval)
