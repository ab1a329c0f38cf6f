"""Comparisons of two models by losses, predictions and answers."""
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import norm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import compare
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.report.comparison_report import as_text, conclusion
from tests.runs import OTHER_TEXTS, dump, model_losses, train
from tests.tables import CHANCE, small_tables

UNITS = [f'{source}/{i}' for source in ('code', 'web') for i in range(6)]


def table(model, losses):
    return FeatureTable.of_losses([model], UNITS, [losses])


def losses_of(shift, seed, noise=0.01):
    rng = np.random.default_rng(seed)
    hard = np.random.default_rng(0).uniform(1, 3, len(UNITS))
    return hard + shift + noise * rng.normal(size=len(UNITS))


def tokens(model, skill):
    """A dump of three tokens a text."""
    return dump(model, model_losses(skill))


def items(grades):
    return {str(i): float(g) for i, g in enumerate(grades) if g != ' '}


A, B = tokens('a', 0.4), tokens('b', 1.1)
SEEDS = [tokens('r', skill) for skill in (0.3, 0.5, 0.8)]
ANSWERS = ({
    'x': items('1001 '),
    'y': items('01')
}, {
    'x': items('110 1'),
    'y': items('01'),
    'z': items('1')
})
GRADES = tuple({name: items(grades)
                for name in ('easy', 'other')}
               for grades in ('01' * 50, '011' * 33))

#: Accuracies of three runs of A and of B; one of B was not run on y.
SCORES = tuple(
    AccuracyTable([f'{name}{run}' for run in range(3)], ['x', 'y', 'z'],
                  values, np.zeros(3), [0, 500, 500])
    for name, values in (('a',
                          [[.50, .3, .40], [.51, .3, .39], [.52, .3, .41]]),
                         ('b',
                          [[.60, .3, .40], [.61, .3, .41], [.62, None, .39]])))


@pytest.fixture(scope='module')
def predictor():
    return train()


def parts_on(found, benchmark):
    """Differences on a benchmark by kind."""
    return {p.kind: p for p in found.differences if p.benchmark == benchmark}


def test_mean_losses_of_tables():
    a, b = losses_of(0, 1), losses_of(-0.1, 2)
    found = compare(table('old', a), table('new', b))
    assert found.models == ('old', 'new') and found.verdict == 'better'
    loss, = found.differences
    assert loss is found.decisive and loss.kind == 'loss'
    assert loss.value == pytest.approx((b - a).mean())
    assert loss.margin == pytest.approx(0.001 * a.mean())
    assert loss.noises['texts'].freedom == len(UNITS) - 2  # of two sources
    assert loss.low < -0.1 < loss.high
    # The texts differ by far more than the two models on each.
    assert loss.errors['texts'] < 0.1 * np.std(a) / np.sqrt(len(UNITS))
    assert compare(table('new', b), table('old', a)).verdict == 'worse'
    same = compare(table('old', a), table('new', a))
    assert same.verdict == 'no difference'
    assert same.decisive.probability == 0.5
    assert same.notes[0].startswith('A and B have the same losses')
    assert f'* {same.notes[0]}' in str(same)


def test_losses_of_one_model_in_two_units_are_named():
    """Bits beside nats, rounded; not those of a worse model."""
    a = losses_of(0, 1)
    bits = np.round(a / np.log(2), 3)
    for pair, said in (((a, bits), 'all losses of B are 1.443 times those of '
                        'A, as if they were of one model, in two units'),
                       ((bits, a), 'all losses of A are 1.443 times')):
        found = compare(table('old', pair[0]), table('new', pair[1]))
        assert found.notes[0].startswith(said)
    runs = [table(f'r{i}', losses_of(0, i)) for i in range(3)]
    others = [table(f's{i}', losses_of(0, i) / np.log(2)) for i in range(3)]
    assert 'two units' in compare(runs, others).notes[0]
    # All texts of worse models have larger losses, by factors that differ.
    for worse in (losses_of(.6, 2), 1.4 * losses_of(0, 2, noise=.1), 1.05 * a):
        found = compare(table('old', a), table('new', worse))
        assert not any('two units' in note for note in found.notes)


