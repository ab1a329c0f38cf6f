"""Compare two models or recipes by losses, predictions and accuracies.

A is one run, or several runs of one recipe that differ only in their seed, and
so is B. Several runs of a recipe show how much results vary from seed to seed
(the noise of runs). With several runs, the verdict is about the recipes;
without, it is about the two runs.
"""
from collections.abc import Mapping, Sequence
from typing import Optional, Union

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.compared_losses import (ComparedLosses, RunLosses,
                                             losses_by_text, stand_in_names)
from csv_plugin.core.comparison import MEAN, Comparison, name_of
from csv_plugin.core.conventions import InputError, check_type
from csv_plugin.core.differences import (Answers, difference_of_losses,
                                         differences_of_accuracies,
                                         differences_of_answers, pair_answers,
                                         predictable, predictable_main,
                                         predicted_differences, with_combined,
                                         without_items)
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import shortened
from csv_plugin.core.joint import Joint
from csv_plugin.core.measurement_units import measurement_notes
from csv_plugin.core.model_losses import TokenLossDump, mixed_engine_notes
from csv_plugin.core.noise import (BETTER, COMBINED, LOSS, OBSERVED, PREDICTED,
                                   RUNS, UNCLEAR, WORSE, Difference)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.predictor import Predictor, check_predictor
from csv_plugin.core.run_names import run_of

#: Losses of one run, or of several runs of one recipe.
Runs = Union[RunLosses, Sequence[RunLosses]]

