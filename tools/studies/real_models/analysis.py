"""How well losses predict real models, families or degradations left out."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

import csv_plugin as cp
from csv_plugin.core import metrics
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.predictor import Predictor, Units
from csv_plugin.core.study import geometric_mean
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.loading import load_scoring_lm
from csv_plugin.lm.tokens.tokenization import target_tokens
from tools.studies.real_models.tables import (ANSWERS, LOSSES, WIKIPEDIA,
                                              RealModels, mean_of, read_losses)

#: Tokens are its own; its hidden states give the paper's head weights.
SCORING_LM = 'smollm2-135m'
#: The best settings of the paper's head on the demonstration's models.
HEAD = HeadSettings(learning_rate=1.)


class Fold(NamedTuple):
    """Models to fit to, with their groups, and models to predict."""
    train: list[str]
    groups: list[str]
    held_out: list[str]


class Predicted(NamedTuple):
    """Accuracies of m models on B benchmarks, and their intervals, `(m, B)`.
    """
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


#: Predicts the held-out models of a fold.
Method = Callable[[Fold], Predicted]


def folds(models: Sequence[str], groups: Sequence[str]) -> Iterator[Fold]:
    """Leave each group out in turn; the group '' is always fitted to."""
    for left_out in sorted(set(groups) - {''}):
        kept = [(m, g) for m, g in zip(models, groups) if g != left_out]
        yield Fold([m for m, _ in kept], [g for _, g in kept],
                   [m for m, g in zip(models, groups) if g == left_out])


def _predicted(predictor: Predictor, losses: object) -> Predicted:
    found = predictor.predict(losses)
    return Predicted(*(part[..., 0]
                       for part in (found.values, found.low, found.high)))


def text_methods(models: RealModels) -> dict[str, Method]:
    """Methods that need one loss of each text, by name."""
    texts, answers = models.part(LOSSES), models.part(ANSWERS)
    return {
        'constant':
        _constant(models),
        'loss on Wikipedia':
        _by_mean_loss(models, mean_of(models.part(LOSSES, WIKIPEDIA))),
        'mean loss':
        _by_mean_loss(models, mean_of(texts)),
        'label-token loss':
        _by_benchmark(models),
        'texts':
        one_model(models, texts),
        'texts and own answers':
        one_model(models, models.losses, own_answers(models)),
        'answers alone':
        one_model(models, answers),
    }


def own_answers(models: RealModels) -> Units:
    """Which columns are texts, and which answers of a benchmark's own.

    Each answer counts as a token.
    """
    names = models.losses.columns.units
    kinds = np.array([name.split(': ')[0] for name in names])
    sources = np.array(
        [name.split(': ')[1].rsplit('/', 1)[0] for name in names])
    texts = np.flatnonzero(kinds == LOSSES)
    answers = {
        name: np.flatnonzero((kinds == ANSWERS) & (sources == name))
        for name in models.accuracies.benchmarks
    }
    return Units(texts, sources[texts], answers)


def one_model(models: RealModels,
              features: cp.FeatureTable,
              units: Optional[Units] = None) -> Method:
    """The default of the package on feature columns."""

    def method(fold: Fold) -> Predicted:
        fitted = fit_predictor(features, models.accuracies.select(fold.train),
                               fold.groups, units)
        return _predicted(fitted, features.select(fold.held_out))

    return method


def _constant(models: RealModels) -> Method:
    """The mean accuracy of the models to fit to, and 90 % of theirs."""

    def method(fold: Fold) -> Predicted:
        known = models.accuracies.select(fold.train).values
        ends = np.quantile(known, [.05, .95], axis=0)
        return Predicted(*(np.tile(row, (len(fold.held_out), 1))
                           for row in (known.mean(axis=0), *ends)))

    return method


def _by_mean_loss(models: RealModels,
                  features: cp.FeatureTable,
                  benchmarks: Optional[Sequence[str]] = None) -> Method:
    """The baseline on feature columns, for some or all benchmarks."""

    def method(fold: Fold) -> Predicted:
        accuracies = models.accuracies.select(fold.train, benchmarks)
        fitted = fit_mean_loss_predictor(features, accuracies, fold.groups)
        return _predicted(fitted, features.select(fold.held_out))

    return method


def _by_benchmark(models: RealModels) -> Method:
    """Each benchmark by the loss of right answers of its own questions."""
    methods = [
        _by_mean_loss(models, mean_of(models.part(ANSWERS, name)), [name])
        for name in models.accuracies.benchmarks
    ]

    def method(fold: Fold) -> Predicted:
        return Predicted(*map(np.hstack, zip(*(own(fold) for own in methods))))

    return method


@dataclass(frozen=True, eq=False)
class TokenStudy:
    """Methods that see the losses of tokens."""
    models: RealModels
    losses: cp.ModelLosses
    run: Path

    @classmethod
    def read(cls, models: RealModels, run: Path) -> 'TokenStudy':
        """Read the token losses of the models from a run of `collect`."""
        return cls(models, read_losses(run).select(models.models), run)

    @cached_property
    def _scoring_lm(self) -> tuple:
        return load_scoring_lm(self.run / 'models' / SCORING_LM)

    @cached_property
    def targets(self) -> cp.TargetTokens:
        """Tokens that get the weights."""
        return target_tokens(self._scoring_lm[1], self.losses.texts)

    @cached_property
    def states(self) -> torch.Tensor:
        """Hidden states at them, `(T, H)`, kept in a file."""
        file = self.run / 'states.safetensors'
        if not file.exists():
            found = hidden_states(*self._scoring_lm, self.losses.texts.texts)
            save_file({'states': found}, file)
        return load_file(file)['states']

    @cached_property
    def table(self) -> cp.LossTable:
        """Losses of all models on these tokens."""
        return self.targets.table({
            model: dump.texts
            for model, dump in self.losses.items()
        })

    def methods(self) -> dict[str, Method]:
        """Methods by name."""
        return {'tokens': self._one_model, "the paper's head": self._paper}

    def _one_model(self, fold: Fold) -> Predicted:
        predictor = cp.fit(
            self.losses,
            self.models.accuracies.select(fold.train),
            dict(zip(fold.train, fold.groups)),
            scoring_lm=self._scoring_lm)
        return _predicted(predictor, self.losses.select(fold.held_out))

    def _paper(self, fold: Fold) -> Predicted:
        predictor = train_paper_head(
            self.table.select(fold.train), self.targets, self.states,
            self.models.accuracies.select(fold.train), fold.groups,
            fold.train[::4], HEAD).predictor
        return _predicted(predictor, self.table.select(fold.held_out))


class Errors(NamedTuple):
    """Mean absolute error and mean width in points, coverage, rank, MSE.

    Means over models and benchmarks; ranks are Spearman's correlation of the
    models left out together, a mean over benchmarks where accuracies differ.
    The mean squared error is a geometric mean over benchmarks, of fractions.
    """
    error: float
    coverage: float
    width: float
    spearman: float
    mse: float


def errors(accuracies: cp.AccuracyTable, parts: Sequence[Fold],
           predicted: Sequence[Predicted]) -> Errors:
    """Errors over all folds."""
    real = [accuracies.select(fold.held_out).values for fold in parts]
    actual = np.vstack(real)
    values, low, high = map(np.vstack, zip(*predicted))
    ranks = [
        metrics.spearman(truth[:, b], found.values[:, b])
        for truth, found in zip(real, predicted) for b in range(truth.shape[1])
    ]
    known = [rank for rank in ranks if not np.isnan(rank)]
    return Errors(100 * float(np.abs(values - actual).mean()),
                  float(((low <= actual) & (actual <= high)).mean()),
                  100 * float((high - low).mean()),
                  float(np.mean(known)) if known else float('nan'),
                  geometric_mean(((values - actual)**2).mean(axis=0)))


def compare(models: RealModels, methods: Mapping[str, Method],
            groups: Sequence[str]) -> dict[str, Errors]:
    """Errors of each method with each group of models left out."""
    parts = list(folds(models.models, groups))
    return {
        name: errors(models.accuracies, parts, [method(f) for f in parts])
        for name, method in methods.items()
    }
