"""Predict the accuracies of a run while it trains, at each step scored so far.
"""
import glob
import logging
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

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
    """Predict accuracies of a model between the steps of its training.

    A reading is one scoring of the model on the texts, after a given step of
    its training. The folder holds the token losses of each reading,
    `losses/<run>@<step>.safetensors`, and the tables `checkpoints.csv` and
    `forecasts.csv`, which cover all readings. A resumed training continues
    with the readings that it finds in the folder.

    Args:
        predictor (Predictor | FilePath): A predictor that was fitted to
            token losses.
        texts (TextSet | FilePath): The texts that the predictor was fitted
            on.
        folder (FilePath): Output folder; created if it does not exist.
        run (str): Name of the training.
        budget (float): Number of steps at the end of the training. NaN
            means the median budget of the runs in `history`. With neither a
            budget nor a history, nothing is forecast.
        history (Optional[Sequence[FilePath]]): Losses of earlier, finished
            runs, in the form that `salience triage --history` takes. The
            constructor reads them.
        logs (Sequence[Callable]): Functions that are called with the values
            by name of their curve and with the step, like `wandb.log` and
            `mlflow.log_metrics`; see `trackers.curves_of`.
        reference (Optional[FilePath]): Another run to compare with: the
            folder of its `LivePredictions`, or a path of its dumps
            `<run>@<step>`. Each reading is compared with the reference's dump
            after the same number of training tokens if both runs state their
            tokens, else with its dump at the same step.
        known (Optional[FilePath]): Table of observed accuracies of readings,
            with a column `model`, whose names are `<run>@<step>`, and a
            column for each benchmark. Predictions and forecasts are
            conditioned on these accuracies. The table is read again at every
            reading, so it may be created or extended during the training.

    Raises:
        InputError: The predictor or the texts cannot be read, the predictor
            was fitted on other texts or to tables, the name of the run
            cannot be part of a file name, the history cannot be used or
            contains this run, or the reference does not consist of one run
            on these texts.
        OSError: The folder cannot be created.

    Attributes:
        triage (Optional[Triage]): The latest predictions and forecasts. They
            are set even if one of the `logs` failed.
        comparison (Optional[Comparison]): Comparison of the latest reading
            with the reference; None without a reference, or if the reference
            has no dump after equally much training. One of its notes says
            whether training is measured in tokens or steps.
    """

    def __init__(
        self,
        predictor: Predictor | FilePath,
        texts: TextSet | FilePath,
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
        if not isinstance(texts, TextSet):
            texts = read_texts(texts)
        self.texts = texts
        predictor.check_tokens()
        predictor.columns.check_texts(self.texts.fingerprint, 'texts')
        self.folder = Path(folder)
        self.run = run
        self.losses = self.folder / LOSSES
        self.losses.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        # `known` may have accuracies of readings that are still to come.
        self._job = TriageJob(
            predictor, [], history or (), budget=budget, may_come=True)
        self._known = Path(known) if known else None
        if run in self._job.read_history():
            raise InputError(f'run {run!r}', 'a run that is not in the '
                             'history', 'this run in the history',
                             'Remove this run from the history.')
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
        """Score the model, and predict its accuracies now and at the end.

        The model is left as it was; see `losses_in_training`.

        Args:
            model (nn.Module): The model in training.
            tokenizer (PreTrainedTokenizerBase): Tokenizer of the model.
            step (int): Number of optimiser steps so far, 1 or more. If
                `begin` was not called before, the first call of `read`
                ignores the readings in the folder beyond `step - 1`.
            tokens (float): Number of training tokens so far, 0 if unknown.
                The reference is taken after the same number of tokens.

        Returns:
            Triage: Predictions and their 90 % intervals at all readings of
            the run so far, and the forecast of its end if a history was
            given.

        Raises:
            InputError: The step is below 1, or `losses_in_training` or
                `judge` fails.
            OSError: The losses or the tables cannot be written.
        """
        if self._stale is None:
            self.begin(step - 1)
        self.write_losses(model, tokenizer, step, tokens)
        return self.judge(step)

    def begin(self, step: int) -> None:
        """Ignore the readings beyond the step where a training begins.

        Such readings are left from another training of the same name, or from
        a training that was interrupted. A reading counts again once its step
        is scored anew. A warning, by `logging`, lists the ignored readings.
        """
        beyond = [reading for reading in self.steps() if reading > step]
        self._stale = set(beyond)
        if beyond:
            listed = ', '.join(map(str, beyond))
            logging.getLogger(__name__).warning(
                'Readings at %s in %s are beyond step %d, where this training '
                'begins: they are left out. Name another run or folder for '
                'another training.', listed, self.losses, step)

    def write_losses(self,
                     model: nn.Module,
                     tokenizer: PreTrainedTokenizerBase,
                     step: int,
                     tokens: float = 0) -> None:
        """Score the model, and write its token losses to the folder.

        For arguments and errors, see `read`.
        """
        if step < 1:
            raise InputError(f'run {self.run!r}', 'a step of 1 or more',
                             str(step), 'Give the number of optimiser steps '
                             'so far.')
        name = f'{self.run}@{step}'
        dump = losses_in_training(model, tokenizer, self.texts, name)
        write_dump(self._dump(step), dump)
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
        """Return the steps whose losses are in the folder, ascending."""
        start = glob.escape(f'{self.run}@')
        steps = []
        for path in self.losses.glob(f'{start}*.safetensors'):
            _, _, step = path.stem.rpartition('@')
            if step.isdecimal():
                steps.append(int(step))
        return sorted(steps)

    def judge(self, step: int) -> Triage:
        """Predict the accuracies now and at the end from the losses on disk.

        The results are written to the tables in the folder and given to the
        `logs`. Losses of steps that `begin` ignores are not used. `step` is
        the step of the last reading.

        Raises:
            InputError: The losses cannot be used, there are none, the step
                is beyond the budget, the tables cannot be written, or one of
                the `logs` failed. A failed log is raised only after the
                tables were written and all other logs were called.
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
            # A tracker can raise an exception of any class.
            except Exception as error:
                failure = error
        if failure:
            raise InputError('logs', 'trackers that take the curves',
                             f'{type(failure).__name__}: {failure}',
                             'Check the tracker.') from failure
        return triage

    def _compared(self, step: int) -> Optional[Comparison]:
        """Compare the reading at a step with the reference.

        The result is None without a reference, or if one of the two dumps does
        not exist.
        """
        if self._reference is None or not self._dump(step).exists():
            return None
        reading = self._readings.get(f'{self.run}@{step}')
        tokens = reading.tokens if reading else 0
        measure, place = self._reference.find(step, tokens)
        if place is None:
            return None
        predictor = self._job.predictor
        reference = place.read(predictor.columns.fingerprint)
        now = read_dump(self._dump(step))
        found = compare(reference, now, predictor)
        note = f'A is the reference after as many {measure} of training.'
        return replace(found, notes=(note, *found.notes))


def losses_in_training(model: nn.Module, tokenizer: PreTrainedTokenizerBase,
                       texts: TextSet, name: str) -> TokenLossDump:
    """Score a model between two steps of its training, in nats.

    `model` is a causal LM of `transformers`, perhaps compiled or wrapped for
    data-parallel training. Its training modes, its gradients and the states
    of all random-number generators are the same afterwards as before. Raise
    an `InputError` if `model` is not a model of `transformers` or is sharded
    over several ranks, or if `token_losses` refuses it.
    """
    whole = _whole_model(model)
    devices = set()
    for parameter in whole.parameters():
        if parameter.is_cuda:
            devices.add(parameter.device)
    python_state = random.getstate()
    numpy_state = np.random.get_state()
    with torch.random.fork_rng(list(devices)):
        try:
            return dump_losses(whole, tokenizer, texts, name=name)
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)
            # An outer `autocast` caches half-precision copies of the
            # weights. Scoring made these copies without gradients, so the
            # next training step must not reuse them.
            torch.clear_autocast_cache()


def _whole_model(model: nn.Module) -> PreTrainedModel:
    """Return the model of `transformers` inside of wrappers."""
    inner: Any = model
    while isinstance(inner, nn.Module):
        if isinstance(inner, PreTrainedModel):
            break
        # `torch.compile` wraps a model as `_orig_mod`; data-parallel
        # wrappers keep it as `module`.
        wrapped = getattr(inner, 'module', None)
        inner = getattr(inner, '_orig_mod', wrapped)
    if not isinstance(inner, PreTrainedModel):
        raise InputError(
            'model in training', 'a causal LM of transformers',
            f'a {type(model).__name__}', 'Give the model that the trainer '
            'wraps; for other models, see Tables in docs/formats.md.')
    if _is_sharded(model):
        # A sharded model runs only if all ranks run it. Only one rank scores,
        # so it would wait forever.
        raise InputError(
            'model in training', 'the whole model on one rank',
            'a model sharded over the ranks (FSDP, ZeRO-3 or tensor parallel)',
            'Score its saved checkpoints with `salience watch`.')
    return inner


def _is_sharded(model: nn.Module) -> bool:
    """Return whether ranks hold different parts of the weights."""
    # Names are compared, not classes, because not every version of torch has
    # the modules of these classes. FSDP 1 wraps modules, FSDP 2 and tensor
    # parallelism give parameters a `device_mesh`, and ZeRO-3 gives each
    # parameter that it shards a `ds_id`.
    for module in model.modules():
        if type(module).__name__ == 'FullyShardedDataParallel':
            return True
    for parameter in model.parameters():
        if hasattr(parameter, 'device_mesh') or hasattr(parameter, 'ds_id'):
            return True
    return False
