"""Live predictions in `transformers.Trainer`."""
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Optional, Union

from transformers import (PreTrainedTokenizerBase, TrainerCallback,
                          TrainerControl, TrainerState, TrainingArguments)

from csv_plugin.core.conventions import InputError, PublicNames
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import counted
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.live.live_predictions import LivePredictions
from csv_plugin.extras.live.trackers import Log
from csv_plugin.io.files import FilePath
from csv_plugin.triage.result import Triage


class PredictionCallback(PublicNames, TrainerCallback):
    """Predicts accuracies every few steps, and at the end.

    Nothing that goes wrong in it stops the training or changes its weights:
    the first failure is a warning, and the next reading is tried all the
    same. The predictor, the texts and the history are read when the training
    begins. All ranks may have it; the first one of all scores, writes and
    logs, while the others go on to where they next wait for it. What a log
    such as `trainer.log` changes in the control of the trainer is undone.

    Args:
        predictor (Predictor | FilePath): Made from token losses.
        texts (TextSet | FilePath): The texts that it was fitted on.
        folder (FilePath): For losses and tables; see `LivePredictions`.
        every (int): Steps between two readings.
        tokenizer (Optional[PreTrainedTokenizerBase]): Of the model; by
            default the `processing_class` of the trainer.
        run (str): Name of the training.
        history (Optional[Sequence[FilePath]]): As in `LivePredictions`.
        logs (Sequence[Callable]): As there.
        reference (Optional[FilePath]): As there.
        known (Optional[FilePath]): As there.

    Raises:
        InputError: `every` is not positive.

    Attributes:
        triage (Optional[Triage]): Predictions and forecasts so far.
    """

    def __init__(
        self,
        predictor: Union[Predictor, FilePath],
        texts: Union[TextSet, FilePath],
        folder: FilePath,
        every: int,
        tokenizer: Optional[PreTrainedTokenizerBase] = None,
        run: str = 'run',
        history: Optional[Sequence[FilePath]] = None,
        logs: Sequence[Log] = (),
        reference: Optional[FilePath] = None,
        known: Optional[FilePath] = None,
    ) -> None:
        if every < 1:
            raise InputError('every', '1 step or more', str(every),
                             'Give the steps between two readings.')
        self.every = every
        self.tokenizer = tokenizer
        self._make = partial(
            LivePredictions,
            predictor,
            texts,
            folder,
            run,
            history=history,
            logs=logs,
            reference=reference,
            known=known)
        self.triage: Optional[Triage] = None
        self._live: Optional[LivePredictions] = None
        self._seconds = 0.0
        self._began = 0.0
        self._read_at = 0
        self._warned = False

    def on_train_begin(self, args: TrainingArguments, state: TrainerState,
                       control: TrainerControl, **kwargs: Any) -> None:
        """Begin anew, and load what readings need."""
        self.triage = None
        self._live = None
        self._warned = False
        self._seconds = 0.0
        self._began = time.perf_counter()
        self._read_at = state.global_step
        with self._guarded('Preparing predictions'):
            if state.is_world_process_zero:
                live, _ = self._prepared(state, kwargs)
                live.begin(state.global_step)

    def on_step_end(self, args: TrainingArguments, state: TrainerState,
                    control: TrainerControl, **kwargs: Any) -> None:
        """Read every few steps, and at the last one."""
        step = state.global_step
        if step % self.every == 0 or step >= state.max_steps:
            self._read(state, control, kwargs)

    def on_train_end(self, args: TrainingArguments, state: TrainerState,
                     control: TrainerControl, **kwargs: Any) -> None:
        """Read a training that was stopped early."""
        # With the option, the model is no longer the one of the last step.
        if state.global_step > self._read_at and \
                not args.load_best_model_at_end:
            self._read(state, control, kwargs)
        if self.triage is not None:
            n_read = len(self.triage.predictions.models)
            share = self._seconds / (time.perf_counter() - self._began)
            print(f'Predictions at {counted(n_read, "step")} took '
                  f'{self._seconds:.1f} s, {share:.1%} of the training.')

    def _read(self, state: TrainerState, control: TrainerControl,
              kwargs: dict[str, Any]) -> None:
        step = self._read_at = state.global_step
        # `trainer.log` clears `should_log`. The training would not log its
        # own losses at this step, and this rank alone would not take part in
        # gathering them.
        decided = dict(vars(control))
        with self._guarded(f'Predictions at step {step}'):
            if state.is_world_process_zero:
                live, tokenizer = self._prepared(state, kwargs)
                try:
                    # 0 unless the arguments of the training include them.
                    live.read(kwargs['model'], tokenizer, step,
                              state.num_input_tokens_seen)
                finally:  # A tracker may fail after the model was predicted.
                    self.triage = live.triage
                    vars(control).update(decided)

    def _prepared(
        self, state: TrainerState,
        kwargs: dict[str,
                     Any]) -> tuple[LivePredictions, PreTrainedTokenizerBase]:
        """Return the predictions, loaded if they are not, and a tokenizer."""
        if self._live is None:
            self._live = self._make(budget=state.max_steps)
        tokenizer = self.tokenizer or kwargs.get('processing_class')
        if tokenizer is None:
            raise InputError('PredictionCallback', 'a tokenizer',
                             'none, and a trainer without a processing_class',
                             'Give tokenizer= to one of the two.')
        return self._live, tokenizer

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        """Turn the first failure of some work into a warning."""
        began = time.perf_counter()
        try:
            yield
        except Exception as error:
            # A warning of `warnings` may be made an error, this one not.
            if not self._warned:
                logging.getLogger(__name__).warning(
                    '%s failed, training goes on: %s', name,
                    one_line(f'{type(error).__name__}: {error}'))
            self._warned = True
        self._seconds += time.perf_counter() - began