#: Smallest difference of accuracies that matters unless another is given: a
#: point, about the standard error of an accuracy on 2,000 items.
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
            as `run@1000` and `run@2000` show that both are checkpoints of one
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
        predictor are at chance, or all have accuracies of 1.

    Raises:
        InputError: There is nothing to compare; the losses are not on the same
            texts; `same_recipe` has a single run; no item has answers of both
            A and B; no benchmark has accuracies of all runs (with one run
            each, and a known number of items); `decided_by` is not compared;
            a benchmark is called 'loss' while losses are compared; or for the
            reasons of `Predictor.features`.
    """
    _check_fractions(level, margin)
    runs_of_a = _listed(a, 'A')
    runs_of_b = _listed(b, 'B')
    same_recipe = _listed(same_recipe, 'the same recipe')
    n_runs = len(runs_of_a), len(runs_of_b)
    needs_losses = bool(predictor or same_recipe)
    _check_given(n_runs, answers, accuracies, needs_losses)
    if predictor is not None:
        check_predictor(predictor)
    if len(same_recipe) == 1:
        raise InputError(
            'runs of the same recipe', 'two or more', '1',
            'Give two or more further runs that differ only in '
            'their seed, or none.')
    names_of_a = _names_of(runs_of_a, 'A')
    names_of_b = _names_of(runs_of_b, 'B')
    found: list[Difference] = []
    notes: list[str] = []
    if runs_of_a:
        names = names_of_a + names_of_b
        compared = [*runs_of_a, *runs_of_b]
        notes += _notes_on_engines(n_runs, compared)
        notes += _notes_on_steps(names)
        compared += same_recipe
        measured = losses_by_text(compared, n_runs, predictor)
        differences, more_notes = _compare_losses(measured, names, predictor,
                                                  same_family, level, margin)
        found += differences
        notes += more_notes
    pairs: list[PairedAnswers] = []
    if answers is not None:
        pairs = pair_answers(*answers)
        main = predictable_main(predictor) if predictor else []
        predicted = _predicted_to_combine(found, pairs, main)
        by_answers = differences_of_answers(pairs, level, margin)
        found += with_combined(by_answers, predicted)
        notes += _notes_on_answers(answers, pairs)
    if accuracies is not None:
        of_a, of_b = accuracies
        found += differences_of_accuracies(of_a, of_b, level, margin)
        left_out = without_items(of_a, of_b)
        if left_out:
            notes.append(f'{_listed_names(left_out)}: left out, as numbers of '
                         'items are unknown and each side has a single run, '
                         'so that nothing shows the noise.')
        if not runs_of_a:
            names_of_a = of_a.models
            names_of_b = of_b.models
    observed = _benchmarks_of_mean(pairs, accuracies, found)
    decisive = _decisive(found, predictor, observed, decided_by)
    if RUNS not in decisive.noises:
        notes.append('with one run of each and without the noise of runs, the '
                     'verdict is about these two runs, not about their '
                     'recipes.')
    return Comparison(
        runs=(names_of_a, names_of_b),
        level=level,
        differences=tuple(found),
        answers=tuple(pairs),
        decisive=decisive,
        notes=tuple(notes))


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
        factors = predictor.measurement_factors(measured.features)
        notes += measurement_notes(measured.features.models, factors)
    notes += _notes_on_factor(measured.common_factor)
    if n_runs == (1, 1):
        of_a, of_b = measured.contributions[:2]
        if np.array_equal(of_a, of_b):
            notes.append('A and B have the same losses. One of the two may be '
                         'a wrong file.')
    return found, notes


def _listed(runs: Optional[Runs], owner: str) -> list[RunLosses]:
    """Return a list of runs, empty if `runs` is None.

    `owner` says in errors whose runs they are, such as 'A'. Raises an
    `InputError` if there is anything else than losses, such as a path.
    """
    kinds = TokenLossDump, FeatureTable
    if runs is None:
        return []
    if isinstance(runs, kinds):
        return [runs]
    listed = [*runs]
    for run in listed:
        check_type(
            f'runs of {owner}', run, kinds, 'losses of a model, or a list',
            'Take values of read_dumps(paths, texts), or select a model of a '
            'table: table.select([name]).')
    return listed


def _names_of(runs: Sequence[RunLosses], default: str) -> tuple[str, ...]:
    """Return the names of the runs, or the default name if `runs` is empty."""
    names = []
    for run in runs:
        if isinstance(run, TokenLossDump):
            names.append(run.info.model)
        else:
            names.append(run.models[0])
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
    # Numbers of runs of A and of B.
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
    fractions = {'level': level, 'margin': margin}
    for name, value in fractions.items():
        if not 0 < value < 1:
            raise InputError(f'{name} of a comparison',
                             'a fraction between 0 and 1', str(value),
                             'Divide percentages by 100: 95 % is 0.95.')


def _losses_are_compared(measured: ComparedLosses,
                         predictor: Optional[Predictor]) -> bool:
    """Return True if the losses themselves are to be compared.

    They are compared if their noise is known, from two or more texts or from
    several runs of a recipe. They are also compared if no accuracy is
    predicted, because then nothing else could be compared; if their noise is
    unknown, this raises an error later.
    """
    if len(measured.texts) > 1 or measured.recipes:
        return True
    return predictor is None or not predictable(predictor)


# ---- predictions


def _joint(predictor: Predictor, features: FeatureTable,
           n_runs: tuple[int, int], one_family: bool) -> Joint:
    """Return the joint distribution of the accuracies of all models.

    All runs of A are one family, and all runs of B are another family. With
    `one_family`, the runs of A and B together are one family. Each further run
    is a family alone.
    """
    models = features.models
    n_a, n_b = n_runs
    families = {model: model for model in models}
    for model in models[:n_a]:
        families[model] = 'A'
    for model in models[n_a:n_a + n_b]:
        families[model] = 'A' if one_family else 'B'
    return predictor.joint(features, families)


def _predicted_to_combine(found: Sequence[Difference],
                          pairs: Sequence[PairedAnswers],
                          main: Sequence[str]) -> dict[str, Difference]:
    """Return the predicted differences to combine with those of answers.

    They are returned by benchmark. The mean is among them only if the answers
    are on exactly the main benchmarks, which the predicted mean is over.
    """
    predicted = {}
    for difference in found:
        if difference.kind == PREDICTED:
            predicted[difference.benchmark] = difference
    if {pair.benchmark for pair in pairs} != {*main}:
        predicted.pop(MEAN, None)
    return predicted


# ---- notes


def _notes_on_factor(factor: float) -> list[str]:
    """Return a note if all losses of B are `factor` times those of A.

    A factor of 1 means that they are not.
    """
    if factor == 1:
        return []
    larger, smaller = 'B', 'A'
    if factor < 1:
        larger, smaller = smaller, larger
        factor = 1 / factor
    return [
        f'all losses of {larger} are {factor:.4g} times those of {smaller}, '
        'as if they were of one model, in two units: losses in bits are '
        '1.443 times those in nats. Measure both in the same unit.'
    ]


def _notes_on_engines(n_runs: tuple[int, int],
                      models: Sequence[RunLosses]) -> list[str]:
    """Return notes on differences in how the losses were measured."""
    infos = {}
    for name, model in zip(stand_in_names(n_runs), models):
        if isinstance(model, TokenLossDump):
            infos[name] = model.info
    return mixed_engine_notes(infos)


def _notes_on_steps(models: Sequence[str]) -> list[str]:
    """Return a note if A and B are at different steps of different runs.

    Runs and steps are taken from names such as run@1000.
    """
    runs = set()
    steps = set()
    for model in models:
        _, _, step = model.rpartition('@')
        # What follows an @ may also be a version. Then nothing is known about
        # the step.
        if '@' not in model or not step.isdecimal():
            return []
        runs.add(run_of(model))
        steps.add(step)
    if len(runs) == 1 or len(steps) == 1:
        return []
    names = shortened(', '.join(models), 100)
    return [
        f'{names}: checkpoints at different steps. The comparison says '
        'nothing about the ends of these runs; use `salience triage` to '
        'forecast them.'
    ]


def _notes_on_predictor(predictor: Predictor,
                        models: Sequence[str]) -> list[str]:
    """Return notes on limits of the predictor: what it was fitted to."""
    notes = []
    fit_models = predictor.fit_models
    fitted = [name for name in models if name in fit_models]
    if fitted:
        names = ' and '.join(fitted)
        notes.append(f'{names}: among the training models of the predictor, '
                     'so the interval is too narrow.')
    not_yet = []
    without_items = []
    for fit in predictor.benchmarks:
        if fit.at_chance:
            not_yet.append(fit.benchmark)
        elif not fit.n_items:
            without_items.append(fit.benchmark)
    if not_yet:
        notes.append(f'{_listed_names(not_yet)}: not predictable yet, so no '
                     'difference is predicted.')
    if without_items:
        notes.append(f'{_listed_names(without_items)}: the predictor knows no '
                     'numbers of items, so it cannot say how small a '
                     'difference running the benchmark would detect.')
    return notes


def _listed_names(benchmarks: Sequence[str]) -> str:
    """Return the names of benchmarks with commas, shortened if too long."""
    return shortened(', '.join(benchmarks), 60)


def _notes_on_distance(predictor: Predictor, joint: Joint,
                       n_runs: tuple[int, int], level: float) -> list[str]:
    """Return a note on benchmarks where A or B is far from training models."""
    rows = np.arange(sum(n_runs))
    compared = joint.take(rows)
    names = stand_in_names(n_runs)
    predictions = predictor.predictions(compared, names, level)
    extrapolated = predictions.extrapolated.any(axis=(0, 2))
    far = []
    for fit, is_far in zip(predictor.benchmarks, extrapolated):
        if is_far and not fit.at_chance:
            far.append(fit.benchmark)
    if not far:
        return []
    return [f'{_listed_names(far)}: far from the training models.']


def _notes_on_answers(answers: tuple[Answers, Answers],
                      pairs: Sequence[PairedAnswers]) -> list[str]:
    """Return a note on items that only A or only B answered, if any."""
    n_answers = 0
    for by_benchmark in answers:
        for items in by_benchmark.values():
            n_answers += len(items)
    # Each paired item has an answer of A and an answer of B.
    n_unpaired = n_answers
    for pair in pairs:
        n_unpaired -= 2 * pair.n_items
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

    The mean of answers is over all benchmarks, and the mean of accuracies is
    over the main benchmarks.
    """
    if accuracies is None:
        return {pair.benchmark for pair in pairs}
    of_a, _ = accuracies
    main = set()
    for difference in found:
        name = difference.benchmark
        if difference.kind == OBSERVED and name in of_a.main:
            main.add(name)
    return main


