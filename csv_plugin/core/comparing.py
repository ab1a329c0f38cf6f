"""Comparison of two models by their losses, predictions and answers."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable, counted_losses
from csv_plugin.core.formatting import shortened
from csv_plugin.core.joint import Joint
from csv_plugin.core.losses import TargetTokens, TextLosses
from csv_plugin.core.model_losses import TokenLossDump, mixed_engines
from csv_plugin.core.noise import (COMBINED, ITEMS, LOSS, OBSERVED, PREDICTED,
                                   PREDICTOR, RUNS, TEXTS, Difference, Noise,
                                   combine, run_noise, text_noise)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.predictor import Predictor

#: Losses of one model: token losses, or a row of a table.
Losses = Union[TokenLossDump, FeatureTable]
#: Grades of one model in 0..1, by benchmark and item.
Answers = Mapping[str, Mapping[str, float]]

#: Name of the mean over the benchmarks.
MEAN = 'mean'
#: Smallest differences that matter unless others are given: of accuracies,
#: and of losses as a share of the mean loss of A.
MARGIN, LOSS_MARGIN = 0.01, 0.001


@dataclass(frozen=True, eq=False)
class Comparison:
    """What losses, predictions and answers show about model B beside A.

    Args:
        models (tuple[str, str]): Names of A and B.
        level (float): Level of the intervals.
        differences (tuple[Difference, ...]): By kind and benchmark.
        answers (tuple[PairedAnswers, ...]): By benchmark; empty without.
        decisive (Difference): The one whose verdict counts.
        notes (tuple[str, ...]): Remarks for readers.
    """
    models: tuple[str, str]
    level: float
    differences: tuple[Difference, ...]
    answers: tuple[PairedAnswers, ...]
    decisive: Difference
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        a, b = self.models
        return (f'Comparison({b} beside {a}: {self.verdict}, '
                f'P(better) {self.decisive.probability:.3f})')

    @property
    def verdict(self) -> str:
        """'better', 'worse', 'no difference' or 'cannot tell', of B."""
        return self.decisive.verdict

    def of_kind(self, kind: str) -> list[Difference]:
        """Return the differences of a kind, such as 'predicted'."""
        return [part for part in self.differences if part.kind == kind]

    def items(self) -> list[dict[str, Any]]:
        """Return what the answers show by benchmark, as plain values.

        'needed' items would make the margin detectable, 'worth' items would
        be as exact as the prediction; None without one.
        """
        parts = {(p.kind, p.benchmark): p for p in self.differences}
        rows = []
        for pair in self.answers:
            name, error = pair.benchmark, pair.noise.error
            alone = replace(parts[OBSERVED, name], noises={ITEMS: pair.noise})
            predicted = parts.get((PREDICTED, name))
            # Errors fall with the square root of the number of items.
            needed = (alone.size_to_detect / alone.margin)**2
            worth = predicted and (error / predicted.errors[PREDICTOR])**2
            rows.append({
                **vars(pair), 'noise': error,
                'needed': pair.n_items * needed,
                'worth': worth and pair.n_items * worth
            })  # yapf: disable
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; accuracies are fractions."""
        return {
            **dict(zip('ab', self.models)), 'level': self.level,
            'verdict': self.verdict,
            'decisive': self.decisive.to_dict(),
            'differences': [part.to_dict() for part in self.differences],
            'answers': self.items(),
            'notes': [*self.notes]
        }  # yapf: disable


