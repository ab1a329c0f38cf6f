"""Comparisons of two models by losses, predictions and answers."""
import json
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.comparing import _measure, compare
from csv_plugin.core.conventions import InputError
from csv_plugin.core.differences import predict_jointly
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.salience import SOLVERS
from csv_plugin.core.spans import TokenSpans
from tests.runs import OTHER_TEXTS, dump, model_losses, train
from tests.tables import small_tables

UNITS = [f'{source}/{i}' for source in ('code', 'web') for i in range(6)]


def table(model, losses):
    return FeatureTable.of_losses([model], UNITS, [losses])


def losses_of(shift, seed, noise=0.01):
    rng = np.random.default_rng(seed)
    hard = np.random.default_rng(0).uniform(1, 3, len(UNITS))
    return hard + shift + noise * rng.normal(size=len(UNITS))


def tokens(model, skill, whole=False):
    """A dump of three tokens a text, or of one that covers all of it."""
    texts = model_losses(skill)
    if whole:
        texts = [
            TokenLosses(
                text.text_id, [text.losses.sum()],
                TokenSpans([0], [6], 6),
                6,
                sha256=text.sha256) for text in texts
        ]
    return dump(model, texts)


def test_mean_losses_of_tables():
    a, b = losses_of(0, 1), losses_of(-0.1, 2)
    found = compare(table('old', a), table('new', b))
    assert found.models == ('old', 'new') and found.verdict == 'better'
    loss, = found.differences
    assert loss is found.decisive and loss.kind == 'loss'
    assert loss.value == pytest.approx((b - a).mean())
    assert loss.margin == pytest.approx(0.001 * a.mean())
    assert loss.low < -0.1 < loss.high
    # The texts differ by far more than the two models on each.
    assert loss.errors['texts'] < 0.1 * np.std(a) / np.sqrt(len(UNITS))
    assert compare(table('new', b), table('old', a)).verdict == 'worse'


def test_equal_models_do_not_differ():
    losses = losses_of(0, 1)
    tiny = losses + 1e-5 * np.arange(len(UNITS))
    found = compare(table('old', losses), table('new', tiny))
    assert found.decisive.probability < 0.01 and found.verdict == 'worse'
    same = compare(table('old', losses), table('new', losses))
    assert same.verdict == 'no difference'
    assert same.decisive.probability == 0.5


def test_tokenizers_may_differ():
    a, b = tokens('a', 1.0), tokens('b', 1.2)
    found = compare(a, b).decisive
    n_chars = 5 * 6
    assert found.value == pytest.approx(
        sum((y.losses - x.losses).sum()
            for x, y in zip(a.texts, b.texts)) / n_chars)
    other = compare(a, tokens('b', 1.2, whole=True)).decisive
    assert other.value == pytest.approx(found.value)
    assert other.errors == pytest.approx(found.errors)


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
    assert 'about these two models' in alone.notes[0] and not found.notes


def test_one_number_and_its_seeds_are_enough():

    def total(model, loss):
        return FeatureTable.of_losses([model], ['val'], [[loss]])

    seeds = [total(f'seed{i}', 1 + 0.001 * i) for i in range(5)]
    found = compare(total('a', 1.0), total('b', 0.9), same_recipe=seeds)
    assert found.verdict == 'better' and [*found.decisive.errors] == ['runs']
    with pytest.raises(InputError, match='two or more'):
        compare(total('a', 1.0), total('b', 0.9))


@pytest.mark.parametrize('solver', ['averaged', 'ridge'])
def test_parts_of_texts_add_up_to_the_difference_of_scores(solver):
    world = small_tables(n_units=8).only('easy', 'hard')
    predictor = fit_predictor(world.features, world.accuracies, world.groups,
                              SOLVERS[solver])
    a, b = (world.features.select([world.models[i]]) for i in (0, 7))
    paired = _measure([a, b], predictor)
    expected = [
        np.diff(part.model.scores(np.concatenate([a.values,
                                                  b.values]))).item()
        for part in predictor.benchmarks
    ]
    assert np.allclose(paired.scores.sum(axis=0), expected, rtol=1e-9)


