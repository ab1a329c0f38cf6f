"""Effects of departures from the paper, in docs/appendix/deviations.md.

    OMP_NUM_THREADS=1 python -m tools.studies.deviations_study STUDY

Every study prints one row per variant of the paper's method, Algorithms 1 and
2. The zoo of the demonstration is fitted to 72 checkpoints and judged on 40 of
seven runs. `error` is the mean squared error in 1e-3, geometric mean over the
benchmarks. `ratio` divides it by that of the last row above without a ratio;
in brackets a 90 % bootstrap interval over the runs that are predicted.
"""
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import gmean
from tabulate import tabulate

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.scaling_law import Curve
from csv_plugin.core.spans import TokenSpans
from csv_plugin.demo import shipped
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import (HeadObjective, TrainedHeads,
                                           train_heads)
from csv_plugin.lm.head.scoring_head import ScoringHead
from tools.studies.options import parser_of
from tools.studies.zoo_study import FIRST_SERIES, ZooStudy

#: The settings of the paper.
PAPER = HeadSettings()
#: The settings that predict the zoo's validation models best.
CHOSEN = HeadSettings(learning_rate=1.)
N_DRAWS = 2000
FITTED = ('train', 'validation')


class Variant(NamedTuple):
    """One row of a study.

    Args:
        name (str): What is varied.
        errors (NDArray): Squared errors of n models, NaN where a model has
            no accuracy, `(n, B)`.
        remark (str): What else is to be known of it.
        is_reference (bool): Whether the rows below are compared with it.
        groups (Sequence[str]): Run of the n models, where they are not the
            test models.
    """
    name: str
    errors: NDArray
    remark: str = ''
    is_reference: bool = False
    groups: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Zoo:
    """The zoo, its texts read by a scoring LM."""
    study: ZooStudy

    @classmethod
    def load(cls,
             scoring_lm: Any = shipped.SCORING_LM,
             tokenizer: Any = shipped.SCORING_TOKENIZER) -> 'Zoo':
        """The zoo and a scoring LM."""
        whole = ZooStudy.load(shipped.COLLECTION, scoring_lm, tokenizer)
        return cls(whole.of_series(FIRST_SERIES))

    @property
    def accuracies(self) -> AccuracyTable:
        """Of all M models."""
        return self.study.collection.accuracies

    @property
    def states(self) -> torch.Tensor:
        """Standardised hidden states, `(T, H)`."""
        return self.study.standardised

    @property
    def groups(self) -> list[str]:
        """The run of each test model."""
        return [run_of(model) for model in self.study.models_in('test')]

    def errors(self,
               predicted: NDArray,
               judged: Optional[Sequence[str]] = None) -> NDArray:
        """Squared errors of predictions `(M, B)` for the judged models."""
        rows = np.isin(self.accuracies.models, judged
                       or self.study.models_in('test'))
        return (predicted - self.accuracies.values)[rows]**2

    def mean_loss(self, fitted: Sequence[str]) -> NDArray:
        """Accuracies of all models by the baseline, `(M, B)`."""
        return self.study.predicted(self.study.fit(fitted, baseline=True))

    def train(self,
              settings: HeadSettings,
              states: Optional[torch.Tensor] = None,
              **changes: Any) -> TrainedHeads:
        """Algorithm 2; `changes` replace arguments of `train_heads`."""
        arguments = dict(
            states=self.states if states is None else states,
            table=self.study.table,
            accuracies=self.accuracies,
            train=self.study.models_in('train'),
            validation=self.study.models_in('validation'),
            settings=settings)
        return train_heads(**{**arguments, **changes})

    def judge(self,
              name: str,
              heads: TrainedHeads,
              states: Optional[torch.Tensor] = None,
              is_reference: bool = False) -> Variant:
        """Heads on the test models; the remark tells how far they went."""
        used = self.states if states is None else states
        spread = heads.head.weights(used).double().std(dim=0)
        return Variant(
            name, self.errors(heads.predict(used, self.study.table)),
            f'steps {" ".join(map(str, heads.best_step))}, deviation of '
            f'the weights {" ".join(f"{value:.2f}" for value in spread)}',
            is_reference)


def run_of(model: str) -> str:
    """The run of a checkpoint."""
    return model.partition('@')[0]