@pytest.mark.parametrize('n_texts', [5, 6])
def test_six_texts_are_enough_to_tell_another_unit(n_texts):
    units = UNITS[:n_texts]
    a = losses_of(0, 1)[:n_texts]
    one, other = (FeatureTable.of_losses([model], units, [losses])
                  for model, losses in (('old', a), ('new', a / np.log(2))))
    notes = compare(one, other).notes
    assert any('two units' in note for note in notes) == (n_texts == 6)


@pytest.mark.parametrize('zero', ['A', 'B'])
def test_texts_without_a_loss_hide_no_other_unit(zero):
    a = losses_of(0, 1)
    bits = a / np.log(2)
    changed = a if zero == 'A' else bits
    changed[0] = 0
    note = compare(table('old', a), table('new', bits)).notes[0]
    assert note.startswith('all losses of B are 1.443 times those of A')


def test_tokenizers_may_differ():
    found = compare(A, B).decisive
    n_chars = 5 * 6
    assert found.value == pytest.approx(
        sum((b.losses - a.losses).sum()
            for a, b in zip(A.texts, B.texts)) / n_chars)
    # One token that covers the whole text.
    whole = [
        TokenLosses(
            text.text_id, [text.losses.sum()],
            TokenSpans([0], [6], 6),
            6,
            sha256=text.sha256) for text in B.texts
    ]
    other = compare(A, dump('b', whole)).decisive
    assert other.value == pytest.approx(found.value)
    assert other.errors == pytest.approx(found.errors)


def test_versions_that_differ_are_noted():
    """A version may read the files of a model differently."""
    old, new = (replace(losses, info=replace(losses.info, versions=versions))
                for losses, versions in ((A, {
                    'transformers': '4.57.6'
                }), (B, {
                    'transformers': '5.24.0'
                })))
    same = replace(B, info=replace(B.info, versions=old.info.versions))
    notes = '; '.join(compare(old, new).notes)
    assert 'transformers 4.57.6 (A); transformers 5.24.0 (B)' in notes
    assert 'transformers' not in '; '.join(compare(old, same).notes)


def test_runs_of_one_recipe_add_their_noise():
    runs = [table(f'r{i}', losses_of(0.2 * i, i)) for i in range(4)]
    a, b = table('a', losses_of(0, 8)), table('b', losses_of(-0.1, 9))
    alone = compare(a, b)
    found = compare(a, b, same_recipe=runs)
    means = [run.values.mean() for run in runs]
    assert found.decisive.errors['runs'] == pytest.approx(
        np.sqrt(2) * np.std(means, ddof=1))
    assert found.decisive.errors['texts'] == alone.decisive.errors['texts']
    assert alone.verdict == 'better' and found.verdict == 'cannot tell'
    assert 'about these two runs' in alone.notes[0] and not found.notes
    assert (alone.about, found.about) == ('runs', 'recipes')


def test_several_runs_of_a_against_several_of_b(predictor):
    """Means of the runs, whose scatter is the noise of runs."""
    of_a = [tokens(f'a{i}', skill) for i, skill in enumerate((.4, .5, .6))]
    of_b = [tokens(f'b{i}', skill) for i, skill in enumerate((1.2, 1.3))]
    found = compare(of_a, of_b, predictor)
    assert found.models == ('a0, a1, a2', 'b0, b1')
    assert found.about == 'recipes' and found.verdict == 'better'
    models = {part.info.model: part for part in (*of_a, *of_b)}
    features = predictor.features(models)
    means = features.values @ features.columns.uniform
    loss, = found.of_kind('loss')
    assert loss.value == pytest.approx(means[3:].mean() - means[:3].mean())
    joint = predictor.joint(features, dict(zip(models, 'aaabb')))
    weights = np.outer([-1 / 3] * 3 + [1 / 2] * 2, [1, 0])
    easy = parts_on(found, 'easy')['predicted']
    expected = joint.sum(weights, .95)
    assert easy.value == pytest.approx(expected.value)
    assert easy.errors['predictor'] == pytest.approx(
        np.hypot(expected.high - expected.value, expected.value - expected.low)
        / np.sqrt(2) / stdtrit(joint.model.tails.degrees, .975))
    values = joint.accuracies[:, 0]
    pooled = (2 * values[:3].var(ddof=1) + values[3:].var(ddof=1)) / 3
    assert easy.errors['runs'] == pytest.approx(
        np.sqrt(pooled * (1 / 3 + 1 / 2)))
    # A family's part remains, however many runs there are.
    one = parts_on(compare(of_a[0], of_b[0], predictor), 'easy')['predicted']
    assert .3 < easy.errors['predictor'] / one.errors['predictor'] < 1