def compare(a: Optional[Losses] = None,
            b: Optional[Losses] = None,
            predictor: Optional[Predictor] = None,
            answers: Optional[tuple[Answers, Answers]] = None,
            same_recipe: Sequence[Losses] = (),
            same_family: bool = False,
            level: float = 0.95,
            margin: float = MARGIN,
            decided_by: str = '') -> Comparison:
    """Compare model B with model A by their losses or answers, or both.

    Scored: the tokens that all models scored in full, on the tokens of the
    predictor, or else of A.

    Args:
        a (Optional[Losses]): Token losses of A, or a table of this model
            alone; None to compare answers alone.
        b (Optional[Losses]): Those of B, on the same texts.
        predictor (Optional[Predictor]): Predicts accuracies; without it,
            the losses themselves are compared.
        answers (Optional[tuple[Answers, Answers]]): Grades of A and B in
            0..1, by benchmark and item.
        same_recipe (Sequence[Losses]): Two or more runs of one recipe that
            differ in their seed, which add the noise of runs.
        same_family (bool): A and B share weights or data. Two checkpoints
            of a run do, by their names: run@1000 and run@2000.
        level (float): Level of the intervals.
        margin (float): Smallest difference of accuracies that matters.
        decided_by (str): A benchmark, 'mean' or 'loss'; by default the mean,
            or the loss if there are no accuracies.

    Returns:
        Comparison: Differences of B minus A. Accuracies are fractions;
        losses are in the unit of the table, or nats per character. None
        is predicted where all training models are at chance.

    Raises:
        InputError: There is nothing to compare, the losses are not on the
            same texts, there is a single run of the recipe, no item has
            answers of both, or as in `Predictor.features`.
    """
    _check_fractions(level, margin)
    _check_given(a, b, answers, bool(predictor or same_recipe))
    models = 'A', 'B'
    found, notes = list[Difference](), list[str]()
    main = _predictable_main(predictor) if predictor else []
    if a is not None and b is not None:
        models = _name(a), _name(b)
        losses = [a, b, *same_recipe]
        notes = _notes_on_losses(a, b)
        measured = _measure(losses, predictor)
        if _has_noise(measured, predictor):
            found.append(_of_losses(measured, level))
        else:
            notes.append('one loss a model, so that its noise is unknown: '
                         'the losses themselves are not compared. Give '
                         'losses by text or item, or runs of one recipe with '
                         'other seeds')
        if predictor and measured.features is not None:
            one_family = same_family or _of_one_run(*models)
            joint = _joint(predictor, measured.features, one_family)
            found += _predicted(predictor, joint, level, margin)
            notes += _notes_on_predictions(predictor, joint, models, level)
        if np.array_equal(*measured.losses[:2]):
            notes.append('A and B have the same losses. One of the two may be '
                         'a wrong file')
    pairs: list[PairedAnswers] = []
    if answers is not None:
        pairs = _pair_answers(*answers)
        found += _with_answers(pairs, found, main, level, margin)
        notes += _left_out(answers, pairs)
    decisive = _decisive(found, main, decided_by)
    # Errors of predictors are those of single runs, too.
    if RUNS not in decisive.noises and decisive.kind != PREDICTED:
        notes.append('without the noise of runs, the verdict is about these '
                     'two models, not about their recipes')
    return Comparison(models, level, tuple(found), tuple(pairs), decisive,
                      tuple(notes))


def _check_given(a: Optional[Losses], b: Optional[Losses],
                 answers: Optional[tuple[Answers, Answers]],
                 needs_losses: bool) -> None:
    if (a is None) != (b is None) or a is None and answers is None:
        raise InputError('comparison', 'losses or answers of A and of B',
                         'fewer', 'Give either of both models.')
    if a is None and needs_losses:
        raise InputError('comparison by answers alone',
                         'no predictor and no runs', 'one of these',
                         'Give the losses of A and B, too.')


def _check_fractions(level: float, margin: float) -> None:
    for name, value in (('level', level), ('margin', margin)):
        if not 0 < value < 1:
            raise InputError(f'{name} of a comparison', 'a fraction in 0..1',
                             str(value), 'Give 0.95 for 95 %.')


def _left_out(answers: tuple[Answers, Answers],
              pairs: Sequence[PairedAnswers]) -> list[str]:
    """A note on items that one of the models alone answered, if any."""
    n_given = sum(len(items) for one in answers for items in one.values())
    n_alone = n_given - 2 * sum(pair.n_items for pair in pairs)
    if not n_alone:
        return []
    return [
        f'{n_alone} items that one of the models alone answered are left out'
    ]


def _name(losses: Losses) -> str:
    if isinstance(losses, TokenLossDump):
        return losses.info.model
    return losses.models[0]


def _of_one_run(a: str, b: str) -> bool:
    """True for the names of two checkpoints of a run, such as run@1000."""
    run = a.rpartition('@')[0]
    return bool(run) and run == b.rpartition('@')[0]


class _Measured(NamedTuple):
    """Losses of M models, A and B first, by S texts or items.

    `losses`, `(M, S)`, are the parts of the texts in mean losses, and `shares`
    `(S,)` those of the texts in the whole. `features` are what a predictor
    takes, None without one.
    """
    texts: tuple[str, ...]
    shares: NDArray
    losses: NDArray
    features: Optional[FeatureTable]


