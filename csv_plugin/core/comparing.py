"""Comparison of two models or recipes by losses, predictions and accuracies.

A and B are one run each, or several runs of one recipe each, which differ in
their seed. Several runs show the noise of runs, and then the verdict is about
recipes.
"""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional, Union

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.compared_losses import (Losses, Measured, measure,
                                             names_in_errors)
from csv_plugin.core.comparison import MEAN, Comparison
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import shortened
from csv_plugin.core.joint import Joint
from csv_plugin.core.model_losses import TokenLossDump, mixed_engines
from csv_plugin.core.noise import (BETTER, COMBINED, ITEMS, LOSS, OBSERVED,
                                   PREDICTED, PREDICTOR, RUNS, TEXTS, UNCLEAR,
                                   WORSE, Difference, Noise, combine,
                                   items_noise, run_noise, text_noise)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.runs import run_of

#: Losses of one run, or of several runs of one recipe.
Runs = Union[Losses, Sequence[Losses]]
#: Grades of one model in 0..1, by benchmark and item.
Answers = Mapping[str, Mapping[str, float]]

#: Smallest differences that matter unless others are given: of accuracies,
#: and of losses as a share of the mean loss of A.
MARGIN, LOSS_MARGIN = 0.01, 0.001


def compare(a: Optional[Runs] = None,
            b: Optional[Runs] = None,
            predictor: Optional[Predictor] = None,
            answers: Optional[tuple[Answers, Answers]] = None,
            same_recipe: Sequence[Losses] = (),
            same_family: bool = False,
            level: float = 0.95,
            margin: float = MARGIN,
            decided_by: str = '',
            accuracies: Optional[tuple[AccuracyTable, AccuracyTable]] = None
            ) -> Comparison:  # yapf: disable
    """Compare B with A by their losses, answers or accuracies.

    Scored: the tokens that all models scored in full, on the tokens of the
    predictor, or else of A.

    Args:
        a (Optional[Runs]): Token losses of A, or a table of this model alone;
            a list for several runs of one recipe. None to compare answers or
            accuracies alone.
        b (Optional[Runs]): Those of B, on the same texts.
        predictor (Optional[Predictor]): Predicts accuracies; without it,
            the losses themselves are compared.
        answers (Optional[tuple[Answers, Answers]]): Grades of A and B in
            0..1, by benchmark and item; of one run each.
        same_recipe (Sequence[Losses]): Two or more further runs of one recipe
            that differ in their seed, which add the noise of runs.
        same_family (bool): A and B share weights or data. Checkpoints of one
            run do, by their names: run@1000 and run@2000.
        level (float): Level of the intervals.
        margin (float): Smallest difference of accuracies that matters.
        decided_by (str): A benchmark, 'mean' or 'loss'; by default the mean,
            or the loss if there are no accuracies, or if the predicted mean
            cannot tell and does not point the other way.
        accuracies (Optional[tuple[AccuracyTable, AccuracyTable]]): Observed
            accuracies of the runs of A and of B, a row for each run.

    Returns:
        Comparison: Differences of B minus A. Accuracies are fractions;
        losses are in the unit of the table, or nats per character. None
        is predicted where all training models are at chance.

    Raises:
        InputError: There is nothing to compare, the losses are not on the
            same texts, there is a single run of the recipe, no item has
            answers of both, no benchmark has accuracies of all runs or none of
            a known number of items, or as in `Predictor.features`.
    """
    _check_fractions(level, margin)
    sides = _listed(a), _listed(b)
    _check_given(sides, answers, accuracies, bool(predictor or same_recipe))
    if len(same_recipe) == 1:
        raise InputError('runs of the same recipe', 'two or more', '1',
                         'Give runs that differ in their seed alone.')
    names: tuple[tuple[str, ...], tuple[str, ...]] = ('A', ), ('B', )
    found, notes = list[Difference](), list[str]()
    main = _predictable_main(predictor) if predictor else []
    if sides[0]:
        names = _names_of(sides[0]), _names_of(sides[1])
        n_runs = len(sides[0]), len(sides[1])
        notes = _notes_on_losses(n_runs, [*sides[0], *sides[1]])
        measured = measure([*sides[0], *sides[1], *same_recipe], n_runs,
                           predictor)
        if _losses_are_compared(measured, predictor):
            found.append(_of_losses(measured, level))
        else:
            notes.append('one loss a model, so that its noise is unknown: '
                         'the losses themselves are not compared. Give '
                         'losses by text or item, or runs of one recipe with '
                         'other seeds')
        if predictor and measured.features is not None:
            one_family = same_family or _of_one_run([*names[0], *names[1]])
            joint = _joint(predictor, measured, one_family)
            found += _predicted(predictor, joint, measured, level, margin)
            notes += _notes_on_predictions(predictor, joint, measured, names,
                                           level)
        if n_runs == (1, 1) and np.array_equal(*measured.losses[:2]):
            notes.append('A and B have the same losses. One of the two may be '
                         'a wrong file')
    pairs: list[PairedAnswers] = []
    if answers is not None:
        pairs = _pair_answers(*answers)
        found += _with_answers(pairs, found, main, level, margin)
        notes += _left_out(answers, pairs)
    if accuracies is not None:
        found += _of_accuracies(*accuracies, level, margin)
        if not sides[0]:
            names = accuracies[0].models, accuracies[1].models
    decisive = _decisive(found, main, decided_by)
    if RUNS not in decisive.noises:
        notes.append('with one run of each and without the noise of runs, the '
                     'verdict is about these two runs, not about their '
                     'recipes')
    return Comparison(names, level, tuple(found), tuple(pairs), decisive,
                      tuple(notes))


