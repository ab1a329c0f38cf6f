"""A triage as curves in TensorBoard."""
from pathlib import Path

from csv_plugin.core.escaping import file_name
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory


class TensorBoardLog:
    """Logs predictions and forecasts, one folder per run.

    Args:
        folder (Path): Log directory for TensorBoard.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logged: set[str] = set()

    def add(self, triage: Triage) -> None:
        """Log the checkpoints that were not logged before.

        Curves are by tokens, or steps where no tokens are known. Forecasts
        are logged at the last checkpoint of their run. tensorboardX must be
        installed.

        Args:
            triage (Triage): The runs so far.
        """
        for run in triage.runs:
            if not self._logged.issuperset(run.checkpoints):
                self._add_run(triage, run)

    def _add_run(self, triage: Triage, run: RunTrajectory) -> None:
        from tensorboardX import SummaryWriter
        predicted = triage.predictions.select(run.checkpoints).values[:, :, 0]
        # Files that are made within one second would have the same name.
        suffix = f'.{len(self._logged)}'
        with SummaryWriter(
                str(self.folder / file_name(run.run)),
                filename_suffix=suffix) as writer:
            for name, tokens, row in zip(run.checkpoints, run.tokens,
                                         predicted):
                if name in self._logged:
                    continue
                for benchmark, accuracy in zip(triage.benchmarks, row):
                    writer.add_scalar(f'predicted/{benchmark}', accuracy,
                                      round(tokens))
                self._logged.add(name)
            for benchmark, ranking in triage.rankings.items():
                writer.add_scalar(f'forecast/{benchmark}',
                                  ranking.values[ranking.runs.index(run.run)],
                                  round(run.tokens[-1]))
