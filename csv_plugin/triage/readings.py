"""Losses of checkpoints, every dump read once."""
from collections.abc import Mapping

import numpy as np

from csv_plugin.core.conventions import Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predicting import attempt
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.triage.dump_places import DumpPlace


class Readings:
    """Feature columns of the checkpoints that were read so far.

    Args:
        predictor (Predictor): Says which columns to make of the losses.

    Raises:
        InputError: The predictor was fitted to tables.

    Attributes:
        refused (dict[str, str]): The reason why a dump cannot be used, by
            checkpoint.
    """

    def __init__(self, predictor: Predictor) -> None:
        predictor.check_tokens()
        self.predictor = predictor
        self.refused: dict[str, str] = {}
        n_columns = len(predictor.columns.units)
        self._features: dict[str, FeatureTable] = {}
        self._none = FeatureTable((), predictor.columns,
                                  np.zeros((0, n_columns)))
        # Of the dumps that were refused.
        self._stamps: dict[str, object] = {}

    @property
    def features(self) -> FeatureTable:
        """The columns of all checkpoints that were read, one row each."""
        return FeatureTable.concatenate([self._none, *self._features.values()])

    def add(self,
            dumps: Mapping[str, DumpPlace],
            progress: Progress = iter) -> tuple[str, ...]:
        """Read the dumps that were not read before.

        A dump that was refused is read again once its files changed, since
        it may have been half written.

        Args:
            dumps (Mapping[str, DumpPlace]): By checkpoint.
            progress (Progress): Wraps the names of those that are read.

        Returns:
            tuple[str, ...]: Names of the checkpoints that can be used now.
        """
        fingerprint = self.predictor.columns.fingerprint
        stamps = {
            name: dump.stamp(fingerprint)
            for name, dump in dumps.items() if name not in self._features
        }
        changed = [
            name for name, stamp in stamps.items()
            if name not in self._stamps or self._stamps[name] != stamp
        ]
        new = []
        for name in progress(changed):
            columns = attempt(self._read, dumps[name])
            if isinstance(columns, Missing):
                self.refused[name] = columns.reason
                self._stamps[name] = stamps[name]
            else:
                self._features[name] = columns
                self.refused.pop(name, None)
                new.append(name)
        return tuple(new)

    def _read(self, dump: DumpPlace) -> FeatureTable:
        losses = dump.read(self.predictor.columns.fingerprint)
        return self.predictor.features({dump.model: losses})
