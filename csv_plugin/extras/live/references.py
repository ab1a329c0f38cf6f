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

    def __init__(self, place: FilePath) -> None:
        losses = Path(place, LOSSES)
        dumps = find_dumps([losses if losses.is_dir() else place])
        points = describe_checkpoints(dumps, read_readings(Path(place)))
        runs = sorted({point.run for point in points.values()})
        if len(runs) != 1:
            raise InputError(
                f'reference {place}', 'the dumps of one run', ', '.join(runs)
                or 'none', 'Name those of one run, such as run@*.safetensors.')
        self._places = [(points[name], dumps[name]) for name in dumps]

    @property
    def first(self) -> DumpPlace:
        """The dump of the first checkpoint."""
        return self._places[0][1]

    def find(self, step: int,
             tokens: float) -> tuple[str, Optional[DumpPlace]]:
        """Return the measure, 'tokens' if both runs know theirs or 'steps',
        and the dump after as many of them, if there is one.
        """
        if tokens > 0 and any(point.tokens > 0 for point, _ in self._places):
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
    write_csv(folder / READINGS, ('model', 'run', 'step', 'tokens'),
              [(name, point.run, point.step, point.tokens)
               for name, point in readings.items()])
