"""Make live predictions by a callback of `transformers.Trainer`."""
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Optional

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
    """Predict accuracies every few steps, and at the end of a training.

    A reading is one scoring of the model on the texts, with the predictions
    that follow from it. The predictor, the texts and the history are read
    when the training begins.

    No failure in the callback stops the training or changes its weights. The
    first failure is reported as a warning, and later readings are still
    attempted. In distributed training every rank may have the callback:
    global rank 0 scores, writes and logs, while the other ranks continue
    until they next synchronise with it. A function in `logs` such as
    `trainer.log` changes the trainer's `TrainerControl`; the callback restores
    it after each reading.

    Args:
        predictor (Predictor | FilePath): A predictor that was fitted to
            token losses.
        texts (TextSet | FilePath): The texts that the predictor was fitted
            on.
        folder (FilePath): Folder for losses and tables; see
            `LivePredictions`.
        every (int): Number of steps between two readings.
        tokenizer (Optional[PreTrainedTokenizerBase]): Tokenizer of the
            model; by default the `processing_class` of the trainer.
        run (str): Name of the training.
        history (Optional[Sequence[FilePath]]): See `LivePredictions`.
        logs (Sequence[Callable]): See `LivePredictions`.
        reference (Optional[FilePath]): See `LivePredictions`.
        known (Optional[FilePath]): See `LivePredictions`.

    Raises:
        InputError: `every` is not positive.

    Attributes:
        triage (Optional[Triage]): Predictions and forecasts so far. None
            before the first reading, and on all ranks but global rank 0.
    """

    def __init__(
        self,
        predictor: Predictor | FilePath,
        texts: TextSet | FilePath,
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
            raise InputError(
                'every', '1 step or more', str(every),
                'Give the number of steps between two '
                'readings.')
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
        """Forget an earlier training, and load what readings need."""
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
        """Make a reading after every `every` steps and the last step."""
        step = state.global_step
        if step % self.every == 0 or step >= state.max_steps:
            self._read(state, control, kwargs)

    def on_train_end(self, args: TrainingArguments, state: TrainerState,
                     control: TrainerControl, **kwargs: Any) -> None:
        """Make a last reading if the training was stopped early.

        Print how long all readings took.
        """
        # With `load_best_model_at_end`, the weights of the last step have been
        # replaced.
        is_unread = state.global_step > self._read_at
        if is_unread and not args.load_best_model_at_end:
            self._read(state, control, kwargs)
        if self.triage is not None:
            n_read = len(self.triage.predictions.models)
            of_training = time.perf_counter() - self._began
            share = self._seconds / of_training
            print(f'Predictions at {counted(n_read, "step")} took '
                  f'{self._seconds:.1f} s, {share:.1%} of the training.')

    def _read(self, state: TrainerState, control: TrainerControl,
              kwargs: dict[str, Any]) -> None:
        """Score the model on global rank 0, and predict its accuracies.

        If this fails, the training goes on.
        """
        step = self._read_at = state.global_step
        # `trainer.log` clears `control.should_log`. If it stayed cleared, the
        # trainer would not log its own losses at this step, and other ranks
        # would wait for this rank while they gather these losses.
        decided = dict(vars(control))
        with self._guarded(f'Predictions at step {step}'):
            if state.is_world_process_zero:
                live, tokenizer = self._prepared(state, kwargs)
                try:
                    # The number of tokens is 0 unless the training arguments
                    # ask the trainer to count them.
                    live.read(kwargs['model'], tokenizer, step,
                              state.num_input_tokens_seen)
                finally:  # The triage is set even if a tracker failed.
                    self.triage = live.triage
                    vars(control).update(decided)

    def _prepared(
        self, state: TrainerState, kwargs: Mapping[str, Any]
    ) -> tuple[LivePredictions, PreTrainedTokenizerBase]:
        """Return the `LivePredictions`, made at first use, and a tokenizer."""
        if self._live is None:
            self._live = self._make(budget=state.max_steps)
        tokenizer = self.tokenizer or kwargs.get('processing_class')
        if tokenizer is None:
            raise InputError(
                'PredictionCallback', 'a tokenizer',
                'none, and a trainer without a processing_class',
                'Give tokenizer= to PredictionCallback, or '
                'processing_class= to the trainer.')
        return self._live, tokenizer

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        """Suppress failures, log the first one, and measure the time.

        `name` is the work that the warning says has failed.
        """
        began = time.perf_counter()
        try:
            yield
        except Exception as error:
            # The module `warnings` is not used, because filters can turn its
            # warnings into errors, which would stop the training.
            if not self._warned:
                reason = one_line(f'{type(error).__name__}: {error}')
                logging.getLogger(__name__).warning(
                    '%s failed, training goes on: %s', name, reason)
            self._warned = True
        self._seconds += time.perf_counter() - began
