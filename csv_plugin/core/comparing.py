"""Compare two models or recipes by losses, predictions and accuracies.

A is one run, or several runs of one recipe that differ only in their seed; B
likewise. Several runs of a recipe show how much results vary from seed to seed
(the noise of runs). Then the verdict is about the recipes, else about the two
runs.
"""
from collections.abc import Sequence
from typing import Optional, Union

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.compared_losses import (ComparedLosses, RunLosses,
                                             measure, stand_in_names)
from csv_plugin.core.comparison import MEAN, Comparison, name_of
from csv_plugin.core.conventions import InputError
from csv_plugin.core.differences import (Answers, difference_of_losses,
                                         differences_of_accuracies,
                                         differences_of_answers, pair_answers,
                                         predictable, predictable_main,
                                         predicted_differences)
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import shortened
from csv_plugin.core.joint import Joint
from csv_plugin.core.model_losses import TokenLossDump, mixed_engines
from csv_plugin.core.noise import (BETTER, COMBINED, LOSS, OBSERVED, PREDICTED,
                                   RUNS, UNCLEAR, WORSE, Difference)
from csv_plugin.core.other_units import unit_notes
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.runs import run_of

#: Losses of one run, or of several runs of one recipe.
Runs = Union[RunLosses, Sequence[RunLosses]]

#: Smallest difference of accuracies that matters unless another is given.
MARGIN = 0.01


def compare(a: Optional[Runs] = None,
            b: Optional[Runs] = None,
            predictor: Optional[Predictor] = None,
            answers: Optional[tuple[Answers, Answers]] = None,
            same_recipe: Sequence[RunLosses] = (),
            same_family: bool = False,
            level: float = 0.95,
            margin: float = MARGIN,
            decided_by: str = '',
            accuracies: Optional[tuple[AccuracyTable, AccuracyTable]] = None
            ) -> Comparison:  # yapf: disable
    """Compare B with A by their losses, answers or accuracies.

    Token losses are compared on the tokens that all models scored in full.
    They are tokens of the predictor's tokenizer or, without a predictor, of
    the tokenizer of A.

    Args:
        a (Optional[Runs]): Token losses of A, or a table of losses whose only
            model is A; a list of these for several runs of one recipe. None
            to compare answers or accuracies alone.
        b (Optional[Runs]): Losses of B on the same texts, given as for A.
        predictor (Optional[Predictor]): Predicts accuracies from the losses;
            without it, only the losses themselves are compared.
        answers (Optional[tuple[Answers, Answers]]): Grades of A and of B in
            0..1, by benchmark and item. A and B must be one run each.
        same_recipe (Sequence[RunLosses]): Losses of two or more further runs
            of one recipe, which differ only in their seed. They show the noise
            of runs.
        same_family (bool): True if A and B share weights or data. Names such
            as run@1000 and run@2000 show that both are checkpoints of one
            run; these count as one family even if this is False.
        level (float): Level of the intervals, a fraction.
        margin (float): Smallest difference of accuracies that matters, a
            fraction.
        decided_by (str): What the verdict is taken from: a benchmark, 'mean'
            or 'loss'. By default it is the mean accuracy: with a predictor,
            the mean over its main benchmarks, observed if these and no other
            benchmarks were observed, and else predicted. It is the loss if
            there are no accuracies, or if the verdict on the predicted mean
            is 'cannot tell' and the loss shows which is better, in the same
            direction.
        accuracies (Optional[tuple[AccuracyTable, AccuracyTable]]): Observed
            accuracies of the runs of A and of B, a row for each run.

    Returns:
        Comparison: Differences B - A. Accuracies are fractions. Losses are in
        the unit of the tables; token losses are in nats per character. No
        accuracy is predicted on benchmarks where all training models of the
        predictor are at chance.

    Raises:
        InputError: There is nothing to compare; the losses are not on the same
            texts; `same_recipe` has a single run; no item has answers of both
            A and B; no benchmark has accuracies of all runs (with one run
            each, and a known number of items); `decided_by` is not compared;
            or for the reasons of `Predictor.features`.
    """
    _check_fractions(level, margin)
    runs_of_a = _listed(a)
    runs_of_b = _listed(b)
    n_runs = len(runs_of_a), len(runs_of_b)
    needs_losses = bool(predictor or same_recipe)
    _check_given(n_runs, answers, accuracies, needs_losses)
    if len(same_recipe) == 1:
        raise InputError(
            'runs of the same recipe', 'two or more', '1',
            'Give two or more further runs that differ only in '
            'their seed, or none.')
    names = _names_of(runs_of_a, 'A'), _names_of(runs_of_b, 'B')
    found: list[Difference] = []
    notes: list[str] = []
    if runs_of_a:
        compared = [*runs_of_a, *runs_of_b]
        notes += _notes_on_engines(n_runs, compared)
        notes += _notes_on_steps([*names[0], *names[1]])
        measured = measure([*compared, *same_recipe], n_runs, predictor)
        differences, more_notes = _compare_losses(measured,
                                                  [*names[0], *names[1]],
                                                  predictor, same_family,
                                                  level, margin)
        found += differences
        notes += more_notes
    main = predictable_main(predictor) if predictor else []
    pairs: list[PairedAnswers] = []
    if answers is not None:
        pairs = pair_answers(*answers)
        found += differences_of_answers(pairs, found, main, level, margin)
        notes += _notes_on_answers(answers, pairs)
    if accuracies is not None:
        found += differences_of_accuracies(*accuracies, level, margin)
        if not runs_of_a:
            names = accuracies[0].models, accuracies[1].models
    decisive = _decisive(found, predictor,
                         _benchmarks_of_mean(pairs, accuracies, found),
                         decided_by)
    if RUNS not in decisive.noises:
        notes.append('with one run of each and without the noise of runs, the '
                     'verdict is about these two runs, not about their '
                     'recipes.')
    return Comparison(names, level, tuple(found), tuple(pairs), decisive,
                      tuple(notes))


