"""What each departure from the paper changes: the figures of deviations.md.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_deviations STUDY

Every study prints one row per variant. The zoo of the demonstration is fitted
to 72 checkpoints and judged on 40 of seven runs; the public models of
../shared/real are fitted to 62 and judged on 27. `error` is the mean squared
error in 1e-3, geometric mean over the benchmarks. `ratio` divides it by that
of the last row above without a ratio; in brackets a 90 % bootstrap interval
over the runs (zoo) or the families (public models) that are predicted.
"""
import argparse
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Optional
from unittest import mock

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.stats import gmean
from tabulate import tabulate

from csv_plugin.core.features import FeatureTable, answer_groups, group_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import NonNegative, Ridge, Uniform
from csv_plugin.core.spans import TokenSpans
from csv_plugin.demo import shipped
from csv_plugin.demo.studies.zoo_study import ZooStudy
from csv_plugin.io.model_tables import read_model_tables
from csv_plugin.lm.head.algorithm2 import (HeadSettings, TrainedHeads,
                                           train_heads)
from csv_plugin.lm.head.head_objective import HeadObjective
from csv_plugin.lm.head.scoring_head import ScoringHead
from csv_plugin.lm.states.hidden_states import StateScale

PAPER = HeadSettings()
CHOSEN = HeadSettings(learning_rate=1.)
REAL = '../shared/real'
#: Of the bootstrap.
DRAWS = 2000


class Variant(NamedTuple):
    """One row of a study.

    Args:
        name (str): What is varied.
        errors (np.ndarray): Squared errors of the predicted models, shape
            `(n, B)`; NaN where a model has no accuracy.
        remark (str): What else is to be known of it.
        groups (Sequence[str]): Run or family of each predicted model, if
            they are not those of the other studies.
        reference (bool): Whether the following rows are compared with it.
    """
    name: str
    errors: np.ndarray
    remark: str = ''
    groups: Sequence[str] = ()
    reference: bool = False


@dataclass(frozen=True, eq=False)
class Zoo:
    """The zoo's losses on the tokens of a scoring LM.

    Args:
        study (ZooStudy): Losses, accuracies, tokens, raw hidden states.
        table (LossTable): The losses on those tokens, T in all.
        states (torch.Tensor): Standardised hidden states, `(T, H)`.
    """
    study: ZooStudy
    table: LossTable
    states: torch.Tensor

    @classmethod
    def load(cls,
             scoring_lm=shipped.SCORING_LM,
             tokenizer=shipped.SCORING_TOKENIZER) -> 'Zoo':
        study = ZooStudy.load(shipped.COLLECTION, scoring_lm, tokenizer)
        raw = study.states.double().numpy()
        states = torch.from_numpy(StateScale.of(raw).apply(raw))
        return cls(study, study.targets.table(study.collection.losses), states)

    def models(self, *splits: str) -> tuple[str, ...]:
        return self.study.collection.models_in(*splits)

    @property
    def accuracies(self):
        return self.study.collection.accuracies

    def errors(self,
               predicted: np.ndarray,
               models: Optional[Sequence[str]] = None) -> np.ndarray:
        """Squared errors of predictions `(M, B)`, by default on test."""
        judged = models or self.models('test')
        rows = np.isin(self.accuracies.models, judged)
        return (predicted - self.accuracies.values)[rows]**2

    def runs(self) -> list[str]:
        """The run of each test model, for the bootstrap."""
        test = set(self.models('test'))
        return [
            m.partition('@')[0] for m in self.accuracies.models if m in test
        ]

    def train(self, settings: HeadSettings, states=None, **changes):
        """Algorithm 2; `changes` replace arguments of `train_heads`."""
        arguments = dict(
            train=self.models('train'), validation=self.models('validation'))
        return train_heads(
            self.states if states is None else states,
            changes.pop('table', self.table),
            self.accuracies,
            settings=settings,
            **arguments | changes)

    def variant(self,
                name: str,
                heads: TrainedHeads,
                states=None,
                reference: bool = False) -> Variant:
        states = self.states if states is None else states
        predicted = heads.predict(states, self.table)
        spread = heads.head.weights(states).double().std(dim=0)
        return Variant(
            name,
            self.errors(predicted),
            f'steps {" ".join(map(str, heads.best_step))}, deviation of '
            f'the weights {" ".join(f"{value:.2f}" for value in spread)}',
            reference=reference)

    def exact(self, solver, columns, *splits: str, table=None) -> np.ndarray:
        """Errors of a solver on feature columns, see `solve`."""
        models = self.models(*splits or ('train', 'validation'))
        return self.errors(self.solve(solver, columns, models, table))

    def solve(self, solver, columns, models, table=None) -> np.ndarray:
        """Predictions `(M, B)` of a solver that is fitted to some models.

        Args:
            solver (Solver): Fits.
            columns: Feature columns of tokens, or a table of features.
            models (Sequence[str]): To fit to.
            table (Optional[LossTable]): Losses; by default those of the zoo.
        """
        table = table or self.table
        features = columns if isinstance(columns, FeatureTable) else \
            columns.features(table)
        families = [self.study.collection.families[m] for m in models]
        predictor = fit_predictor(features, self.accuracies.select(models),
                                  families, solver, table.fingerprint)
        return predictor.predict(features, table.fingerprint).values

    def groups(self, table=None):
        return group_columns(
            table or self.table,
            answer_groups(self.study.collection.texts.texts,
                          self.study.targets.spans))