def mapping(zoo: Zoo) -> Iterator[Variant]:
    """Algorithm 1 over bytes, as printed, and as printed but adding."""
    table = zoo.study.table
    tables = {
        'bytes': table,
        'as printed': _mapped_as_printed(zoo.study, adding=False),
        'as printed, adding': _mapped_as_printed(zoo.study, adding=True)
    }
    chinese = np.repeat(
        [text.source == 'chinese' for text in zoo.study.collection.texts],
        np.diff(table.token_offsets))
    total = table.losses[:, chinese].sum(axis=1)
    series = np.array([model[0] for model in table.models])
    for name, mapped in tables.items():
        share = mapped.losses[:, chinese].sum(axis=1) / total
        kept = ', '.join(
            f'series {letter} {share[series == letter].mean():.2f}'
            for letter in np.unique(series))
        predicted = zoo.train(CHOSEN, table=mapped).predict(zoo.states, mapped)
        yield Variant(f'head, {name}', zoo.errors(predicted),
                      f'share of the loss of Chinese texts: {kept}', mapped
                      is table)


def _mapped_as_printed(study: ZooStudy, adding: bool) -> LossTable:
    rows = []
    for model in study.table.models:
        by_id = {
            losses.text_id: losses
            for losses in study.collection.losses[model].texts
        }
        parts = []
        for text, spans in zip(study.collection.texts, study.targets.spans):
            losses = by_id[text.text_id]
            share = _character_map(text.text, losses.spans, spans, adding)
            parts.append(share @ losses.losses)
        rows.append(np.concatenate(parts))
    return replace(study.table, losses=np.stack(rows))


@functools.lru_cache(maxsize=None)
def _character_map(text: str, source: TokenSpans, target: TokenSpans,
                   adding: bool) -> csr_array:
    """Algorithm 1 over characters, `(n_target, n_source)`.

    A token spans the characters that hold one of its bytes. Line 6 assigns,
    so the last token of a character counts, unless losses are to be added.
    """
    character = np.repeat(
        np.arange(len(text)), [len(letter.encode()) for letter in text])
    spread = np.zeros((len(text), len(source)))
    for i, (start, end) in enumerate(zip(source.starts, source.ends)):
        spanned = np.unique(character[start:end])
        if not adding:
            spread[spanned] = 0
        spread[spanned, i] = 1 / max(len(spanned), 1)
    gather = np.zeros((len(target), len(text)))
    for j, (start, end) in enumerate(zip(target.starts, target.ends)):
        gather[j, character[start:end]] = 1
    return csr_array(gather @ spread)


def states(zoo: Zoo) -> Iterator[Variant]:
    """Hidden states: standardised, raw, or of the token before."""
    shifted = zoo.states.roll(1, dims=0)
    # The first token of a text has no token before it: the mean state.
    shifted[zoo.study.table.token_offsets[:-1]] = 0
    kinds = {
        'standardised': zoo.states,
        'raw': zoo.study.states.double(),
        'of the token before': shifted
    }
    for settings in (PAPER, CHOSEN):
        for name, used in kinds.items():
            yield zoo.judge(
                f'{name}, learning rate {settings.learning_rate:g}',
                zoo.train(settings, used), used, used is zoo.states)


def start(zoo: Zoo) -> Iterator[Variant]:
    """Uniform weights at the start, or the random ones of a linear layer."""
    for settings in (PAPER, CHOSEN):
        rate = f'learning rate {settings.learning_rate:g}'
        yield zoo.judge(
            f'uniform, {rate}', zoo.train(settings), is_reference=True)
        for seed in range(5):
            head = functools.partial(_random_head, seed)
            with mock.patch.object(ScoringHead, 'uniform', head):
                heads = zoo.train(settings)
            yield zoo.judge(f'random, seed {seed}, {rate}', heads)


def _random_head(seed: int, hidden_size: int, n_benchmarks: int,
                 _: Any) -> ScoringHead:
    """As `torch.nn.Linear` begins: uniform within 1 / sqrt(H)."""
    bound = hidden_size**-.5
    values = torch.empty(hidden_size + 1, n_benchmarks).uniform_(
        -bound, bound, generator=torch.Generator().manual_seed(seed)).double()
    return ScoringHead(values[:-1], values[-1].clone())