def test_accuracies_of_several_runs():
    found = compare(accuracies=SCORES)
    assert found.models == ('a0, a1, a2', 'b0, b1, b2')
    x, z, mean = found.differences
    assert [part.benchmark for part in (x, z, mean)] == ['x', 'z', 'mean']
    assert x.value == pytest.approx(.1)
    assert x.errors['runs'] == pytest.approx(.01 * np.sqrt(2 / 3))
    assert found.decisive is mean and found.verdict == 'better'
    assert z.verdict == 'cannot tell' and found.about == 'recipes'
    # Printed, the verdict comes first, and the tables have headings.
    _, verdict, heading, *tables = str(found).split('\n\n')
    assert verdict == repr(found) and heading == 'Observed accuracy, points'
    assert '+10.00' in tables[0]
    # Single runs have the noise of items, where their number is known.
    one = compare(
        accuracies=[table.select([table.models[0]]) for table in SCORES])
    assert [part.benchmark for part in one.differences] == ['y', 'z', 'mean']
    assert one.differences[0].errors['items'] == pytest.approx(
        np.sqrt(2 * .3 * .7 / 500))
    assert one.about == 'runs'
    # A benchmark that is left out for lack of it is named.
    left_out = 'x: left out, as numbers of items are unknown'
    assert any(note.startswith(left_out) for note in one.notes)
    assert not any('left out' in note for note in found.notes)


def test_losses_decide_where_predictions_cannot(predictor):
    a, b = tokens('a', .9), tokens('b', .93)
    found = compare(a, b, predictor)
    mean = parts_on(found, 'mean')['predicted']
    assert mean.verdict == 'cannot tell' and mean.value > 0
    assert found.decisive.kind == 'loss' and found.verdict == 'better'
    assert conclusion(found).endswith(
        'Losses decide; predicted accuracies cannot tell on any benchmark yet.'
    )
    asked = compare(a, b, predictor, decided_by='mean')
    assert asked.verdict == 'cannot tell'
    assert 'By loss: B is better than A' in conclusion(asked)


def test_what_items_would_show(predictor):
    """The binomial noise of both models, found with a probability of 80 %."""
    easy, *rest = predictor.benchmarks
    known = replace(predictor, benchmarks=(replace(easy, n_items=500), *rest))
    found = compare(A, B, known)
    part = parts_on(found, 'easy')['predicted']
    shares = known.predict({'a': A, 'b': B}).values[:, 0, 0]
    power = norm.ppf(.975) + norm.ppf(.8)
    assert part.by_items == pytest.approx(power * np.sqrt(
        (shares * (1 - shares)).sum() / 500))
    text = ' '.join(as_text(found).split())
    assert 'by items' in text
    assert (part.by_items < part.size_to_detect) == (
        'smaller differences than losses do: easy.' in text)


@pytest.mark.parametrize('units, kinds', [
    (['t0', 't1'], {'loss', 'predicted'}), (['t0'], {'predicted'})
])  # yapf: disable
def test_losses_of_two_texts_have_noise_of_one_not(units, kinds):
    tables = small_tables(n_units=2).only('easy')
    values = tables.features.values[:, -len(units):]
    features = FeatureTable.of_losses(tables.models, units, values)
    fitted = fit_mean_loss_predictor(features, tables.accuracies,
                                     tables.groups)
    a, b = (features.select([model]) for model in tables.models[:2])
    found = compare(a, b, predictor=fitted)
    assert {part.kind for part in found.differences} == kinds