def _listed(runs: Optional[Runs]) -> list[Losses]:
    if runs is None:
        return []
    if isinstance(runs, (TokenLossDump, FeatureTable)):
        return [runs]
    return [*runs]


def _check_given(sides: tuple[list[Losses],
                              list[Losses]], answers: Optional[tuple[Answers,
                                                                     Answers]],
                 accuracies: Optional[tuple[AccuracyTable, AccuracyTable]],
                 needs_losses: bool) -> None:
    a, b = map(len, sides)
    others = answers is not None or accuracies is not None
    if bool(a) != bool(b) or not (a or others):
        raise InputError('comparison',
                         'losses, answers or accuracies of A and of B',
                         'fewer', 'Give one of them of both models.')
    if not a and needs_losses:
        raise InputError('comparison without losses',
                         'no predictor and no runs', 'one of these',
                         'Give the losses of A and B, too.')
    if answers is not None and (max(a, b) > 1 or accuracies is not None):
        raise InputError(
            'comparison by answers', 'one run of A and of B, and no '
            'accuracies beside them', f'{a} and {b} runs, or accuracies',
            'Give accuracies of several runs in place of answers.')
    if accuracies is not None and a:
        rows = tuple(len(table.models) for table in accuracies)
        if rows != (a, b):
            raise InputError('accuracies of A and of B',
                             f'a row for each of {a} and {b} runs',
                             f'{rows[0]} and {rows[1]}',
                             'Select the rows of these runs.')


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


def _names_of(runs: Sequence[Losses]) -> tuple[str, ...]:
    return tuple(
        part.info.model if isinstance(part, TokenLossDump) else part.models[0]
        for part in runs)


def _of_one_run(models: Sequence[str]) -> bool:
    """True for names of checkpoints of one run, such as run@1000."""
    return len({*map(run_of, models)}) == 1 and '@' in models[0]


def _losses_are_compared(measured: Measured,
                         predictor: Optional[Predictor]) -> bool:
    """True if the noise of losses is known, or nothing else can be compared.

    One text has no noise of texts, so that of runs is needed.
    """
    known = len(measured.texts) > 1 or bool(measured.recipes)
    return known or not (predictor and _predictable(predictor))


def _of_losses(measured: Measured, level: float) -> Difference:
    """The difference of the mean loss."""
    texts, recipes = measured.texts, measured.recipes
    means = measured.losses.sum(axis=1)
    noises = {}
    if len(texts) > 1 or not recipes:
        noises[TEXTS] = text_noise(measured.weights @ measured.losses,
                                   measured.shares,
                                   [name.rpartition('/')[0] for name in texts])
    if recipes:
        noises[RUNS] = run_noise([means[rows] for rows in recipes],
                                 measured.n_runs)
    of_a = float(means[:measured.n_runs[0]].mean())
    return Difference(LOSS, '', float(measured.weights @ means), noises, level,
                      LOSS_MARGIN * of_a)


def _joint(predictor: Predictor, measured: Measured,
           one_family: bool) -> Joint:
    """The joint distribution of the accuracies of all models.

    All runs of A are of one family, and all of B of one, which is the same
    with `one_family`. Each further run has a family of its own.
    """
    assert measured.features is not None
    (n_a, n_b), models = measured.n_runs, measured.features.models
    of_b = 'A' if one_family else 'B'
    names = ['A'] * n_a + [of_b] * n_b + [*models[n_a + n_b:]]
    return predictor.joint(measured.features, dict(zip(models, names)))


def _predicted(predictor: Predictor, joint: Joint, measured: Measured,
               level: float, margin: float) -> list[Difference]:
    """Accuracies on each benchmark and, of several main ones, their mean."""
    names, main = predictor.names, _predictable_main(predictor)
    shares = {}
    for name in _predictable(predictor):
        shares[name] = np.isin(names, name).astype(float)
    if len(main) > 1:
        shares[MEAN] = np.isin(names, main) / len(main)
    compared = joint.take(np.arange(measured.n_compared))
    weights = measured.weights[:measured.n_compared]
    degrees = joint.model.tails.degrees
    n_items = {part.benchmark: part.n_items for part in predictor.benchmarks}
    found = []
    for name, share in shares.items():
        shift = compared.sum(np.outer(weights, share), level)
        noises = {PREDICTOR: Noise.of_sum(shift, level, degrees)}
        if measured.recipes:
            values = joint.accuracies @ share
            noises[RUNS] = run_noise(
                [values[rows] for rows in measured.recipes], measured.n_runs)
        part = Difference(PREDICTED, name, shift.value, noises, level, margin)
        if n_items.get(name):
            values = compared.accuracies @ share
            noise = items_noise((float(values[weights < 0].mean()),
                                 float(values[weights > 0].mean())),
                                n_items[name], measured.n_runs)
            # Observed accuracies would have the same noise of runs.
            runs = {k: v for k, v in noises.items() if k == RUNS}
            run = replace(part, noises={ITEMS: noise, **runs})
            part = replace(part, by_items=run.detectable)
        found.append(part)
    return found