def optimiser(zoo: Zoo) -> Iterator[Variant]:
    """Learning rates and numbers of steps."""
    train = zoo.study.models_in('train')
    both = zoo.study.models_in(*FITTED)
    yield Variant(
        f'mean loss, {len(both)} models',
        zoo.errors(zoo.mean_loss(both)),
        is_reference=True)
    yield Variant(f'mean loss, {len(train)} models',
                  zoo.errors(zoo.mean_loss(train)))
    mean = replace(PAPER, learning_rate=PAPER.learning_rate / len(train))
    for name, settings in (
        ('SGD 1e-3, 300 steps', PAPER),
        ('SGD 1e-3 of the mean squared error, 300 steps', mean),
        ('SGD 1e-3, 3000 steps', replace(PAPER, n_steps=3000)),
        ('SGD 1, 300 steps', CHOSEN),
    ):
        yield zoo.judge(name, zoo.train(settings))


def batch(zoo: Zoo) -> Iterator[Variant]:
    """All models at every step, or one model a step (lines 10 to 19)."""
    yield zoo.judge(
        'all models, 300 steps', zoo.train(PAPER), is_reference=True)
    for n_steps in (300, 30 * len(zoo.study.models_in('train'))):
        yield zoo.judge(f'one model, {n_steps} steps',
                        _train_model_by_model(zoo, n_steps))