def test_parts_of_texts_add_up_to_scores_of_tokens():
    predictor = train()
    paired = _measure([tokens('a', 0.4), tokens('b', 1.1)], predictor)
    for part, column in zip(predictor.benchmarks, paired.scores.T):
        a, b = part.model.scores(paired.features)
        assert column.sum() == pytest.approx(b - a)


def test_predicted_differences():
    predictor = train()
    a, b = tokens('a', 0.4), tokens('b', 1.1)
    found = compare(a, b, predictor)
    cube = predictor.predict({'a': a, 'b': b}).values[:, :, 0]
    parts = found.of_kind('predicted')
    assert [part.benchmark for part in parts] == ['easy', 'hard', 'mean']
    assert np.allclose([part.value for part in parts[:2]], cube[1] - cube[0])
    assert parts[2].value == pytest.approx((cube[1] - cube[0]).mean())
    assert found.decisive is parts[2] and found.verdict == 'better'
    errors = predict_jointly(predictor, {'a': a, 'b': b}).differences(0, 1)
    for part, error in zip(parts, errors.deviation):
        assert part.error == part.errors['predictor'] == pytest.approx(error)
    assert not found.notes
    one = compare(a, b, train(['easy']))
    assert [part.kind
            for part in one.differences] == ['loss', 'score', 'predicted']


def test_a_predictor_without_held_out_errors_leaves_losses():
    """As those of --method paper; their scores are compared, too."""
    a, b = tokens('a', 0.4), tokens('b', 1.1)
    whole = compare(a, b, train())
    found = compare(a, b, replace(train(), training_scores=None))
    assert found.differences == tuple(part for part in whole.differences
                                      if part.kind != 'predicted')
    assert found.decisive.kind == 'loss'
    assert 'accuracies are not compared' in found.notes[0]


def test_the_mean_is_over_the_main_benchmarks():
    predictor = train(['easy', 'hard', 'side'])
    *parts, side = predictor.benchmarks
    predictor = replace(
        predictor, benchmarks=(*parts, replace(side, main=False)))
    a, b = tokens('a', 0.4), tokens('b', 1.1)
    runs = [tokens('r', skill) for skill in (0.3, 0.5)]
    found = compare(a, b, predictor, same_recipe=runs).of_kind('predicted')
    without = compare(a, b, train(), same_recipe=runs).of_kind('predicted')
    assert [part.benchmark
            for part in found] == ['easy', 'hard', 'side', 'mean']
    assert found[3].value == pytest.approx(without[2].value)
    assert found[3].errors['runs'] == pytest.approx(without[2].errors['runs'])


def test_runs_of_one_recipe_add_their_noise_to_predictions():
    predictor = train()
    a, b = tokens('a', 0.4), tokens('b', 1.1)
    runs = [tokens('r', skill) for skill in (0.3, 0.5, 0.8)]
    cube = predictor.predict(dict(zip('rst', runs))).values[:, :, 0]
    parts = compare(a, b, predictor, same_recipe=runs).of_kind('predicted')
    expected = np.sqrt(2) * np.column_stack([cube, cube.mean(1)]).std(
        axis=0, ddof=1)
    assert np.allclose([part.errors['runs'] for part in parts], expected)
    for part in parts:
        assert part.error == pytest.approx(
            np.hypot(part.errors['runs'], part.errors['predictor']))


def test_predictions_and_answers_combined():
    a, b = tokens('a', 0.4), tokens('b', 1.1)
    answers = tuple({name: items(grades)
                     for name in ('easy', 'other')}
                    for grades in ('01' * 50, '011' * 33))
    found = compare(a, b, train(), answers)
    both, = found.of_kind('combined')
    easy = [part for part in found.differences if part.benchmark == 'easy']
    assert both.error < min(part.error for part in easy[1:3])
    # What was observed on other benchmarks has no part in the mean.
    assert found.decisive.kind == 'predicted'
    decided = compare(a, b, train(), answers, decided_by='easy').decisive
    assert decided.kind == 'combined'


def test_what_the_predictor_was_not_made_for_is_noted():
    fitted, beyond = compare(
        tokens('fit-3', 3 / 8), tokens('b', 2.2), train()).notes
    assert fitted.startswith('fit-3: among the training models')
    assert beyond.startswith('easy, hard: scores outside the range')


