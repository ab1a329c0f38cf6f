"""A triage that is made anew whenever there are new checkpoints."""
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Protocol

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predicting import attempt
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.files import FilePath
from csv_plugin.triage.checkpoints import (Checkpoint, describe_checkpoints,
                                           read_checkpoints)
from csv_plugin.triage.dumps import DumpPlace, find_dumps
from csv_plugin.triage.judging import Triage, judge


class Job(Protocol):
    """Looks for new checkpoints."""

    def update(self) -> Optional[Triage]:
        """Return a triage of all checkpoints, or None if nothing is new."""


class TriageJob:
    """The places to look for checkpoints, and what was read there so far.

    Args:
        predictor (Predictor): Judges the checkpoints.
        dumps (Sequence[FilePath]): Places of the runs to judge; see
            `find_dumps`.
        history (Sequence[FilePath]): Places of earlier, finished runs.
        table (Optional[FilePath]): Describes checkpoints; see
            `read_checkpoints`.
        budget (float): Tokens (or steps) at the end of the runs that have
            no budget in the table, NaN if not known.

    Raises:
        InputError: The predictor was fitted to tables.

    Attributes:
        refused (dict[str, str]): Why dumps cannot be used, by checkpoint.
    """

    def __init__(self,
                 predictor: Predictor,
                 dumps: Sequence[FilePath],
                 history: Sequence[FilePath] = (),
                 table: Optional[FilePath] = None,
                 budget: float = math.nan) -> None:
        predictor.check_tokens()
        self.predictor, self.table, self.budget = predictor, table, budget
        self.dumps, self.history = dumps, history
        self.refused: dict[str, str] = {}
        self._features: dict[str, FeatureTable] = {}
        # Of the dumps that were refused.
        self._stamps: dict[str, object] = {}
        self._judged = False

    def read_history(self) -> set[str]:
        """Read the earlier runs ahead of the first update; return their names.

        Raises:
            InputError: There are places of them, but no checkpoint that can
                be used, or as in `update`.
        """
        earlier = find_dumps(self.history)
        self._read(earlier)
        if self.history and not earlier.keys() & self._features.keys():
            raise InputError('history', 'losses of earlier, finished runs',
                             self._first_reason('no dump'),
                             'Name other places, or leave the history out.')
        described = describe_checkpoints(earlier, self._described())
        return {checkpoint.run for checkpoint in described.values()}

    def update(self, progress: Progress = iter) -> Optional[Triage]:
        """Read the new checkpoints and judge all of them.

        Returns None if nothing is new since the last call.

        Raises:
            InputError: As in `find_dumps`, `read_checkpoints`,
                `describe_checkpoints` and `judge`; or no checkpoint can be
                used.
        """
        table = self._described()
        dumps, earlier = find_dumps(self.dumps), find_dumps(self.history)
        if not self._read(dumps | earlier, progress) and self._judged:
            return None
        self._judged = False
        if not self._features:
            raise InputError('checkpoints', 'one or more that can be used',
                             self._first_reason('none'),
                             'Collect losses of checkpoints.')
        triage = judge(self.predictor,
                       FeatureTable.concatenate([*self._features.values()]),
                       describe_checkpoints(dumps, table),
                       describe_checkpoints(earlier, table), self.budget,
                       self.refused)
        self._judged = True
        return triage

    def _described(self) -> Optional[dict[str, Checkpoint]]:
        return read_checkpoints(self.table) if self.table else None

    def _first_reason(self, default: str) -> str:
        reasons = [f'{name}: {why}' for name, why in self.refused.items()]
        return reasons[0].rstrip('.') if reasons else default

    def _read(self,
              dumps: Mapping[str, DumpPlace],
              progress: Progress = iter) -> bool:
        """Read the dumps that were not read before; whether there were some.

        A dump that was refused is read again once its files changed, since
        it may have been half written.
        """
        fingerprint = self.predictor.columns.fingerprint
        stamps = {
            name: dump.stamp(fingerprint)
            for name, dump in dumps.items() if name not in self._features
        }
        changed = [
            name for name, stamp in stamps.items()
            if self._stamps.get(name) != stamp
        ]
        before = len(self._features)
        for name in progress(changed):
            columns = attempt(self._columns, dumps[name])
            if isinstance(columns, Missing):
                self.refused[name] = columns.reason
                self._stamps[name] = stamps[name]
            else:
                self._features[name] = columns
                self.refused.pop(name, None)
        return len(self._features) > before

    def _columns(self, dump: DumpPlace) -> FeatureTable:
        losses = dump.read(self.predictor.columns.fingerprint)
        return self.predictor.features({dump.model: losses})


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """Have Ctrl-C and SIGTERM set an event, in place of ending at once."""
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


def watch(job: Job, show: Callable[[Triage], None], complain: Callable[[str],
                                                                       None],
          stop: threading.Event, interval: float) -> None:
    """Look for new checkpoints until told to stop.

    Files that cannot be used yet, such as half-written ones, are tried again
    when they change, and named in the notes of the next triage. Why there is
    none, such as a folder that does not exist yet, is reported once.

    Args:
        job (Job): Looks.
        show (Callable): Gets every new triage.
        complain (Callable): Gets every new reason why there is none.
        stop (threading.Event): Ends the watch, at the latest when what is
            being read has been shown.
        interval (float): Seconds between two looks.
    """
    complaint = ''
    while not stop.is_set():
        try:
            triage = job.update()
        except (InputError, OSError) as error:
            if str(error) != complaint:
                complain(str(error))
            complaint = str(error)
        else:
            complaint = ''
            if triage is not None:
                show(triage)
        stop.wait(interval)
