"""Predictions of a run at the steps of its training so far."""
import glob
import logging
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.comparing import compare
from csv_plugin.core.comparison import Comparison
from csv_plugin.core.conventions import InputError, PublicNames
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.live.references import (LOSSES, Reference,
                                               read_readings, write_readings)
from csv_plugin.extras.live.trackers import Log, curves_of
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.files import FilePath, check_file_names, file_set
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.report.triage_report import write_tables
from csv_plugin.triage.checkpoints import Checkpoint
from csv_plugin.triage.result import Triage
from csv_plugin.triage.watching import TriageJob


class LivePredictions(PublicNames):
    """Predicts accuracies of a model between the steps of its training.

    The folder holds the token losses of each reading,
    `losses/<run>@<step>.safetensors`, and the tables `checkpoints.csv` and
    `forecasts.csv` of all of them. Training that is resumed goes on with the
    readings that it finds there.

    Args:
        predictor (Predictor | FilePath): Made from token losses.
        texts (TextSet | FilePath): The texts that it was fitted on.
        folder (FilePath): Created if it does not exist.
        run (str): Name of the training.
        budget (float): Steps at the end of the training; NaN for the median
            of the earlier runs. Without these either, nothing is forecast.
        history (Optional[Sequence[FilePath]]): Losses of earlier, finished
            runs, as `salience triage --history` takes them. They are read at
            once.
        logs (Sequence[Callable]): Each takes curves by name and their step,
            as `wandb.log` and `mlflow.log_metrics` do; see
            `trackers.curves_of`.
        reference (Optional[FilePath]): Folder of another run's
            `LivePredictions`, or a place of its dumps `<run>@<step>`. This
            run is compared with its dump after as many tokens where both runs
            know them, else at the same step.
        known (Optional[FilePath]): Table of observed accuracies of readings:
            a column `model`, with names `<run>@<step>`, and one for each
            benchmark. It is read at every reading, and may come later or
            grow: predictions and forecasts are conditioned on what it holds.

    Raises:
        InputError: The predictor or the texts cannot be read or do not go
            together, the predictor was fitted to tables, the name of the run
            is not one for files, the history cannot be used or holds this
            run, or the reference is not one run on these texts.
        OSError: The folder cannot be created.

    Attributes:
        triage (Optional[Triage]): The last predictions and forecasts, even
            if a log of them failed.
        comparison (Optional[Comparison]): With the reference at the last
            step; None if it has no dump after as much training. A note names
            the measure, tokens or steps.
    """

    def __init__(
        self,
        predictor: Union[Predictor, FilePath],
        texts: Union[TextSet, FilePath],
        folder: FilePath,
        run: str = 'run',
        budget: float = math.nan,
        history: Optional[Sequence[FilePath]] = None,
        logs: Sequence[Log] = (),
        reference: Optional[FilePath] = None,
        known: Optional[FilePath] = None,
    ) -> None:
        check_file_names('run', [run], 'Give the run another name.')
        if not isinstance(predictor, Predictor):
            predictor = load_predictor(predictor)
        self.texts = texts if isinstance(texts, TextSet) else read_texts(texts)
        predictor.check_tokens()
        predictor.columns.check_texts(self.texts.fingerprint, 'texts')
        self.folder = Path(folder)
        self.run = run
        self.losses = self.folder / LOSSES
        self.losses.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        # Accuracies may be there before the losses of their readings.
        self._job = TriageJob(
            predictor, [], history or (), budget=budget, may_come=True)
        self._known = Path(known) if known else None
        if run in self._job.read_history():
            raise InputError(f'run {run!r}', 'a run that is not in the '
                             'history', 'it in the history too',
                             'Leave it out of the history.')
        self._reference = Reference(reference) if reference else None
        if self._reference:
            first = self._reference.first.read(predictor.columns.fingerprint)
            predictor.columns.check_texts(first.info.fingerprint, 'reference')
        self._readings = read_readings(self.folder)
        self._stale: Optional[set[int]] = None
        self.triage: Optional[Triage] = None
        self.comparison: Optional[Comparison] = None

    def read(self,
             model: nn.Module,
             tokenizer: PreTrainedTokenizerBase,
             step: int,
             tokens: float = 0) -> Triage:
        """Score the model, and predict it at this step and at the end.

        The model is left as it was; see `losses_in_training`. `step` counts
        optimiser steps so far, 1 or more. At the first,
        later readings in the folder are left out: see `begin`. `tokens` are
        those seen so far, 0 if unknown, and place it beside a reference.

        Returns:
            Triage: Predictions and their 90 % intervals at all readings of
            the run up to this step, and the forecast of the end from them
            where there are earlier runs.

        Raises:
            InputError: The step is not 1 or more, or as in
                `losses_in_training` and `judge`.
            OSError: Something cannot be written.
        """
        if self._stale is None:
            self.begin(step - 1)
        self.write_losses(model, tokenizer, step, tokens)
        return self.judge(step)

    def begin(self, step: int) -> None:
        """Leave out the readings beyond the step where a training begins.

        They are those of another training of this name, or of one that was
        cut off. Each counts again once it is made anew. A warning in the log
        of the module names them.
        """
        self._stale = {reading for reading in self.steps() if reading > step}
        if self._stale:
            logging.getLogger(__name__).warning(
                'Readings at %s in %s are beyond step %d, where this training '
                'begins: they are left out. Name another run or folder for '
                'another training.', ', '.join(map(str, sorted(self._stale))),
                self.losses, step)

    def write_losses(self,
                     model: nn.Module,
                     tokenizer: PreTrainedTokenizerBase,
                     step: int,
                     tokens: float = 0) -> None:
        """Score the model, and keep its losses in the folder, as `read` does.
        """
        if step < 1:
            raise InputError(f'run {self.run!r}', 'a step of 1 or more',
                             str(step), 'Count optimiser steps.')
        name = f'{self.run}@{step}'
        write_dump(
            self._dump(step),
            losses_in_training(model, tokenizer, self.texts, name))
        known = self._readings.pop(name, None)
        if tokens > 0:
            self._readings[name] = Checkpoint(self.run, step, tokens)
        if known or tokens > 0:
            write_readings(self.folder, self._readings)
        if self._stale:
            self._stale.discard(step)

    def _dump(self, step: int) -> Path:
        return self.losses / f'{self.run}@{step}.safetensors'

    def steps(self) -> list[int]:
        """Return the steps whose losses are in the folder, rising."""
        start = glob.escape(f'{self.run}@')
        steps = []
        for path in self.losses.glob(f'{start}*.safetensors'):
            name = path.stem.rpartition('@')[2]
            if name.isdecimal():
                steps.append(int(name))
        return sorted(steps)

    def judge(self, step: int) -> Triage:
        """Predict and forecast by the losses in the folder; write and log it.

        Readings that `begin` leaves out do not count. `step` is the last one.

        Raises:
            InputError: The losses cannot be used, there are none, the step
                is beyond the budget, the tables cannot be written, or a log
                failed, which is said after all others were written.
        """
        self._job.dumps = []
        for reading in self.steps():
            if reading not in (self._stale or ()):
                self._job.dumps.append(self._dump(reading))
        if self._known and self._known.exists():
            self._job.known = self._known
        self.triage = triage = self._job.update()
        with file_set(self.folder):
            write_tables(self.folder, triage)
        self.comparison = self._compared(step)
        failure: Optional[Exception] = None
        for log in self._logs:
            try:
                log(curves_of(triage, self.comparison), step)
            # Trackers have errors of their own.
            except Exception as error:
                failure = error
        if failure:
            raise InputError('logs', 'trackers that take the curves',
                             f'{type(failure).__name__}: {failure}',
                             'Check the tracker.') from failure
        return triage

    def _compared(self, step: int) -> Optional[Comparison]:
        if self._reference is None or not self._dump(step).exists():
            return None
        reading = self._readings.get(f'{self.run}@{step}')
        tokens = reading.tokens if reading else 0
        measure, place = self._reference.find(step, tokens)
        if place is None:
            return None
        predictor = self._job.predictor
        earlier = place.read(predictor.columns.fingerprint)
        found = compare(earlier, read_dump(self._dump(step)), predictor)
        note = f'A is the reference after as many {measure} of training.'
        return replace(found, notes=(note, *found.notes))


