"""A triage that is made anew whenever there are new checkpoints."""
import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.io.tables import FilePath
from csv_plugin.triage.checkpoints import place_checkpoints, read_checkpoints
from csv_plugin.triage.dump_places import find_dumps
from csv_plugin.triage.judging import Triage, triage
from csv_plugin.triage.readings import Readings


@dataclass(eq=False)
class TriageJob:
    """Where checkpoints and what is known of them are found.

    Args:
        readings (Readings): Keeps what was read.
        dumps (Sequence[FilePath]): Of the runs to judge; see `find_dumps`.
        history (Sequence[FilePath]): Of earlier, finished runs.
        table (Optional[FilePath]): See `read_checkpoints`.
        budget (float): Of runs without one in the table, NaN if not known.
    """
    readings: Readings
    dumps: Sequence[FilePath]
    history: Sequence[FilePath] = ()
    table: Optional[FilePath] = None
    budget: float = math.nan
    _judged: bool = field(init=False, default=False)

    def update(self, progress: Progress = iter) -> Optional[Triage]:
        """Read what is new and judge everything; None if nothing is new.

        Args:
            progress (Progress): Wraps the dumps that are read.

        Raises:
            InputError: As in `find_dumps`, `place_checkpoints`, `triage`.
        """
        table = read_checkpoints(self.table) if self.table else None
        dumps, earlier = find_dumps(self.dumps), find_dumps(self.history)
        both = sorted(dumps.keys() & earlier.keys())
        if both:
            raise InputError(f'checkpoint {both[0]!r}',
                             'a run to judge or an earlier one', 'it in both',
                             'Leave it out of the history.')
        if not self.readings.add(dumps | earlier, progress) and self._judged:
            return None
        self._judged = False
        found = triage(self.readings, place_checkpoints(dumps, table),
                       place_checkpoints(earlier, table), self.budget)
        self._judged = True
        return found


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, in place of ending at once."""
    stop = threading.Event()

    def note(*_: Any) -> None:
        stop.set()

    before = {
        number: signal.signal(number, note)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def watch(job: TriageJob, show: Callable[[Triage], None],
          complain: Callable[[str], None], stop: threading.Event,
          interval: float) -> None:
    """Look for new checkpoints until told to stop.

    What cannot be used yet, a half-written file or a folder that does not
    exist, is told once and tried again when it changed.

    Args:
        job (TriageJob): Where to look.
        show (Callable): Gets every new triage.
        complain (Callable): Gets every new reason why there is none.
        stop (threading.Event): Ends the watch, at the latest after what is
            being read and written.
        interval (float): Seconds between two looks.
    """
    told = ''
    while not stop.is_set():
        try:
            found = job.update()
        except InputError as error:
            if str(error) != told:
                complain(str(error))
            told = str(error)
        else:
            told = ''
            if found:
                show(found)
        stop.wait(interval)


class TensorBoardLog:
    """Predictions and forecasts as curves, a folder per run.

    Args:
        folder (Path): Log directory for TensorBoard.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logged: set[str] = set()

    def add(self, found: Triage) -> None:
        """Log the checkpoints that were not logged before.

        Forecasts are logged at the last checkpoint of their run.
        """
        from tensorboardX import SummaryWriter
        for run in found.runs:
            new = [(name, round(tokens))
                   for name, tokens in zip(run.checkpoints, run.tokens)
                   if name not in self._logged]
            if not new:
                continue
            # Files of one second would have one name otherwise.
            suffix = f'.{len(self._logged)}'
            with SummaryWriter(
                    str(self.folder / run.run),
                    filename_suffix=suffix) as writer:
                for name, tokens in new:
                    for benchmark in found.benchmarks:
                        cell = found.predictions.at(name, benchmark)
                        writer.add_scalar(f'predicted/{benchmark}', cell.value,
                                          tokens)
                    self._logged.add(name)
                for benchmark, ranking in found.rankings.items():
                    writer.add_scalar(
                        f'forecast/{benchmark}',
                        ranking.values[ranking.runs.index(run.run)],
                        round(run.tokens[-1]))