def mapping(zoo: Zoo) -> Iterator[Variant]:
    """Algorithm 1 over bytes, as printed, and as printed with `+=`."""
    losses = zoo.study.collection.losses
    chinese = np.repeat(
        [t.source == 'chinese' for t in zoo.study.collection.texts],
        np.diff(zoo.table.token_offsets))
    total = zoo.table.losses[:, chinese].sum(axis=1)
    series = np.array([model[0] for model in zoo.table.models])
    tables = {'bytes': zoo.table}
    for name, add in (('as printed', False), ('as printed, adding', True)):
        tables[name] = replace(
            zoo.table,
            losses=np.stack([
                np.concatenate([
                    _map_characters(text.text, known.spans, spans, add)
                    @ known.losses for text, known, spans in zip(
                        zoo.study.collection.texts,
                        _in_order(zoo, losses[model]), zoo.study.targets.spans)
                ]) for model in zoo.table.models
            ]))
    for name, table in tables.items():
        share = table.losses[:, chinese].sum(axis=1) / total
        kept = 'share of the loss of Chinese texts: ' + ', '.join(
            f'series {letter} {np.mean(share[series == letter]):.2f}'
            for letter in np.unique(series))
        heads = zoo.train(CHOSEN, table=table)
        yield Variant(
            f'head, {name}',
            zoo.errors(heads.predict(zoo.states, table)),
            kept,
            reference=table is zoo.table)
    for name, table in tables.items():
        yield Variant(
            f'groups, ridge, {name}',
            zoo.exact(Ridge(), zoo.groups(table), table=table),
            reference=table is zoo.table)


def _in_order(zoo, texts):
    by_id = {text.text_id: text for text in texts}
    return [by_id[text.text_id] for text in zoo.study.collection.texts]


@functools.lru_cache(maxsize=None)
def _map_characters(text: str, source: TokenSpans, target: TokenSpans,
                    add: bool) -> csr_array:
    """Algorithm 1 over characters, `(n_target, n_source)`.

    A token spans the characters that hold one of its bytes. Line 6 assigns,
    so the last token of a character counts, unless losses are to be added.
    """
    character = np.repeat(
        np.arange(len(text)), [len(c.encode()) for c in text])
    spread = np.zeros((len(text), len(source)))
    for i, (start, end) in enumerate(zip(source.starts, source.ends)):
        spanned = np.unique(character[start:end])
        if not add:
            spread[spanned] = 0
        spread[spanned, i] = 1 / max(len(spanned), 1)
    gather = np.zeros((len(target), len(text)))
    for j, (start, end) in enumerate(zip(target.starts, target.ends)):
        gather[j, character[start:end]] = 1
    return csr_array(gather @ spread)


def activation(zoo: Zoo) -> Iterator[Variant]:
    """Which non-linearity the head has."""
    for settings in (PAPER, CHOSEN):
        for name in ('softplus', 'relu', 'linear'):
            heads = zoo.train(replace(settings, activation=name))
            yield zoo.variant(
                f'{name}, learning rate {settings.learning_rate:g}',
                heads,
                reference=name == 'softplus')