def losses_in_training(model: nn.Module, tokenizer: PreTrainedTokenizerBase,
                       texts: TextSet, name: str) -> TokenLossDump:
    """Score a model between two steps of its training, in nats.

    It is a causal LM of `transformers`, perhaps compiled or wrapped for
    data-parallel training. Its modes, its gradients and the states of all
    random numbers are afterwards what they were. An `InputError` if it is not
    a whole model of `transformers`, or as in `token_losses`.
    """
    whole = _whole_model(model)
    devices = {p.device for p in whole.parameters() if p.is_cuda}
    python = random.getstate()
    numpy = np.random.get_state()
    with torch.random.fork_rng(list(devices)):
        try:
            return dump_losses(whole, tokenizer, texts, name=name)
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            # Copies of weights in half precision that an outer `autocast`
            # keeps were made without gradients.
            torch.clear_autocast_cache()


def _whole_model(model: nn.Module) -> PreTrainedModel:
    inner: Any = model
    while isinstance(inner, nn.Module):
        if isinstance(inner, PreTrainedModel):
            break
        # A compiled model, or one that is the same on several devices.
        inner = getattr(inner, '_orig_mod', getattr(inner, 'module', None))
    if not isinstance(inner, PreTrainedModel):
        raise InputError(
            'model in training', 'a causal LM of transformers',
            f'a {type(model).__name__}', 'Give the model that the trainer '
            'wraps; for others, see Tables in docs/formats.md.')
    if _is_sharded(model):
        # The others would have to run the model too: waiting for them hangs.
        raise InputError(
            'model in training', 'the whole model on one rank',
            'a part of it on each (FSDP, ZeRO-3 or tensor parallel)',
            'Score its checkpoints by `salience watch`.')
    return inner


def _is_sharded(model: nn.Module) -> bool:
    # Names in place of classes, whose modules not every torch has: FSDP 1
    # wraps modules, FSDP 2 and tensor parallel make tensors of a mesh of
    # devices, and ZeRO-3 numbers the parameters that it took apart.
    for module in model.modules():
        if type(module).__name__ == 'FullyShardedDataParallel':
            return True
    for parameter in model.parameters():
        if hasattr(parameter, 'device_mesh') or hasattr(parameter, 'ds_id'):
            return True
    return False
