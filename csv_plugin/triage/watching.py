"""Triage that is repeated whenever there are new checkpoints."""
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
    """Reads new checkpoints and judges them with those read before.

    Places of dumps are as in `find_dumps`, the table as in `read_checkpoints`;
    the budget holds for runs that have none in the table. `refused` contains
    the reasons why dumps cannot be used, by checkpoint.
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
        """Read the earlier runs before the first update; return their names.

        An `InputError` if there are places but no usable checkpoint.
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
        """Read the new checkpoints and judge all; None if nothing is new.

        Raises:
            InputError: No checkpoint can be used; or as in `find_dumps`,
                `read_checkpoints`, `describe_checkpoints` and `judge`.
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
        """Read new dumps; return True if there were some.

        A refused dump is read again once its files change, since it may have
        been half written.
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
    """Turn Ctrl-C and SIGTERM into an event."""
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
    """Look for new checkpoints until `stop` is set.

    Unusable files, such as half-written ones, are tried again when they
    change; the next triage has a note on them. `show` gets every new triage,
    `complain` every new reason why there is none. A look that has begun is
    finished first. `interval` is in seconds.
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
