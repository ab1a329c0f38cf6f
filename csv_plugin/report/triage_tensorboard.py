"""A triage as curves in TensorBoard."""
from collections.abc import Sequence
from pathlib import Path

from csv_plugin.core.escaping import file_name
from csv_plugin.report.triage_curves import CurveLog, Point


class TensorBoardLog(CurveLog):
    """Logs predictions and forecasts, one folder per run.

    tensorboardX must be installed.

    Args:
        folder (Path): Log directory for TensorBoard.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        from tensorboardX import SummaryWriter

        # Files that are made within one second would have the same name.
        suffix = f'.{len(self._logged)}'
        with SummaryWriter(
                str(self.folder / file_name(run)),
                filename_suffix=suffix) as writer:
            for point in points:
                for name, value in point.scalars.items():
                    writer.add_scalar(name, value, point.step)