def _measure(models: Sequence[Losses],
             predictor: Optional[Predictor]) -> _Measured:
    dumps = [part for part in models if isinstance(part, TokenLossDump)]
    tables = [part for part in models if isinstance(part, FeatureTable)]
    if dumps and tables:
        raise InputError('losses of two models', 'dumps or tables', 'both',
                         'Give losses of one kind.')
    if dumps:
        return _measure_dumps(dumps, predictor)
    return _measure_tables(tables, predictor)


def _measure_tables(tables: Sequence[FeatureTable],
                    predictor: Optional[Predictor]) -> _Measured:
    columns = predictor.columns if predictor else tables[0].columns
    for table in tables:
        if len(table.models) != 1:
            raise InputError('table of losses', 'one model',
                             shortened(', '.join(table.models), 60),
                             'Select a model: table.select([name]).')
        table.columns.check_same(columns)
    values = np.concatenate([table.values for table in tables])
    features = None
    if predictor:
        features = predictor.features(
            FeatureTable(_names(len(tables)), columns, values))
    return _Measured(columns.units, columns.uniform, values * columns.uniform,
                     features)


def _measure_dumps(dumps: Sequence[TokenLossDump],
                   predictor: Optional[Predictor]) -> _Measured:
    by_name = dict(zip(_names(len(dumps)), dumps))
    features = None
    if predictor:
        table = predictor.loss_table(by_name)
        features = predictor.features(table)
    else:
        own = TextLosses.of(dumps[0].texts)
        targets = TargetTokens(own.ids, own.hashes, own.spans,
                               dumps[0].info.fingerprint)
        table = targets.table({k: dump.texts for k, dump in by_name.items()})
    text_of_token, n_texts = table.text_of_token(), len(table.text_ids)
    by_text = np.array([
        np.bincount(text_of_token, losses, n_texts)
        for losses in counted_losses(table)
    ])
    n_chars = table.n_chars.sum()
    return _Measured(table.text_ids, table.n_chars / n_chars,
                     by_text / n_chars, features)


def _names(n: int) -> tuple[str, ...]:
    """What errors call the models."""
    return 'A', 'B', *(f'run {place}' for place in range(1, n - 1))


def _has_noise(measured: _Measured, predictor: Optional[Predictor]) -> bool:
    """False if mean losses cannot be compared, but predictions can.

    One text has no noise of texts, so that of runs is needed.
    """
    known = len(measured.texts) > 1 or len(measured.losses) > 2
    return known or not (predictor and _predictable(predictor))


def _of_losses(measured: _Measured, level: float) -> Difference:
    """The difference of the mean loss."""
    texts, shares, losses, _ = measured
    means = losses.sum(axis=1)
    a, b = means[:2].tolist()
    noises = {}
    if len(texts) > 1 or len(means) == 2:
        noises[TEXTS] = text_noise(losses[1] - losses[0], shares,
                                   [name.rpartition('/')[0] for name in texts])
    if len(means) > 2:
        noises[RUNS] = run_noise(means[2:])
    return Difference(LOSS, '', b - a, noises, level, LOSS_MARGIN * a)


def _joint(predictor: Predictor, features: FeatureTable,
           one_family: bool) -> Joint:
    """The joint distribution of the accuracies of A, B and the runs."""
    families = {name: name for name in features.models}
    if one_family:
        families['B'] = families['A']
    return predictor.joint(features, families)


def _predicted(predictor: Predictor, joint: Joint, level: float,
               margin: float) -> list[Difference]:
    """Accuracies on each benchmark and, of several main ones, their mean."""
    names, main = predictor.names, _predictable_main(predictor)
    shares = {}
    for name in _predictable(predictor):
        shares[name] = np.isin(names, name).astype(float)
    if len(main) > 1:
        shares[MEAN] = np.isin(names, main) / len(main)
    pair, runs = joint.take(np.arange(2)), joint.accuracies[2:]
    degrees = joint.model.tails.degrees
    found = []
    for name, share in shares.items():
        shift = pair.sum(np.stack([-share, share]), level)
        noises = {PREDICTOR: Noise.of_sum(shift, level, degrees)}
        if len(runs):
            noises[RUNS] = run_noise(runs @ share)
        found.append(
            Difference(PREDICTED, name, shift.value, noises, level, margin))
    return found


