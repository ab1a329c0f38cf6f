"""Find the dump of a reference run after as much training as another run."""
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

#: Names inside the folder of `LivePredictions`: the folder of the dumps, and
#: the table with the number of training tokens of each dump.
LOSSES, READINGS = 'losses', 'readings.csv'


class Reference:
    """The dumps of one run, with their training tokens where known.

    `folder` is the folder of a `LivePredictions`, or a path of dumps as
    `find_dumps` takes it.
    """

    def __init__(self, folder: FilePath) -> None:
        losses = Path(folder, LOSSES)
        where = losses if losses.is_dir() else folder
        dumps = find_dumps([where])
        readings = read_readings(Path(folder))
        points = describe_checkpoints(dumps, readings)
        runs = sorted({point.run for point in points.values()})
        if len(runs) != 1:
            found = ', '.join(runs) or 'none'
            raise InputError(
                f'reference {folder}', 'the dumps of one run', found,
                'Name the dumps of one run, such as run@*.safetensors.')
        self._places = []
        self._has_tokens = False
        for name, place in dumps.items():
            point = points[name]
            self._places.append((point, place))
            if point.tokens > 0:
                self._has_tokens = True

    @property
    def first(self) -> DumpPlace:
        """The dump of the first checkpoint."""
        _, place = self._places[0]
        return place

    def find(self, step: int,
             tokens: float) -> tuple[str, Optional[DumpPlace]]:
        """Find the reference's dump after as much training as another run.

        The other run has trained for `step` steps and `tokens` tokens, 0 if
        unknown. Return the measure of training and the dump, or None if there
        is no such dump. The measure is 'tokens' if both runs state their
        tokens, else 'steps'.
        """
        if tokens > 0 and self._has_tokens:
            # Relative difference up to which two numbers of tokens count as
            # equal, because a short last batch changes a number slightly.
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
    """Return the readings in a folder whose training tokens are known.

    An `InputError` if the table of readings cannot be used.
    """
    path = folder / READINGS
    if not path.exists():
        return {}
    return read_checkpoints(path)


def write_readings(folder: Path, readings: Mapping[str, Checkpoint]) -> None:
    """Write the table of readings, which `--checkpoints` of triage can read.
    """
    rows = []
    for name, point in readings.items():
        rows.append((name, point.run, point.step, point.tokens))
    write_csv(folder / READINGS, ('model', 'run', 'step', 'tokens'), rows)