def _train_model_by_model(zoo: Zoo, n_steps: int) -> TrainedHeads:
    """Algorithm 2 with a step on theta for each model in turn."""
    objective = HeadObjective.of(zoo.states, zoo.study.table, zoo.accuracies,
                                 zoo.study.models_in('train'),
                                 zoo.study.models_in('validation'))
    n_benchmarks = len(objective.floor)
    head = ScoringHead.uniform(zoo.states.shape[1], n_benchmarks)
    best = head.select(np.arange(n_benchmarks))
    alpha, beta = np.zeros((2, n_benchmarks))
    error = np.full(n_benchmarks, np.inf)
    best_step = np.zeros(n_benchmarks, int)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(objective.train)
    order = np.concatenate(
        [rng.permutation(rows) for _ in range(n_steps // len(rows) + 1)])
    lines = None
    for step, model in enumerate(order[:n_steps + 1]):
        evaluation = objective.evaluate(head, lines)
        lines, validation = evaluation.lines, objective.errors(evaluation)[1]
        better = np.flatnonzero(validation < error)
        error[better], best_step[better] = validation[better], step
        alpha[better] = evaluation.curve.alpha[better]
        beta[better] = evaluation.curve.beta[better]
        best.theta[:, better] = head.theta[:, better]
        best.bias[better] = head.bias[better]
        single = replace(
            objective, train=np.arange(len(objective.train)) == model)
        for part, gradient in zip((head.theta, head.bias),
                                  single.gradient(evaluation)):
            part -= PAPER.learning_rate * gradient
    return TrainedHeads(zoo.accuracies.benchmarks, best,
                        Curve(alpha, beta, objective.floor), best_step)


def stopping(zoo: Zoo) -> Iterator[Variant]:
    """When the training of a head ends, and which step is kept."""
    train, both = zoo.study.models_in('train'), zoo.study.models_in(*FITTED)
    for settings in (PAPER, CHOSEN):
        patient = replace(settings, patience=settings.n_steps)
        for name, heads in (
            ('best step, patience 50', zoo.train(settings)),
            ('best step of 300', zoo.train(patient)),
            ('best step of 300 for the train models',
             zoo.train(patient, validation=train)),
            ('fitted to the validation models too',
             zoo.train(patient, train=both, validation=both)),
        ):
            yield zoo.judge(
                f'{name}, learning rate {settings.learning_rate:g}',
                heads,
                is_reference='patience' in name)


def scoring_lm(zoo: Zoo) -> Iterator[Variant]:
    """The language model that reads the texts (head, learning rate 1)."""
    yield zoo.judge('a/l/100', zoo.train(CHOSEN), is_reference=True)
    for name in ('d/l/100', 'c/l/80', 'b/l/50', 'd/m/65', 'd/s/100'):
        folder = shipped.ZOO / name
        read = Zoo.load(folder, folder.parents[1] / 'tokenizer')
        yield read.judge(name, read.train(CHOSEN))


def compute(zoo: Zoo) -> Iterator[Variant]:
    """Fig. 1: accuracy from the logarithm of the training compute."""
    fitted = zoo.study.models_in(*FITTED)
    yield Variant(
        'mean loss', zoo.errors(zoo.mean_loss(fitted)), is_reference=True)
    manifest = json.loads((shipped.ZOO / 'manifest.json').read_text('utf-8'))
    flops = []
    for model in zoo.accuracies.models:
        run, _, percent = model.partition('@')
        trained = manifest['models'][run]
        flops.append(6 * trained['parameters'] * trained['tokens'] *
                     float(percent) / 100)
    # It falls as models improve, as a loss does, and is above 0.
    missing = 1 + np.log(max(flops) / np.array(flops))
    columns = [missing] * len(zoo.accuracies.benchmarks)
    yield Variant('compute',
                  zoo.errors(zoo.study.by_one_loss(columns, fitted)))


def own_series(zoo: Zoo) -> Iterator[Variant]:
    """Fig. 5: one series is for validation, another one is predicted.

    The other two series and the first 35 % of these two are fitted to; every
    series is predicted once.
    """
    errors: dict[str, list[NDArray]] = {}
    groups = []
    for test, validation in ('ab', 'bc', 'cd', 'da'):
        late = {
            series: [
                model for model in zoo.accuracies.models
                if model[0] == series and int(model.partition('@')[2]) > 35
            ]
            for series in (test, validation)
        }
        train = [
            model for model in zoo.accuracies.models
            if model not in late[test] + late[validation]
        ]
        both = train + late[validation]
        heads = zoo.train(CHOSEN, train=train, validation=late[validation])
        for name, predicted in (
            ('mean loss', zoo.mean_loss(both)),
            ('head, learning rate 1', heads.predict(zoo.states,
                                                    zoo.study.table)),
            ('salience', zoo.study.predicted(zoo.study.fit(both))),
        ):
            errors.setdefault(name,
                              []).append(zoo.errors(predicted, late[test]))
        groups += [run_of(model) for model in late[test]]
    for name, parts in errors.items():
        yield Variant(name, np.vstack(parts), '', name == 'mean loss', groups)


STUDIES: dict[str, Callable[..., Iterator[Variant]]] = {
    study.__name__: study
    for study in (mapping, states, start, optimiser, batch, stopping,
                  scoring_lm, compute, own_series)
}


def rows(variants: Sequence[Variant],
         groups: Sequence[str]) -> Iterator[list[str]]:
    """Cells of every variant, see the top of this file."""
    names, member = np.unique(groups, return_inverse=True)
    share = np.full(len(names), 1 / len(names))
    counts = np.random.default_rng(0).multinomial(len(names), share, N_DRAWS)
    # In the first draw every model counts once.
    draws = np.vstack([np.ones(len(member)), counts[:, member]])
    for variant in variants:
        errors, ratio = _mean(variant.errors, draws), ''
        if variant.is_reference:
            reference = errors
        else:
            ratios = errors / reference
            low, high = np.quantile(ratios[1:], (.05, .95))
            ratio = f'{ratios[0]:.2f} ({low:.2f}-{high:.2f})'
        each = np.nanmean(variant.errors, axis=0)
        yield [
            variant.name, f'{1e3 * errors[0]:.2f}', ratio,
            ' '.join(f'{1e3 * error:.3g}' for error in each), variant.remark
        ]


def _mean(errors: NDArray, draws: NDArray) -> NDArray:
    """Geometric mean over benchmarks of the mean error, one per draw."""
    scored = ~np.isnan(errors)
    n_models = np.maximum(draws @ scored, 1)
    return gmean(draws @ np.where(scored, errors, 0) / n_models, axis=1)


def main() -> None:
    """Run one study and print its rows."""
    parser = parser_of(__doc__)
    parser.add_argument(
        'study',
        choices=STUDIES,
        metavar='STUDY',
        help='\n'.join(f'{name}: {str(study.__doc__).splitlines()[0]}'
                       for name, study in STUDIES.items()))
    options = parser.parse_args()
    study = STUDIES[options.study]
    torch.set_num_threads(1)
    zoo = Zoo.load()
    variants = list(study(zoo))
    table = rows(variants, variants[0].groups or zoo.groups)
    print(
        tabulate(
            table, ['variant', 'error', 'ratio', 'by benchmark', ''],
            tablefmt='pipe',
            disable_numparse=True))


if __name__ == '__main__':
    main()