def _predictable(predictor: Predictor) -> list[str]:
    """Benchmarks on which some training models are above chance."""
    return [p.benchmark for p in predictor.benchmarks if not p.at_chance]


def _predictable_main(predictor: Predictor) -> list[str]:
    """Those that means are over."""
    return [name for name in _predictable(predictor) if name in predictor.main]


def _notes_on_losses(n_runs: tuple[int, int],
                     models: Sequence[Losses]) -> list[str]:
    """Remarks on how losses were measured."""
    return mixed_engines({
        name: part.info
        for name, part in zip(names_in_errors(n_runs), models)
        if isinstance(part, TokenLossDump)
    })


def _notes_on_predictions(predictor: Predictor, joint: Joint,
                          measured: Measured, names: Sequence[Sequence[str]],
                          level: float) -> list[str]:
    """Remarks on what the predictor is for."""
    notes = []
    models = [*names[0], *names[1]]
    fitted = [name for name in models if name in predictor.fit_models]
    if fitted:
        notes.append(f'{" and ".join(fitted)}: among the training models of '
                     'the predictor, so the interval is too narrow')
    known = _predictable(predictor)
    unknown = [name for name in predictor.names if name not in known]
    if unknown:
        notes.append(f'{shortened(", ".join(unknown), 60)}: not predictable '
                     'yet, so no difference is predicted')
    compared = predictor.predictions(
        joint.take(np.arange(measured.n_compared)),
        names_in_errors(measured.n_runs), level)
    far = compared.extrapolated[:, :, 0].any(axis=0)
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


def _of_accuracies(a: AccuracyTable, b: AccuracyTable, level: float,
                   margin: float) -> list[Difference]:
    """Differences of the means of the runs' accuracies, and their mean.

    The noise is that of the runs or, with one run each, that of the items.
    """
    names = [
        name for name in a.benchmarks
        if name in b.benchmarks and not np.isnan(a.column(name)).any()
        and not np.isnan(b.column(name)).any()
    ]
    n_runs = len(a.models), len(b.models)
    tables = [table.select(benchmarks=names) for table in (a, b)]
    if n_runs == (1, 1):
        tables = [
            table.select(benchmarks=[
                name for name, n in zip(names, tables[0].n_items) if n > 0
            ]) for table in tables
        ]
    a, b = tables
    if not a.benchmarks:
        raise InputError(
            'accuracies of A and of B', 'a benchmark with accuracies of all '
            'runs and, with one run each, a known number of items', 'none',
            'Run all of them on it, or give several runs of each.')
    shares = dict(zip(a.benchmarks, np.eye(len(a.benchmarks))))
    main = np.array([name in a.main for name in a.benchmarks], float)
    if main.sum() > 1:
        shares[MEAN] = main / main.sum()
    found = []
    for name, share in shares.items():
        values = a.values @ share, b.values @ share
        if n_runs == (1, 1):
            each = [
                items_noise((p, q), n, (1, 1)).error
                for p, q, n in zip(a.values[0].tolist(), b.values[0].tolist(),
                                   a.n_items.tolist())
            ]
            noises = {ITEMS: Noise.even(float(np.linalg.norm(share * each)))}
        else:
            noises = {RUNS: run_noise(values, n_runs)}
        found.append(
            Difference(OBSERVED, name,
                       float(values[1].mean() - values[0].mean()), noises,
                       level, margin))
    return found


def _decisive(found: Sequence[Difference], main: Sequence[str],
              decided_by: str) -> Difference:
    """The difference that counts.

    Of several differences with one name, the last kind of `kinds` wins. Losses
    decide where predicted accuracies cannot, unless these point the
    other way.
    """
    kinds = [LOSS, OBSERVED, PREDICTED, COMBINED]
    if not any(part.kind == COMBINED for part in found):
        # Accuracies of the runs themselves.
        kinds = [LOSS, PREDICTED, OBSERVED]
    named: dict[str, Difference] = {}
    for kind in kinds:
        for part in found:
            if part.kind == kind:
                named[part.benchmark or LOSS] = part
    if decided_by:
        if decided_by not in named:
            raise InputError('what decides', f'one of {", ".join(named)}',
                             repr(decided_by), 'Name one of these.')
        return named[decided_by]
    others = [name for name in named if name != LOSS]
    usual = [MEAN, *main, *others, LOSS]
    chosen = next(name for name in usual if name in named)
    if LOSS in named:
        part, loss = named[chosen], named[LOSS]
        agree = loss.verdict == (BETTER if part.value > 0 else WORSE)
        if part.kind == PREDICTED and part.verdict == UNCLEAR and agree:
            return loss
    return named[chosen]
