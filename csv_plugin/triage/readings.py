"""Losses of checkpoints, every dump read once."""
from collections.abc import Mapping, Sequence

import numpy as np

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.triage.dump_places import DumpPlace


class Readings:
    """Feature columns of the checkpoints that were read so far.

    Args:
        predictor (Predictor): Says what to make of the losses.

    Attributes:
        features (dict[str, FeatureTable]): One row each, by checkpoint.
        refused (dict[str, str]): Why a dump cannot be used, by checkpoint.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.features: dict[str, FeatureTable] = {}
        self.refused: dict[str, str] = {}
        self._stamps: dict[str, object] = {}

    def add(self,
            dumps: Mapping[str, DumpPlace],
            progress: Progress = iter) -> tuple[str, ...]:
        """Read what was not read before.

        A dump that could not be used is tried again once its file changed:
        it may have been half written.

        Args:
            dumps (Mapping[str, DumpPlace]): By checkpoint.
            progress (Progress): Wraps those that are read.

        Returns:
            tuple[str, ...]: Names of the new checkpoints.
        """
        fingerprint = self.predictor.fingerprint
        stamps = {
            name: dump.stamp(fingerprint)
            for name, dump in dumps.items() if name not in self.features
        }
        changed = [
            name for name, stamp in stamps.items()
            if name not in self._stamps or self._stamps[name] != stamp
        ]
        new = []
        for name in progress(changed):
            try:
                self.features[name] = self._read(dumps[name])
            except InputError as error:
                self.refused[name] = ' '.join(str(error).split())
                self._stamps[name] = stamps[name]
            else:
                self.refused.pop(name, None)
                new.append(name)
        return tuple(new)

    def table(self, names: Sequence[str]) -> FeatureTable:
        """Features of some checkpoints that were read, in their order."""
        rows = [self.features[name] for name in names]
        return FeatureTable(
            tuple(names), self.predictor.units,
            np.concatenate([row.values for row in rows]),
            self.predictor.uniform, self.predictor.scored)

    def _read(self, dump: DumpPlace) -> FeatureTable:
        found = dump.read(self.predictor.fingerprint)
        return self.predictor.features({dump.model: found.texts},
                                       found.info.fingerprint)