def test_one_number_and_its_seeds_are_enough():
    totals = [
        FeatureTable.of_losses([str(loss)], ['val'], [[loss]])
        for loss in (1.0, 0.9, 1.001, 1.002, 1.003, 1.004)
    ]
    found = compare(*totals[:2], same_recipe=totals[2:])
    assert found.verdict == 'better' and [*found.decisive.errors] == ['runs']
    with pytest.raises(InputError, match='two or more'):
        compare(*totals[:2])


def test_predicted_differences_are_views_of_the_joint_distribution(predictor):
    found = compare(A, B, predictor)
    parts = found.of_kind('predicted')
    assert [part.benchmark for part in parts] == ['easy', 'hard', 'mean']
    assert found.decisive is parts[2] and found.verdict == 'better'
    assert len(found.notes) == 2 and found.about == 'runs'
    assert 'knows no numbers of items' in found.notes[0]
    joint = predictor.joint(predictor.features({'A': A, 'B': B}))
    for part, share in zip(parts, ([1, 0], [0, 1], [.5, .5])):
        weights = np.array([np.negative(share), share])
        expected = joint.sum(weights, .95)
        assert part.value == pytest.approx(
            (joint.accuracies[1] - joint.accuracies[0]) @ share)
        assert (part.low, part.high) == pytest.approx(
            (expected.low, expected.high))
        assert part.probability == pytest.approx(expected.positive, abs=1e-6)
    one = compare(A, B, train(('easy', )))
    assert [part.kind for part in one.differences] == ['loss', 'predicted']


def test_errors_that_a_family_shares_cancel(predictor):
    """As those of two checkpoints of one run."""
    found = compare(A, B, predictor)
    near = compare(A, B, predictor, same_family=True)
    for one, other in zip(
            near.of_kind('predicted'), found.of_kind('predicted')):
        assert one.value == other.value and one.error < other.error
    old, new = (replace(
        losses, info=replace(losses.info, model=f'run@{step}'))
                for losses, step in ((A, 1), (B, 2)))
    assert compare(old, new, predictor).differences == near.differences
    new = replace(B, info=replace(B.info, model='rerun@2'))
    assert compare(old, new, predictor).differences == found.differences


@pytest.fixture(scope='module', params=[1000, 5])
def far_tables(request):
    """Models beyond those that a predictor was fitted to, and these.

    Of 5 items, accuracies have much noise, and intervals end at 0 or 1.
    """
    world, n_items = small_tables(n_models=30, n_units=6), request.param
    accuracies = world.accuracies.select(benchmarks=['easy', 'hard'])
    values = (accuracies.values - CHANCE).clip(0) / (1 - CHANCE)
    values = np.round(values * n_items) / n_items
    # The worse half.
    rows = np.argsort(-world.features.mean_loss)[:15]
    models = tuple(world.models[row] for row in rows)
    fitted = AccuracyTable(models, accuracies.benchmarks, values[rows],
                           np.zeros(2), np.full(2, n_items))
    families = [world.families[model] for model in models]
    return world.features, fit_predictor(world.features, fitted, families)


def test_no_difference_goes_further_than_both_intervals(far_tables):
    """Nor does any sum, and its probability agrees with its interval."""
    features, predictor = far_tables
    joint = predictor.joint(features)
    rng = np.random.default_rng(0)
    sides = []
    for _ in range(80):
        pair = joint.take(rng.permutation(30)[:2])
        level = rng.uniform(.3, .99)
        low, high = pair.intervals(level)
        weights = rng.normal(size=(2, 2)) * rng.integers(0, 2, (2, 2))
        found = pair.sum(weights, level)
        least = np.where(weights > 0, weights * low, weights * high).sum()
        most = np.where(weights > 0, weights * high, weights * low).sum()
        assert found.value == pytest.approx((weights * pair.accuracies).sum())
        assert least <= found.low + 1e-12 and found.high <= most + 1e-12
        assert found.low <= found.value <= found.high
        # An end at 0, as that of an accuracy may be, leaves 0 in.
        limit = (1 + level) / 2 + 1e-9
        assert (found.low > 0) == (found.positive > limit)
        assert (found.high < 0) == (found.positive < 1 - limit)
        sides.append((found.low > 0) - int(found.high < 0))
    assert {*sides} == {-1, 0, 1}


