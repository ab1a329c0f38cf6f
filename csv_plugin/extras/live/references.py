"""Another run, with which a training is compared after as much training."""
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.io.runs.run_dumps import DumpPlace, find_dumps
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.checkpoints import (Checkpoint, describe_checkpoints,
                                           read_checkpoints)

#: Folder of the dumps, and the table of their tokens, below that of live
#: predictions.
LOSSES, READINGS = 'losses', 'readings.csv'


class Reference:
    """The dumps of one run, and the training tokens where these are known.

    The place is a folder of live predictions, or as in `find_dumps`.
    """

    def __init__(self, folder: FilePath) -> None:
        losses = Path(folder, LOSSES)
        dumps = find_dumps([losses if losses.is_dir() else folder])
        points = describe_checkpoints(dumps, read_readings(Path(folder)))
        runs = sorted({point.run for point in points.values()})
        if len(runs) != 1:
            raise InputError(
                f'reference {folder}', 'the dumps of one run', ', '.join(runs)
                or 'none', 'Name those of one run, such as run@*.safetensors.')
        self._places = []
        self._has_tokens = False
        for name, place in dumps.items():
            self._places.append((points[name], place))
            if points[name].tokens > 0:
                self._has_tokens = True

    @property
    def first(self) -> DumpPlace:
        """The dump of the first checkpoint."""
        return self._places[0][1]

    def find(self, step: int,
             tokens: float) -> tuple[str, Optional[DumpPlace]]:
        """Return the measure, 'tokens' if both runs know theirs or 'steps',
        and the dump after as many of them, if there is one.
        """
        if tokens > 0 and self._has_tokens:
            # Tokens that differ by a smaller share are the same: of a last
            # short batch.
            difference = 1e-3
            for point, place in self._places:
                if math.isclose(point.tokens, tokens, rel_tol=difference):
                    return 'tokens', place
            return 'tokens', None
        for point, place in self._places:
            if point.step == step:
                return 'steps', place
        return 'steps', None


def read_readings(folder: Path) -> dict[str, Checkpoint]:
    """Return the readings whose tokens are known; `InputError` for others."""
    path = folder / READINGS
    return read_checkpoints(path) if path.exists() else {}


def write_readings(folder: Path, readings: Mapping[str, Checkpoint]) -> None:
    """Write a table that `salience triage --checkpoints` takes."""
    rows = []
    for name, point in readings.items():
        rows.append((name, point.run, point.step, point.tokens))
    write_csv(folder / READINGS, ('model', 'run', 'step', 'tokens'), rows)