def states(zoo: Zoo) -> Iterator[Variant]:
    """Hidden states: standardised or raw, of the token or of the one before.
    """
    raw = zoo.study.states.double()
    before = zoo.states.roll(1, dims=0)
    # The first token of a text has no token before it: the mean state.
    before[zoo.table.token_offsets[:-1]] = 0
    for settings in (PAPER, CHOSEN):
        for name, used in (('standardised', zoo.states), ('raw', raw),
                           ('of the token before', before)):
            heads = zoo.train(settings, used)
            yield zoo.variant(
                f'{name}, learning rate {settings.learning_rate:g}',
                heads,
                used,
                reference=used is zoo.states)


def start(zoo: Zoo) -> Iterator[Variant]:
    """Uniform weights at the start, or the random ones of a linear layer."""
    for settings in (PAPER, CHOSEN):
        rate = f'learning rate {settings.learning_rate:g}'
        yield zoo.variant(
            f'uniform, {rate}', zoo.train(settings), reference=True)
        for seed in range(5):
            generator = torch.Generator().manual_seed(seed)

            def random(width, n_benchmarks, kind, device='cpu'):
                bound = width**-.5
                theta = torch.empty(width + 1, n_benchmarks).uniform_(
                    -bound, bound, generator=generator).double()
                return ScoringHead(theta[:-1], theta[-1].clone(), kind)

            with mock.patch.object(ScoringHead, 'uniform', random):
                heads = zoo.train(settings)
            yield zoo.variant(f'random, seed {seed}, {rate}', heads)


def optimiser(zoo: Zoo) -> Iterator[Variant]:
    """Learning rates, numbers of steps, and Adam."""
    n_train = len(zoo.models('train'))
    n_both = len(zoo.models('train', 'validation'))
    yield Variant(f'all-token loss, {n_both} models',
                  zoo.exact(Uniform(), zoo.groups()))
    yield Variant(f'all-token loss, {n_train} models',
                  zoo.exact(Uniform(), zoo.groups(), 'train'))
    for name, settings in {
            'SGD 1e-3, 300 steps':
            PAPER,
            'SGD 1e-3 of the mean error, 300 steps':
            replace(PAPER, learning_rate=1e-3 / n_train),
            'SGD 1e-3, 3000 steps':
            replace(PAPER, n_steps=3000),
            'SGD 1, 300 steps':
            CHOSEN,
            'Adam 1e-3, 300 steps':
            replace(PAPER, optimiser='adam'),
    }.items():
        yield zoo.variant(name, zoo.train(settings))


def batch(zoo: Zoo) -> Iterator[Variant]:
    """All models at every step, or one model a step as lines 10-19 say."""
    n_train = len(zoo.models('train'))
    yield zoo.variant('all models a step, 300 steps', zoo.train(PAPER))
    for n_steps in (300, 30 * n_train):
        yield zoo.variant(f'one model a step, {n_steps} steps',
                          _one_model_a_step(zoo, n_steps))