def _predictable(predictor: Predictor) -> list[str]:
    """Benchmarks on which some training models are above chance."""
    return [p.benchmark for p in predictor.benchmarks if not p.at_chance]


def _predictable_main(predictor: Predictor) -> list[str]:
    """Those that means are over."""
    return [name for name in _predictable(predictor) if name in predictor.main]


def _notes_on_losses(a: Losses, b: Losses) -> list[str]:
    """Remarks on how losses were measured."""
    return mixed_engines({
        name: part.info
        for name, part in (('A', a), ('B', b))
        if isinstance(part, TokenLossDump)
    })


def _notes_on_predictions(predictor: Predictor, joint: Joint,
                          models: Sequence[str], level: float) -> list[str]:
    """Remarks on what the predictor is for."""
    notes = []
    fitted = [name for name in models if name in predictor.fit_models]
    if fitted:
        notes.append(f'{" and ".join(fitted)}: among the training models of '
                     'the predictor, so the interval is too narrow')
    known = _predictable(predictor)
    unknown = [name for name in predictor.names if name not in known]
    if unknown:
        notes.append(f'{shortened(", ".join(unknown), 60)}: not predictable '
                     'yet, so no difference is predicted')
    pair = predictor.predictions(joint.take(np.arange(2)), ('A', 'B'), level)
    far = pair.extrapolated[:, :, 0].any(axis=0)
    beyond = [name for name, is_far in zip(predictor.names, far)
              if is_far and name in known]  # yapf: disable
    if beyond:
        notes.append(f'{shortened(", ".join(beyond), 60)}: far from the '
                     'training models')
    return notes


def _pair_answers(a: Answers, b: Answers) -> list[PairedAnswers]:
    pairs = []
    for benchmark, answers in a.items():
        others = b.get(benchmark, {})
        items = sorted(answers.keys() & others.keys())
        if items:
            grades = ([one[i] for i in items] for one in (answers, others))
            pairs.append(PairedAnswers.of(benchmark, *grades))
    if not pairs:
        raise InputError(
            'answers of A and B', 'items that both answered',
            f'items of {", ".join(a)} and of {", ".join(b)}',
            'Run both models on the same benchmarks, with the '
            'same prompts, metric and few-shot examples.')
    return pairs


def _with_answers(pairs: Sequence[PairedAnswers], found: Sequence[Difference],
                  main: Sequence[str], level: float,
                  margin: float) -> list[Difference]:
    """Observed differences, and their means with predicted ones.

    Seeds move both alike, so they have the same noise of runs. The mean over
    benchmarks is compared with that of the main ones alone.
    """
    predicted = {p.benchmark: p for p in found if p.kind == PREDICTED}
    if {pair.benchmark for pair in pairs} != {*main}:
        predicted.pop(MEAN, None)
    rows = [(pair.benchmark, pair.value, pair.noise) for pair in pairs]
    if len(pairs) > 1:
        error = float(np.linalg.norm([noise.error for _, _, noise in rows]))
        rows.append((MEAN, float(np.mean([value for _, value, _ in rows])),
                     Noise.even(error / len(pairs))))
    observed, combined = [], []
    for name, value, noise in rows:
        part = Difference(OBSERVED, name, value, {ITEMS: noise}, level, margin)
        if other := predicted.get(name):
            runs = {k: v for k, v in other.noises.items() if k == RUNS}
            part = replace(part, noises={**part.noises, **runs})
            combined.append(combine(other, part))
        observed.append(part)
    return [*observed, *combined]


def _decisive(found: Sequence[Difference], main: Sequence[str],
              decided_by: str) -> Difference:
    """The difference that counts, the most certain of its name."""
    kinds = LOSS, OBSERVED, PREDICTED, COMBINED
    parts = (p for kind in kinds for p in found if p.kind == kind)
    named = {part.benchmark or LOSS: part for part in parts}
    usual = (MEAN, *main, *(name for name in named if name != LOSS), LOSS)
    decided_by = decided_by or next(name for name in usual if name in named)
    if decided_by not in named:
        raise InputError('what decides', f'one of {", ".join(named)}',
                         repr(decided_by), 'Name one of these.')
    return named[decided_by]