def test_probabilities_agree_with_intervals(far_tables):
    """Above .95 exactly where the 90 % interval leaves 0 out."""
    features, predictor = far_tables
    rng = np.random.default_rng(1)
    sides = []
    for level in 6 * [.5, .9, .95]:
        a, b = (
            features.select([features.models[row]])
            for row in rng.permutation(30)[:2])
        for part in compare(a, b, predictor, level=level).differences:
            limit = (1 + level) / 2
            # Lower losses are better, higher accuracies are.
            above, below = part.low > 0, part.high < 0
            if part.kind == 'loss':
                above, below = below, above
            assert above == (part.probability > limit)
            assert below == (part.probability < 1 - limit)
            sides.append(above - below)
    assert {*sides} == {-1, 0, 1}


@pytest.mark.parametrize('change, kinds', [
    (dict(main=False), ['predicted', 'observed', 'combined']),
    (dict(at_chance=True), ['observed']),
])
def test_the_mean_is_over_main_benchmarks_that_are_above_chance(change, kinds):
    more = train(('easy', 'hard', 'side'))
    *parts, side = more.benchmarks
    more = replace(more, benchmarks=(*parts, replace(side, **change)))
    answers = [{'side': part['easy']} for part in GRADES]
    found = compare(A, B, more, answers, SEEDS)
    assert [*parts_on(found, 'side')] == kinds
    easy, hard, mean = (
        parts_on(found, name)['predicted']
        for name in ('easy', 'hard', 'mean'))
    assert mean.value == pytest.approx((easy.value + hard.value) / 2)
    assert mean.errors['runs'] < max(easy.errors['runs'], hard.errors['runs'])
    assert ('side: not predictable yet'
            in ' '.join(found.notes)) == ('at_chance' in change)


def test_predictions_and_answers_combined(predictor):
    found = compare(A, B, predictor, GRADES)
    easy = parts_on(found, 'easy')
    both = easy['combined']
    assert both.error < min(easy['predicted'].error, easy['observed'].error)
    # What was observed on other benchmarks has no part in the mean.
    assert found.decisive.kind == 'predicted'
    decided = compare(A, B, predictor, GRADES, decided_by='easy').decisive
    assert decided == both
    # Seeds move observed accuracies as predicted ones.
    more = compare(
        A, B, predictor, GRADES, same_recipe=SEEDS, decided_by='other')
    easy = parts_on(more, 'easy')
    noise = easy['predicted'].errors['runs']
    runs = predictor.predict({f'{i}': run for i, run in enumerate(SEEDS)})
    assert noise == pytest.approx(
        np.sqrt(2) * np.std(runs.values[:, 0, 0], ddof=1))
    assert noise == easy['observed'].errors['runs']
    assert easy['combined'].value == pytest.approx(both.value)
    assert easy['combined'].error == pytest.approx(np.hypot(both.error, noise))
    assert [*parts_on(more, 'other')['observed'].errors] == ['items']
    assert 'about these two runs' in more.notes[-1]


@pytest.mark.parametrize('names, kind', [
    (['easy', 'hard'], 'observed'),
    (['easy', 'other'], 'predicted'),
    (['hard', 'easy', 'other'], 'predicted'),
    (['x', 'y'], 'predicted'),
    (['hard'], 'predicted'),
])
def test_the_mean_over_the_main_benchmarks_decides(predictor, names, kind):
    """It is the observed one if all main benchmarks were observed."""
    tables = []
    for run, accuracy in (A, .5), (B, .8):
        values = np.full((1, len(names)), accuracy)
        tables.append(
            AccuracyTable((run.info.model, ), names, values,
                          np.full(len(names), .25), np.full(len(names), 500)))
    found = compare(A, B, predictor, accuracies=tables)
    assert (found.decisive.benchmark, found.decisive.kind) == ('mean', kind)
    grades = [{name: part['easy'] for name in names} for part in GRADES]
    found = compare(A, B, predictor, grades)
    kind = kind.replace('observed', 'combined')
    assert (found.decisive.benchmark, found.decisive.kind) == ('mean', kind)
    # On a single benchmark, what was observed has more to say.
    name = names[0]
    one = compare(A, B, predictor, accuracies=tables, decided_by=name)
    assert one.decisive.kind == 'observed'