def _decisive(found: Sequence[Difference], predictor: Optional[Predictor],
              observed: set[str], decided_by: str) -> Difference:
    """Return the difference whose verdict is the verdict of the comparison.

    `observed` are the benchmarks that the observed mean is over, and
    `decided_by` is '' or the name of a benchmark, 'mean' or 'loss'. The rules:

    1. Of several differences with the same name, a combined one is taken
       before an observed one, and an observed one before a predicted one. With
       a predictor, an observed mean takes the place of a predicted one only if
       it is over all predictable main benchmarks and no others. Otherwise, the
       predicted mean and the main benchmarks are taken before it.
    2. The difference with the name `decided_by` is taken, if it is given.
    3. Otherwise, the first of these that exists is taken: the mean, the first
       main benchmark, another benchmark, the loss.
    4. If 3 takes a predicted difference with the verdict 'cannot tell', the
       loss is taken instead, if its verdict is better or worse in the
       direction of the predicted difference.
    """
    main = []
    mean_is_of_main = True
    if predictor:
        main = predictable_main(predictor)
        has_all = observed.issuperset(main)
        mean_is_of_main = has_all and observed.issubset(predictor.main)
    by_name = _one_for_each_name(found, mean_is_of_main)
    if decided_by:
        if decided_by not in by_name:
            choices = ', '.join(by_name)
            raise InputError('what decides', f'one of {choices}',
                             repr(decided_by), 'Let one of these decide.')
        return by_name[decided_by]
    loss = by_name.pop(LOSS, None)
    if loss is not None and not by_name:
        return loss
    order_of_choice = [MEAN, *main]
    if MEAN in by_name and by_name[MEAN].kind == OBSERVED:
        if not mean_is_of_main:
            order_of_choice = [*main, MEAN]
    chosen = _first_of(by_name, order_of_choice)
    is_undecided = chosen.kind == PREDICTED and chosen.verdict == UNCLEAR
    direction = BETTER if chosen.value > 0 else WORSE
    if is_undecided and loss is not None and loss.verdict == direction:
        return loss
    return chosen