def _one_model_a_step(zoo: Zoo, n_steps: int) -> TrainedHeads:
    """Algorithm 2 with a step on theta for each model in turn."""
    objective = HeadObjective.of(zoo.states, zoo.table, zoo.accuracies,
                                 zoo.models('train'), zoo.models('validation'))
    n_benchmarks = len(objective.floor)
    head = ScoringHead.uniform(zoo.states.shape[1], n_benchmarks)
    best = ScoringHead(head.theta.clone(), head.bias.clone())
    alpha, beta = np.zeros(n_benchmarks), np.zeros(n_benchmarks)
    error, kept = np.full(n_benchmarks, np.inf), np.zeros(n_benchmarks, int)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(objective.train)
    order = np.concatenate(
        [rng.permutation(rows) for _ in range(n_steps // len(rows) + 1)])
    lines = None
    for step, model in enumerate(order[:n_steps + 1]):
        now = objective.evaluate(head, lines)
        lines, validation = now.lines, objective.errors(now)[1]
        better = np.flatnonzero(validation < error)
        error[better], kept[better] = validation[better], step
        alpha[better], beta[better] = now.alpha[better], now.beta[better]
        best.theta[:, better] = head.theta[:, better]
        best.bias[better] = head.bias[better]
        single = replace(
            objective, train=np.arange(len(objective.train)) == model)
        for part, gradient in zip((head.theta, head.bias),
                                  single.gradient(now)):
            part -= PAPER.learning_rate * gradient
    return TrainedHeads(zoo.accuracies.benchmarks, best, alpha, beta,
                        objective.floor, kept, np.zeros((0, n_benchmarks)),
                        np.zeros((0, n_benchmarks)))


def stopping(zoo: Zoo) -> Iterator[Variant]:
    """When the training of a head ends, and which step is kept."""
    both = zoo.models('train', 'validation')
    for settings in (PAPER, CHOSEN):
        rate = f'learning rate {settings.learning_rate:g}'
        patient = replace(settings, patience=settings.n_steps)
        for name, heads in {
                'best step, patience 50':
                zoo.train(settings),
                'best step of 300':
                zoo.train(patient),
                'best step of 300 for the fitted models':
                zoo.train(patient, validation=zoo.models('train')),
                'fitted to the validation models too':
                zoo.train(patient, train=both, validation=both),
        }.items():
            yield zoo.variant(
                f'{name}, {rate}', heads, reference='patience' in name)


def scoring_lm(_: Zoo) -> Iterator[Variant]:
    """Which language model reads the texts."""
    for folder in (shipped.SCORING_LM,
                   *(shipped.ZOO / path
                     for path in ('d/l/100', 'c/l/80', 'b/l/50', 'd/m/65',
                                  'd/s/100'))):
        zoo = Zoo.load(folder, folder.parents[1] / 'tokenizer')
        name = '/'.join(folder.parts[-3:])
        yield zoo.variant(f'{name}: head, learning rate 1', zoo.train(CHOSEN))


def compute(zoo: Zoo) -> Iterator[Variant]:
    """Fig. 1: accuracy from the logarithm of the training compute."""
    records = json.loads((shipped.ZOO / 'manifest.json').read_text())['models']
    flops = []
    for model in zoo.table.models:
        run, _, percent = model.partition('@')
        flops.append(6 * records[run]['parameters'] * records[run]['tokens'] *
                     float(percent) / 100)
    yield Variant('all-token loss', zoo.exact(Uniform(), zoo.groups()))
    # Negative, so that it falls as models improve, like a loss.
    features = FeatureTable(zoo.table.models, ('-log compute', ),
                            -np.log(flops)[:, None], np.ones(1))
    yield Variant('compute', zoo.exact(Uniform(), features))


def own_series(zoo: Zoo) -> Iterator[Variant]:
    """Fig. 5: one series validates, another one is predicted.

    Fitted to are the other two series and the first 35 % of both; every
    series is predicted once.
    """
    methods: dict[str, list[np.ndarray]] = {}
    names, groups = 'abcd', []
    for test, validation in zip(names, names[1:] + names[0]):
        late = {
            series: [
                model for model in zoo.table.models
                if model[0] == series and int(model.partition('@')[2]) > 35
            ]
            for series in (test, validation)
        }
        train = [
            model for model in zoo.table.models
            if model not in late[test] + late[validation]
        ]
        both = train + late[validation]
        columns = zoo.groups()
        heads = zoo.train(CHOSEN, train=train, validation=late[validation])
        predicted = {
            'all-token loss': zoo.solve(Uniform(), columns, both),
            'head, learning rate 1': heads.predict(zoo.states, zoo.table),
            'groups, ridge': zoo.solve(Ridge(), columns, both),
        }
        for name, values in predicted.items():
            methods.setdefault(name, []).append(zoo.errors(values, late[test]))
        groups += [model.partition('@')[0] for model in late[test]]
    for name, errors in methods.items():
        yield Variant(name, np.vstack(errors), groups=groups)


def floor(data) -> Iterator[Variant]:
    """Floor of Eq. 2 at chance, or learned between 0 and chance."""
    for solver in (Ridge(), Uniform()):
        for name, learned in (('chance', False), ('learned', True)):
            yield Variant(
                f'{solver.name}, floor {name}',
                data.exact(
                    replace(solver, learn_floor=learned), data.groups()),
                reference=not learned)


def signs(data) -> Iterator[Variant]:
    """Non-negative and signed weights, solved to convergence."""
    for solver in (NonNegative(), Ridge(), Uniform(learn_floor=True)):
        yield Variant(solver.name, data.exact(solver, data.groups()))


def refit(data) -> Iterator[Variant]:
    """Fitted to the train models alone, or to the validation models too."""
    for solver in (Ridge(), Uniform()):
        yield Variant(
            f'{solver.name}, train',
            data.exact(solver, data.groups(), 'train'),
            reference=True)
        yield Variant(f'{solver.name}, train and validation',
                      data.exact(solver, data.groups()))


class Public:
    """The public models of ../shared/real: losses by text, 15 benchmarks."""

    def __init__(self) -> None:
        self.tables = read_model_tables(*(f'{REAL}/{name}.csv'
                                          for name in ('losses', 'scores',
                                                       'models',
                                                       'benchmarks')))
        self.accuracies = self.tables.accuracies.select_benchmarks(
            self.tables.main)

    def models(self, *splits):
        return self.tables.models_in(splits)

    def runs(self):
        return [self.tables.families[m] for m in self.models('test')]

    def groups(self):
        return self.tables.features

    def exact(self, solver, features, *splits):
        models = self.models(*splits or ('train', 'validation'))
        families = [self.tables.families[m] for m in models]
        predictor = fit_predictor(features, self.accuracies.select(models),
                                  families, solver, self.tables.fingerprint)
        test = self.models('test')
        predicted = predictor.predict(
            features.select(test), self.tables.fingerprint).values
        return (predicted - self.accuracies.select(test).values)**2


STUDIES: dict[str, Callable] = {
    study.__name__: study
    for study in (mapping, activation, states, start, optimiser, batch,
                  stopping, scoring_lm, compute, own_series, floor, signs,
                  refit)
}
SOLVED = (floor, signs, refit)


def table(variants: Sequence[Variant], groups: Sequence[str]) -> str:
    """Rows of a study, see the top of this file.

    Args:
        variants (Sequence[Variant]): The rows; the first is a reference.
        groups (Sequence[str]): Run or family of each predicted model.
    """
    names, member = np.unique(groups, return_inverse=True)
    share = np.full(len(names), 1 / len(names))
    draws = np.random.default_rng(0).multinomial(len(names), share, DRAWS)
    # The first row counts every model once, the others are the bootstrap.
    draws = np.vstack([np.ones(len(member)), draws[:, member]])
    rows, reference = [], variants[0]
    for variant in variants:
        errors, ratio = _mean(variant.errors, draws), ''
        if variant.reference:
            reference = variant
        elif variant is not variants[0]:
            ratios = errors / _mean(reference.errors, draws)
            low, high = np.quantile(ratios[1:], (.05, .95))
            ratio = f'{ratios[0]:.2f} ({low:.2f}-{high:.2f})'
        by_benchmark = ' '.join(f'{1e3 * error:.3g}'
                                for error in np.nanmean(variant.errors, 0))
        rows.append([
            variant.name, f'{1e3 * errors[0]:.2f}', ratio, by_benchmark,
            variant.remark
        ])
    header = ['', 'error', 'ratio', 'by benchmark', '']
    return tabulate(rows, header, tablefmt='pipe', disable_numparse=True)


def _mean(errors: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Geometric mean over benchmarks of the mean error, one per draw."""
    known = ~np.isnan(errors)
    counts = np.maximum(draws @ known, 1)
    return gmean(draws @ np.where(known, errors, 0) / counts, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        'study',
        choices=STUDIES,
        help='\n'.join(f'{name}: {study.__doc__.splitlines()[0]}'
                       for name, study in STUDIES.items()))
    parser.add_argument(
        '--public',
        action='store_true',
        help='floor, signs, refit: on the models of ../shared/real')
    options = parser.parse_args()
    study = STUDIES[options.study]
    torch.set_num_threads(1)
    if options.public and study not in SOLVED:
        parser.error('--public is for floor, signs and refit')
    data = Public() if options.public else Zoo.load()
    variants = list(study(data))
    print(table(variants, variants[0].groups or data.runs()))


if __name__ == '__main__':
    main()