def test_what_the_predictor_was_not_made_for_is_noted(predictor):
    fitted, _, beyond, _ = compare(
        tokens('fit-3', 3 / 8), tokens('b', 2.2), predictor).notes
    assert fitted.startswith('fit-3: among the training models')
    assert beyond.startswith('easy, hard: far from the training models')
    half = replace(B, info=replace(B.info, dtype='bfloat16'))
    assert 'scored in different ways' in compare(A, half).notes[0]


def test_answers_to_the_same_items():
    found = compare(answers=ANSWERS)
    assert [(p.benchmark, p.n_items, p.only)
            for p in found.answers] == [('x', 3, (0, 1)), ('y', 2, (0, 0))]
    assert found.notes[0].startswith('3 items that only one of the two models')
    x, y, mean = found.differences
    assert found.decisive is mean and mean.benchmark == 'mean'
    assert mean.value == pytest.approx((x.value + y.value) / 2)
    assert mean.errors['items'] == pytest.approx(
        np.hypot(x.errors['items'], y.errors['items']) / 2)
    json.dumps(found.to_dict(), allow_nan=False)
    one, = compare(answers=[{'x': part['x']} for part in ANSWERS]).differences
    assert one.benchmark == 'x'


@pytest.mark.parametrize('level', [.9, .95])
def test_the_p_value_of_answers_agrees_with_the_verdict(level):
    """Whatever the number of items that only one of the models answered."""
    verdicts = set()
    for n_of_a in range(4, 16):
        right = '1' * n_of_a + '0' * 6 + '1' * 20
        wrong = '0' * n_of_a + '1' * 6 + '1' * 20
        found = compare(
            answers=({
                'x': items(right)
            }, {
                'x': items(wrong)
            }), level=level)
        [row] = found.items()
        is_decided = found.verdict in ('better', 'worse')
        assert (row['p_value'] < 1 - level) == is_decided
        verdicts.add(found.verdict)
    assert verdicts == {'cannot tell', 'worse'}
    # A run that answers alike differs by nothing.
    same = {'x': items('0101')}
    assert compare(answers=(same, same)).items()[0]['p_value'] == 1


@pytest.mark.parametrize('n', [1, 2, 3])
def test_few_items_decide_nothing(n):
    """Of one benchmark, or of the mean over two."""
    wrong = {name: items('0' * n) for name in 'xy'}
    right = {name: items('1' * n) for name in 'xy'}
    found = compare(answers=(wrong, right))
    tables = [
        AccuracyTable([model], ['x', 'y'], np.full((1, 2), value), np.zeros(2),
                      np.full(2, n)) for model, value in (('a', 0.), ('b', 1.))
    ]
    for comparison in (found, compare(accuracies=tables)):
        *single, mean = comparison.differences
        assert {part.verdict for part in single} == {'cannot tell'}
        assert mean.benchmark == 'mean'
        if n == 1:
            assert mean.verdict == 'cannot tell'
        if n == 3:
            # By Fisher's exact test, 0 of 6 against 6 of 6 items is p = .002.
            assert mean.verdict == 'better'


def test_other_benchmarks_do_not_decide_for_the_only_main_one():
    """Also where no mean is predicted."""
    one = train(('easy', ))
    tables = [
        AccuracyTable((run.info.model, ),
                      ['x', 'y'], np.full((1, 2), accuracy), np.zeros(2),
                      np.full(2, 500)) for run, accuracy in ((A, .8), (B, .2))
    ]
    found = compare(A, B, one, accuracies=tables)
    assert found.decisive.benchmark in ('easy', 'loss')
    assert compare(
        A, B, one, accuracies=tables,
        decided_by='mean').decisive.kind == 'observed'