def _compare_losses(measured: ComparedLosses, runs: Sequence[str],
                    predictor: Optional[Predictor], same_family: bool,
                    level: float,
                    margin: float) -> tuple[list[Difference], list[str]]:
    """Return differences of losses and of predicted accuracies, and notes.

    `runs` has the names of the runs of A, then of B.
    """
    n_runs = measured.n_runs
    found: list[Difference] = []
    notes: list[str] = []
    if _losses_are_compared(measured, predictor):
        found.append(difference_of_losses(measured, level))
    else:
        notes.append('a single loss for each model, so the noise of losses is '
                     'unknown, and the losses themselves are not compared. '
                     'Give losses by text or item, or several runs of one '
                     'recipe that differ in their seed (--same-recipe).')
    if predictor and measured.features is not None:
        one_family = same_family or _of_one_run(runs)
        joint = _joint(predictor, measured.features, n_runs, one_family)
        found += predicted_differences(predictor, joint, measured, level,
                                       margin)
        notes += _notes_on_predictor(predictor, runs)
        notes += _notes_on_distance(predictor, joint, n_runs, level)
        factors = predictor.unit_factors(measured.features)
        notes += unit_notes(measured.features.models, factors)
    if n_runs == (1, 1) and np.array_equal(*measured.losses[:2]):
        notes.append('A and B have the same losses. One of the two may be a '
                     'wrong file.')
    return found, notes


def _listed(runs: Optional[Runs]) -> list[RunLosses]:
    """Return a list of the runs of A or B, empty if `runs` is None."""
    if runs is None:
        return []
    if isinstance(runs, (TokenLossDump, FeatureTable)):
        return [runs]
    return [*runs]


def _names_of(runs: Sequence[RunLosses], default: str) -> tuple[str, ...]:
    """Return the names of the runs, or the default name if `runs` is empty."""
    names = []
    for part in runs:
        if isinstance(part, TokenLossDump):
            names.append(part.info.model)
        else:
            names.append(part.models[0])
    return tuple(names or [default])


def _of_one_run(models: Sequence[str]) -> bool:
    """Return True if the names are of checkpoints of a single run.

    Examples are run@1000 and run@2000.
    """
    runs = {run_of(model) for model in models}
    return len(runs) == 1 and '@' in models[0]


# ---- checks


