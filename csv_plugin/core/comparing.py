"""Comparison of two models by their losses, predictions and answers."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.differences import predict_jointly
from csv_plugin.core.features import FeatureTable, counted_losses
from csv_plugin.core.formatting import shortened
from csv_plugin.core.losses import TargetTokens, TextLosses
from csv_plugin.core.model_losses import TokenLossDump, mixed_engines
from csv_plugin.core.paired import (COMBINED, ITEMS, LOSS, OBSERVED, PREDICTED,
                                    PREDICTOR, RUNS, SCORE, TEXTS, Difference,
                                    Noise, PairedAnswers, combine, run_noise,
                                    text_noise)
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience_model import relative_logs

#: Losses of one model: token losses, or a row of a table.
Losses = Union[TokenLossDump, FeatureTable]
#: Grades of one model in 0..1, by benchmark and item.
Answers = Mapping[str, Mapping[str, float]]
#: Kind and benchmark of a difference, values of M models, and their noises.
_Row = tuple[str, str, NDArray, dict[str, Noise]]

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
        same_family (bool): A and B share weights or data.
        level (float): Level of the intervals.
        margin (float): Smallest difference of accuracies that matters.
        decided_by (str): A benchmark, 'mean' or 'loss'; by default the mean,
            or the loss if there are no accuracies.

    Returns:
        Comparison: Differences of B minus A. Accuracies are fractions;
        losses are in the unit of the table, or nats per character. None
        is predicted for benchmarks on which nothing was learned.

    Raises:
        InputError: There is nothing to compare, the losses are not on the
            same texts, there is a single run of the recipe, no item has
            answers of both, or as in `Predictor.features`.
    """
    _check_fractions(level, margin)
    _check_given(a, b, answers, bool(predictor or same_recipe))
    models = 'A', 'B'
    found, notes = list[Difference](), list[str]()
    main = _learned_main(predictor) if predictor else []
    if a is not None and b is not None:
        models = _name(a), _name(b)
        measured = _measure([a, b, *same_recipe], predictor)
        found = _judge(measured, predictor, same_family, level, margin)
        notes = _notes(models, (a, b), measured.features[:2], predictor)
        if not any(part.of_losses for part in found):
            notes.append('one loss a model, so that its noise is unknown: '
                         'the losses themselves are not compared. Give '
                         'losses by text or item, or runs of one recipe with '
                         'other seeds')
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


class _Measured(NamedTuple):
    """Losses of M models, A and B first, by S texts or items.

    `losses` are the parts of the texts in mean losses, `(M, S)`, and `scores`
    their parts in differences of capability scores, `(S, B)`. Shares of the
    texts in the whole are `(S,)`, features `(M, K)`.
    """
    texts: tuple[str, ...]
    shares: NDArray
    losses: NDArray
    scores: NDArray
    features: NDArray


def _judge(measured: _Measured, predictor: Optional[Predictor],
           same_family: bool, level: float, margin: float) -> list[Difference]:
    """Differences of the mean loss, and of what a predictor makes of it.

    One accuracy for all models, as at chance, tells nothing about these two.
    """
    rows = _of_losses(measured, predictor)
    loss_margin = LOSS_MARGIN * float(rows[0][2][0])
    if predictor and predictor.training_scores is not None:
        rows += _predicted(predictor, measured.features, same_family)
    found, unlearned = [], _unlearned(predictor) if predictor else []
    for kind, name, values, noises in rows:
        if name in unlearned or not (noises or len(values) > 2):
            continue
        if len(values) > 2:
            noises[RUNS] = run_noise(values[2:])
        a, b = values[:2].tolist()
        found.append(
            Difference(kind, name, b - a, noises, level,
                       margin if kind == PREDICTED else loss_margin))
    return found


def _of_losses(measured: _Measured,
               predictor: Optional[Predictor]) -> list[_Row]:
    """The mean loss and capability scores, with the noise of texts.

    One text has no such noise. That of runs can be measured on it, and a
    predictor has its own.
    """
    texts, shares, losses, scores, features = measured
    values = [(LOSS, '', losses.sum(axis=1))]
    if predictor:
        values += [(SCORE, part.benchmark, part.model.scores(features))
                   for part in predictor.benchmarks]
    if len(texts) == 1 and (len(losses) > 2 or _predicts(predictor)):
        return [(*row, {}) for row in values]
    noises = text_noise(
        np.column_stack([losses[1] - losses[0], scores]), shares,
        [name.rpartition('/')[0] for name in texts])
    return [(*row, {TEXTS: noise}) for row, noise in zip(values, noises)]


def _predicted(predictor: Predictor, features: NDArray,
               same_family: bool) -> list[_Row]:
    """Accuracies on each benchmark and, of several, their mean.

    Those of B are where they are expected beside those of A. The error of the
    predictor contains the noise of texts.
    """
    main = _learned_main(predictor)
    names = _names(len(features))
    families = ['A', 'A' if same_family else 'B', *names[2:]]
    joint = predict_jointly(predictor,
                            FeatureTable(names, predictor.columns, features),
                            families, main)
    shift = joint.differences(0, 1)
    accuracies = joint.values.copy()
    accuracies[:, 1] = accuracies[:, 0] + shift.difference
    noises = map(Noise, shift.deviation.tolist(), shift.freedom.tolist())
    named = (*predictor.names, *[MEAN] * bool(main))
    return [(PREDICTED, name, values, {
        PREDICTOR: noise
    }) for name, values, noise in zip(named, accuracies, noises)]


