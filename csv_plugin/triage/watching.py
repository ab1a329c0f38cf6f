"""Triage that is repeated whenever there are new checkpoints."""
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Protocol

import numpy as np

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.input_error import InputError
from csv_plugin.core.predicting import or_missing
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath
from csv_plugin.triage.checkpoints import (Checkpoint, describe_checkpoints,
                                           read_checkpoints, refuse_shared)
from csv_plugin.triage.dumps import DumpPlace, find_dumps
from csv_plugin.triage.judging import Triage, first_reason, judge


class Job(Protocol):
    """Looks for new checkpoints."""

    def update(self) -> Optional[Triage]:
        """Return a triage of all checkpoints, or None if nothing is new."""


class TriageJob:
    """Reads new checkpoints and judges them with those read before.

    Places of dumps are as in `find_dumps`, the table as in `read_checkpoints`;
    the budget holds for runs that have none in the table.
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
        # By place, as another file may get the name of a removed one.
        self._features: dict[DumpPlace, FeatureTable] = {}
        self._refused: dict[DumpPlace, str] = {}
        # Of the dumps that were refused.
        self._stamps: dict[DumpPlace, object] = {}
        self._judged = False

    def read_history(self) -> set[str]:
        """Read the earlier runs before the first update; return their names.

        An `InputError` if there are places but no usable checkpoint.
        """
        earlier = find_dumps(self.history)
        self._read(earlier)
        if self.history and not self._features.keys() & {*earlier.values()}:
            raise InputError('history', 'losses of earlier, finished runs',
                             first_reason(self._reasons(earlier), 'no dump'),
                             'Name other places, or leave the history out.')
        described = describe_checkpoints(earlier, self._described())
        return {checkpoint.run for checkpoint in described.values()}

    def update(self, progress: Progress = iter) -> Optional[Triage]:
        """Read the new checkpoints and judge all; None if nothing is new.

        Errors are those of `find_dumps`, the table and `judge`.
        """
        table = self._described()
        dumps, earlier = find_dumps(self.dumps), find_dumps(self.history)
        refuse_shared(dumps, earlier)
        places = dumps | earlier
        if not self._read(places, progress) and self._judged:
            return None
        self._judged = False
        columns = self.predictor.columns
        none = FeatureTable((), columns, np.zeros((0, len(columns.units))))
        features = [
            self._features[place] for place in places.values()
            if place in self._features
        ]
        triage = judge(self.predictor,
                       FeatureTable.concatenate([none, *features]),
                       describe_checkpoints(dumps, table),
                       describe_checkpoints(earlier, table), self.budget,
                       self._reasons(places))
        self._judged = True
        return triage

    def _described(self) -> Optional[dict[str, Checkpoint]]:
        return read_checkpoints(self.table) if self.table else None

    def _reasons(self, dumps: Mapping[str, DumpPlace]) -> dict[str, str]:
        """Reasons why some of these dumps cannot be used."""
        return {
            name: self._refused[place]
            for name, place in dumps.items() if place in self._refused
        }

    def _read(self,
              dumps: Mapping[str, DumpPlace],
              progress: Progress = iter) -> bool:
        """Read new dumps; return True if one of them can be used.

        A refused dump is read again once its files change, since it may have
        been half written.
        """
        fingerprint = self.predictor.columns.fingerprint
        stamps = {
            place: place.stamp(fingerprint)
            for place in dumps.values() if place not in self._features
        }
        changed = [
            place for place, stamp in stamps.items()
            if self._stamps.get(place) != stamp
        ]
        before = len(self._features)
        for place in progress(changed):
            columns = or_missing(self._columns, place)
            if isinstance(columns, Missing):
                self._refused[place] = columns.reason
                self._stamps[place] = stamps[place]
            else:
                self._features[place] = columns
                self._refused.pop(place, None)
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