def _one_for_each_name(found: Sequence[Difference],
                       mean_is_of_main: bool) -> dict[str, Difference]:
    """Return one difference for each name, by rule 1 of `_decisive`.

    `mean_is_of_main` says whether an observed mean may replace a predicted
    mean. Raises an `InputError` if a benchmark is called 'loss' while losses
    are compared.
    """
    by_name: dict[str, Difference] = {}
    # A later kind replaces an earlier one.
    for kind in (LOSS, PREDICTED, OBSERVED, COMBINED):
        for difference in found:
            if difference.kind != kind:
                continue
            name = name_of(difference)
            if kind != LOSS and name == LOSS and name in by_name:
                raise InputError(
                    'comparison',
                    'no benchmark with the name of the mean loss', repr(LOSS),
                    'Give this benchmark another name.')
            is_observed_mean = kind == OBSERVED and name == MEAN
            if is_observed_mean and not mean_is_of_main and name in by_name:
                continue
            by_name[name] = difference
    return by_name


def _first_of(by_name: Mapping[str, Difference],
              order_of_choice: Sequence[str]) -> Difference:
    """Return the first difference in the order of these names.

    Differences with other names come last, in their own order.
    """
    for name in order_of_choice:
        if name in by_name:
            return by_name[name]
    first, *_ = by_name.values()
    return first