def test_what_decides():
    assert compare(A, B, answers=ANSWERS).decisive.kind == 'observed'
    by_loss = compare(A, B, answers=ANSWERS, decided_by='loss')
    assert by_loss.decisive.kind == 'loss' and by_loss.verdict == 'better'
    with pytest.raises(InputError, match='one of loss, x, y, mean, found'):
        compare(A, B, answers=ANSWERS, decided_by='z')


@pytest.mark.parametrize('arguments, message', [
    (dict(a=A, b=table('b', losses_of(0, 1))),
     'token losses of all, or tables of all'),
    (dict(
        a=FeatureTable.of_losses(['a', 'b'], UNITS, np.ones((2, 12))),
        b=table('b', losses_of(0, 1))), 'one model, found a, b'),
    (dict(a=A, b=dump('b', model_losses(1, OTHER_TEXTS),
                      OTHER_TEXTS)), "losses of 'B': .* wording of 't0'"),
    (dict(answers=({'x': {'1': 1}}, {'x': {'2': 1}})),
     'items that both answered'),
    (dict(a=A), 'answers or accuracies of both A and B'),
    (dict(a=A, answers=ANSWERS), 'answers or accuracies of both A and B'),
    (dict(a=[A, B], b=A, answers=ANSWERS), 'one run of A and of B'),
    (dict(accuracies=(SCORES[0], replace(SCORES[1], n_items=[0, 500, 400]))),
     "number of items of 'z': .* found 500 for A and 400 for B"),
    (dict(a=A, b=B, accuracies=SCORES), 'a row for each of 1 and 1 runs'),
    (dict(accuracies=(SCORES[0], SCORES[1].select(benchmarks=['y']))),
     'a benchmark with accuracies of all'),
    (dict(a=A, b=B, same_recipe=[A]), 'two or more, found 1'),
    (dict(a='a.safetensors', b=B), 'runs of A: expected losses of a model'),
    (dict(a=A, b={'b': B}), 'runs of B: .* found a str. .* values of read_'),
    (dict(a=A, b=B, same_recipe=['c', 'd']), 'runs of the same recipe: expec'),
    (dict(a=A, b=B, predictor='p.safetensors'), 'a Predictor, found a str'),
    (dict(answers=ANSWERS, same_recipe=SEEDS), 'losses of A and B, too'),
    (dict(answers=ANSWERS, predictor=True), 'losses of A and B, too'),
    (dict(answers=ANSWERS, level=1), 'level of a comparison'),
    (dict(answers=ANSWERS, margin=0), 'margin of a comparison'),
])  # yapf: disable
def test_losses_that_cannot_be_compared(arguments, message):
    with pytest.raises(InputError, match=message):
        compare(**arguments)


def test_no_benchmark_is_called_like_the_mean():
    """It would be shown in the place of the mean."""
    named = [replace(t, benchmarks=('mean', 'y', 'z')) for t in SCORES]
    answers = [{**part, 'mean': part['x']} for part in ANSWERS]
    for arguments in (dict(accuracies=named), dict(answers=answers),
                      dict(a=A, b=B, predictor=train(('easy', 'mean')))):
        with pytest.raises(
                InputError, match="mean over benchmarks, found 'mean'"):
            compare(**arguments)


def test_checkpoints_at_other_steps_say_nothing_of_ends():
    early, late, same = tokens('a@65', .4), tokens('b@80',
                                                   1.), tokens('a@80', .8)
    assert any('a@65, b@80: checkpoints at different steps' in note
               for note in compare(early, late).notes)
    versions = tokens('a@v1', .4), tokens('b@v2', 1.)
    for pair in ((same, late), (same, early), versions):
        assert not any('at different' in note for note in compare(*pair).notes)


def test_a_benchmark_called_loss_does_not_decide_as_the_loss():
    rows = [
        AccuracyTable([name], ['loss'], [[value]], [0], [500])
        for name, value in (('a', .5), ('b', .6))
    ]
    alone = compare(accuracies=tuple(rows))
    assert alone.decisive.benchmark == 'loss'
    a, b = table('a', losses_of(0, 1)), table('b', losses_of(.1, 2))
    with pytest.raises(InputError, match="found 'loss'. Give this benchmark"):
        compare(a, b, accuracies=tuple(rows), decided_by='loss')