def _check_given(n_runs: tuple[int, int], answers: Optional[tuple[Answers,
                                                                  Answers]],
                 accuracies: Optional[tuple[AccuracyTable, AccuracyTable]],
                 needs_losses: bool) -> None:
    """Raise an `InputError` if what was given cannot be compared.

    `n_runs` are the numbers of runs of A and of B that have losses.
    """
    a, b = n_runs
    has_answers = answers is not None
    has_accuracies = accuracies is not None
    is_one_sided = bool(a) != bool(b)
    has_something = a or has_answers or has_accuracies
    if is_one_sided or not has_something:
        raise InputError('comparison',
                         'losses, answers or accuracies of both A and B',
                         'nothing, or losses of only one of the two',
                         'Give the same kind of results for A and for B.')
    if not a and needs_losses:
        raise InputError(
            'comparison without losses',
            'neither a predictor nor `same_recipe` runs',
            'a predictor or `same_recipe` runs',
            'Give the losses of A and B, too, or leave out the '
            'predictor and `same_recipe`.')
    has_several_runs = max(a, b) > 1
    if has_answers and (has_several_runs or has_accuracies):
        found = 'accuracies'
        if has_several_runs:
            found = f'{a} and {b} runs with losses'
        raise InputError(
            'comparison by answers', 'one run of A and of B, and no '
            'accuracies beside the answers', found,
            'Give either answers of one run each, or accuracies of all runs.')
    if accuracies is not None and a:
        of_a, of_b = accuracies
        rows_of_a = len(of_a.models)
        rows_of_b = len(of_b.models)
        if (rows_of_a, rows_of_b) != n_runs:
            raise InputError(
                'accuracies of A and of B',
                f'a row for each of {a} and {b} runs',
                f'{rows_of_a} and {rows_of_b} rows',
                'Give accuracies of exactly the runs whose '
                'losses are given.')


def _check_fractions(level: float, margin: float) -> None:
    """Raise an `InputError` if the level or the margin is not in (0, 1)."""
    for name, value in (('level', level), ('margin', margin)):
        if not 0 < value < 1:
            raise InputError(f'{name} of a comparison',
                             'a fraction between 0 and 1', str(value),
                             'Divide percentages by 100: 95 % is 0.95.')


def _losses_are_compared(measured: ComparedLosses,
                         predictor: Optional[Predictor]) -> bool:
    """Return True if the losses themselves are to be compared.

    They are, if their noise is known: from two or more texts, or from several
    runs of a recipe. They are, too, if no accuracy is predicted, so that
    nothing else could be compared; without noise this raises an error later.
    """
    has_noise = len(measured.texts) > 1 or bool(measured.recipes)
    is_predicted = predictor is not None and bool(predictable(predictor))
    return has_noise or not is_predicted


# ---- predictions


def _joint(predictor: Predictor, features: FeatureTable,
           n_runs: tuple[int, int], one_family: bool) -> Joint:
    """Return the joint distribution of the accuracies of all models.

    All runs of A are one family, and all runs of B are another one. With
    `one_family`, the runs of A and B together are one family. Each further run
    is a family alone.
    """
    n_a, n_b = n_runs
    families = {model: model for model in features.models}
    for model in features.models[:n_a]:
        families[model] = 'A'
    for model in features.models[n_a:n_a + n_b]:
        families[model] = 'A' if one_family else 'B'
    return predictor.joint(features, families)


# ---- notes


def _notes_on_engines(n_runs: tuple[int, int],
                      models: Sequence[RunLosses]) -> list[str]:
    """Return notes on differences in how the losses were measured."""
    infos = {}
    for name, part in zip(stand_in_names(n_runs), models):
        if isinstance(part, TokenLossDump):
            infos[name] = part.info
    return mixed_engines(infos)


def _notes_on_steps(models: Sequence[str]) -> list[str]:
    """Return a note if A and B are at different steps of different runs.

    Runs and steps are taken from names such as run@1000.
    """
    runs = {run_of(model) for model in models}
    steps = {model.rpartition('@')[2] for model in models}
    are_checkpoints = all('@' in model for model in models)
    # What follows an @ may also be a version, which tells nothing here.
    are_checkpoints &= all(step.isdecimal() for step in steps)
    is_fair = len(runs) == 1 or len(steps) == 1
    if is_fair or not are_checkpoints:
        return []
    return [
        f'{shortened(", ".join(models), 100)}: checkpoints at different '
        'steps. The comparison says nothing about the ends of these runs; use '
        '`salience triage` to forecast them.'
    ]


def _notes_on_predictor(predictor: Predictor,
                        models: Sequence[str]) -> list[str]:
    """Return notes on limits of the predictor: what it was fitted to."""
    notes = []
    fitted = [name for name in models if name in predictor.fit_models]
    if fitted:
        notes.append(f'{" and ".join(fitted)}: among the training models of '
                     'the predictor, so the interval is too narrow.')
    above_chance = predictable(predictor)
    not_yet = [name for name in predictor.names if name not in above_chance]
    if not_yet:
        notes.append(f'{shortened(", ".join(not_yet), 60)}: not predictable '
                     'yet, so no difference is predicted.')
    unknown = []
    for part in predictor.benchmarks:
        if not part.n_items and part.benchmark in above_chance:
            unknown.append(part.benchmark)
    if unknown:
        notes.append(f'{shortened(", ".join(unknown), 60)}: the predictor '
                     'knows no numbers of items, so it cannot say how small a '
                     'difference running the benchmark would detect.')
    return notes