def _predicts(predictor: Optional[Predictor]) -> bool:
    """True if differences of an accuracy can be predicted, with errors."""
    return bool(
        predictor and predictor.training_scores is not None
        and len(_unlearned(predictor)) < len(predictor.names))


def _unlearned(predictor: Predictor) -> list[str]:
    """Benchmarks that are predicted by their mean accuracy."""
    return [part.benchmark for part in predictor.benchmarks if part.is_mean]


def _learned_main(predictor: Predictor) -> list[str]:
    """The other main benchmarks."""
    unlearned = _unlearned(predictor)
    return [name for name in predictor.main if name not in unlearned]


def _names(n: int) -> tuple[str, ...]:
    """What errors call the models."""
    return 'A', 'B', *(f'run {place}' for place in range(1, n - 1))


def _measure(models: Sequence[Losses],
             predictor: Optional[Predictor]) -> _Measured:
    dumps = [part for part in models if isinstance(part, TokenLossDump)]
    if len(dumps) == len(models):
        return _measure_dumps(dumps, predictor)
    tables = [part for part in models if isinstance(part, FeatureTable)]
    if dumps:
        raise InputError('losses of two models', 'dumps or tables', 'both',
                         'Give losses of one kind.')
    columns = predictor.columns if predictor else tables[0].columns
    for table in tables:
        if len(table.models) != 1:
            raise InputError('table of losses', 'one model',
                             shortened(', '.join(table.models), 60),
                             'Select a model: table.select([name]).')
        table.columns.check_same(columns)
    values = np.concatenate([table.values for table in tables])
    scores = np.empty((0, len(columns.units)))
    if predictor:
        scores = _weights(predictor, values) * (values[1] - values[0])
    return _Measured(columns.units, columns.uniform, values * columns.uniform,
                     scores.T, values)


def _measure_dumps(dumps: Sequence[TokenLossDump],
                   predictor: Optional[Predictor]) -> _Measured:
    by_name = dict(zip(_names(len(dumps)), dumps))
    features: NDArray = np.empty((len(dumps), 0))
    if predictor is None:
        own = TextLosses.of(dumps[0].texts)
        targets = TargetTokens(own.ids, own.hashes, own.spans,
                               dumps[0].info.fingerprint)
        table = targets.table({k: dump.texts for k, dump in by_name.items()})
    else:
        table = predictor.loss_table(by_name)
        features = predictor.features(table).values
    losses = counted_losses(table)
    parts = [*losses]
    if predictor is not None and predictor.matrix is not None:
        tokens = predictor.matrix @ _weights(predictor, features).T
        parts += [*((losses[1] - losses[0]) * tokens.T)]
    # Sums over the tokens of each text.
    by_text = np.array([
        np.bincount(table.text_of_token(), part, len(table.text_ids))
        for part in parts
    ])
    n_chars = table.n_chars.sum()
    return _Measured(table.text_ids, table.n_chars / n_chars,
                     by_text[:len(dumps)] / n_chars, by_text[len(dumps):].T,
                     features)


def _weights(predictor: Predictor, values: NDArray) -> NDArray[np.float64]:
    """Differences of scores per difference of each column, `(B, K)`.

    Logarithmic terms count by their secants between A and B.
    """
    a, b = values[:2]
    weights = []
    for model in (part.model for part in predictor.benchmarks):
        own = model.coefficients
        if model.logs is not None:
            typical = model.logs.typical
            rise = relative_logs(b, typical) - relative_logs(a, typical)
            slopes = np.divide(
                rise * typical, b - a, where=a != b, out=np.zeros(len(a)))
            own = own + model.logs.coefficients * slopes
        weights.append(own)
    return np.array(weights)


def _notes(models: Sequence[str], losses: Sequence[Losses], features: NDArray,
           predictor: Optional[Predictor]) -> list[str]:
    """Remarks on how losses were measured and what the predictor is for."""
    notes = mixed_engines({
        name: part.info
        for name, part in zip('AB', losses) if isinstance(part, TokenLossDump)
    })
    if predictor is None:
        return notes
    if predictor.training_scores is None:
        notes.append('the predictor contains no held-out errors, as with '
                     '--method paper, so accuracies are not compared')
    parts = predictor.benchmarks
    fitted = [n for n in models if any(n in part.fit_models for part in parts)]
    if fitted:
        notes.append(f'{" and ".join(fitted)}: among the training models of '
                     'the predictor, so the interval is too narrow')
    unlearned = _unlearned(predictor)
    if unlearned:
        notes.append(f'{shortened(", ".join(unlearned), 60)}: nothing was '
                     'learned, so no difference is predicted')
    beyond = [
        part.benchmark for part in parts if part.benchmark not in unlearned
        and part.intervals.distance(part.model.scores(features)).any()
    ]
    if beyond:
        notes.append(f'{shortened(", ".join(beyond), 60)}: scores outside the '
                     'range of the training models')
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
                     Noise(error / len(pairs))))
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