def items(grades):
    return {str(i): float(g) for i, g in enumerate(grades) if g != ' '}


ANSWERS = ({
    'x': items('1001 '),
    'y': items('01')
}, {
    'x': items('110 1'),
    'y': items('01'),
    'z': items('1')
})


def test_answers_to_the_same_items():
    found = compare(answers=ANSWERS)
    assert [(p.benchmark, p.n_items, p.only)
            for p in found.answers] == [('x', 3, (0, 1)), ('y', 2, (0, 0))]
    assert found.notes[0].startswith('3 items that one of the models alone')
    x, y, mean = found.differences
    assert found.decisive is mean and mean.benchmark == 'mean'
    assert mean.value == pytest.approx((x.value + y.value) / 2)
    assert mean.errors['items'] == pytest.approx(
        np.hypot(x.errors['items'], y.errors['items']) / 2)
    json.dumps(found.to_dict(), allow_nan=False)


def test_seeds_move_observed_accuracies_as_predicted_ones():
    a, b = tokens('a', 0.4), tokens('b', 1.1)
    runs = [tokens('r', skill) for skill in (0.3, 0.5, 0.8)]
    answers = tuple({name: items(grades)
                     for name in ('easy', 'other')}
                    for grades in ('01' * 50, '011' * 33))
    found = compare(a, b, train(), answers, same_recipe=runs)
    predicted, observed, both = (
        next(part for part in found.of_kind(kind) if part.benchmark == 'easy')
        for kind in ('predicted', 'observed', 'combined'))
    noise = predicted.errors['runs']
    assert noise == observed.errors['runs'] == both.errors['runs']
    without = compare(a, b, train(), answers)
    alone, = without.of_kind('combined')
    assert both.value == pytest.approx(alone.value)
    assert both.error == pytest.approx(np.hypot(alone.error, noise))
    other = next(part for part in found.differences
                 if part.benchmark == 'other')
    assert [*other.errors] == ['items']
    by_other = compare(
        a, b, train(), answers, same_recipe=runs, decided_by='other')
    assert 'about these two models' in by_other.notes[-1]


def test_what_decides():
    a, b = table('a', losses_of(0, 1)), table('b', losses_of(-0.1, 2))
    assert compare(a, b, answers=ANSWERS).decisive.kind == 'observed'
    by_loss = compare(a, b, answers=ANSWERS, decided_by='loss')
    assert by_loss.decisive.kind == 'loss' and by_loss.verdict == 'better'
    with pytest.raises(InputError, match='one of loss, x, y, mean, found'):
        compare(a, b, answers=ANSWERS, decided_by='z')


def test_losses_that_cannot_be_compared():
    with pytest.raises(InputError, match='dumps or tables'):
        compare(tokens('a', 1.0), table('b', losses_of(0, 1)))
    two = FeatureTable.of_losses(['a', 'b'], UNITS, np.ones((2, 12)))
    with pytest.raises(InputError, match='one model, found a, b'):
        compare(two, table('b', losses_of(0, 1)))
    with pytest.raises(InputError, match='texts'):
        compare(
            tokens('a', 1.0),
            dump('b', model_losses(1, OTHER_TEXTS), OTHER_TEXTS))
    with pytest.raises(InputError, match='items that both answered'):
        compare(answers=({'x': {'1': 1}}, {'x': {'2': 1}}))
    for answers in (None, ANSWERS):
        with pytest.raises(
                InputError, match='losses or answers of A and of B'):
            compare(tokens('a', 1.0), answers=answers)
    for settings in (
            dict(predictor=train()),
            dict(same_recipe=[tokens('r', 1), tokens('s', 1)])):
        with pytest.raises(InputError, match='losses of A and B, too'):
            compare(answers=ANSWERS, **settings)
    for settings in (dict(level=95), dict(margin=0)):
        with pytest.raises(InputError, match=f'{[*settings][0]} of a comp'):
            compare(answers=ANSWERS, **settings)


def test_models_that_were_scored_in_two_ways_are_noted():
    a, b = tokens('a', 1.0), tokens('b', 1.1)
    half = replace(b, info=replace(b.info, dtype='bfloat16'))
    assert len(compare(a, b).notes) == 1
    assert 'scored in different ways' in compare(a, half).notes[0]