def _notes_on_distance(predictor: Predictor, joint: Joint,
                       n_runs: tuple[int, int], level: float) -> list[str]:
    """Return a note on benchmarks where A or B is far from training models."""
    rows = np.arange(sum(n_runs))
    compared = joint.take(rows)
    names = stand_in_names(n_runs)
    predictions = predictor.predictions(compared, names, level)
    extrapolated = predictions.extrapolated.any(axis=(0, 2))
    above_chance = predictable(predictor)
    far = []
    for name, is_far in zip(predictor.names, extrapolated):
        if is_far and name in above_chance:
            far.append(name)
    if not far:
        return []
    return [f'{shortened(", ".join(far), 60)}: far from the training models.']


def _notes_on_answers(answers: tuple[Answers, Answers],
                      pairs: Sequence[PairedAnswers]) -> list[str]:
    """Return a note on items that only A or only B answered, if any."""
    n_answers = 0
    for by_benchmark in answers:
        for items in by_benchmark.values():
            n_answers += len(items)
    n_paired = sum(2 * pair.n_items for pair in pairs)
    n_unpaired = n_answers - n_paired
    if not n_unpaired:
        return []
    return [
        f'{n_unpaired} items that only one of the two models answered are '
        'left out.'
    ]


# ---- what counts


def _benchmarks_of_mean(pairs: Sequence[PairedAnswers],
                        accuracies: Optional[tuple[AccuracyTable,
                                                   AccuracyTable]],
                        found: Sequence[Difference]) -> set[str]:
    """Return the benchmarks that the observed mean is over.

    Of answers, these are all benchmarks; of accuracies, the main ones.
    """
    if accuracies is None:
        return {pair.benchmark for pair in pairs}
    observed = {part.benchmark for part in found if part.kind == OBSERVED}
    return observed & {*accuracies[0].main}


def _decisive(found: Sequence[Difference], predictor: Optional[Predictor],
              observed: set[str], decided_by: str) -> Difference:
    """Return the difference whose verdict is the verdict of the comparison.

    `decided_by` is the name of a benchmark, 'mean' or 'loss', which then
    decides. With '', the first of these that exists decides: the mean, the
    first main benchmark, another benchmark, the loss. There is one exception.
    If the difference is predicted and its verdict is 'cannot tell', the loss
    decides if its verdict is better or worse, in the direction of the
    predicted difference.

    A combined difference is taken before an observed one, and that before a
    predicted one. But if there is a predictor, an observed mean comes before
    a predicted mean and before the main benchmarks only if it is over the main
    benchmarks of the predictor, all that are predictable. `observed` are the
    benchmarks that it is over.
    """
    main = predictable_main(predictor) if predictor else []
    is_of_main = predictor is None or (observed.issuperset(main)
                                       and observed.issubset(predictor.main))
    named: dict[str, Difference] = {}
    usual = [MEAN, *main]
    # A later kind replaces an earlier one.
    for kind in (LOSS, PREDICTED, OBSERVED, COMBINED):
        for part in found:
            if part.kind != kind:
                continue
            name = name_of(part)
            is_other_mean = (kind, name) == (OBSERVED, MEAN) and not is_of_main
            if is_other_mean and MEAN in named:
                # The predicted mean stays.
                continue
            if is_other_mean:
                usual = [*main, MEAN]
            named[name] = part
    if decided_by:
        if decided_by not in named:
            raise InputError('what decides', f'one of {", ".join(named)}',
                             repr(decided_by), 'Let one of these decide.')
        return named[decided_by]
    others = [name for name in named if name != LOSS]
    usual += [*others, LOSS]
    chosen = named[next(name for name in usual if name in named)]
    loss = named.get(LOSS)
    is_undecided = chosen.kind == PREDICTED and chosen.verdict == UNCLEAR
    if loss is None or not is_undecided:
        return chosen
    direction = BETTER if chosen.value > 0 else WORSE
    return loss if loss.verdict == direction else chosen
