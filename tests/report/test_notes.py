"""Notes: plain words about what was learned and how far it goes."""
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.far_models import far_notes
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.model_losses import MIXED
from csv_plugin.core.overall import MeanView, Overall, RankRanges
from csv_plugin.core.predictions import NOT_YET, Missing
from csv_plugin.report.notes import (chance_notes, copy_notes, family_notes,
                                     findings, first_names, learning_notes,
                                     left_out_line, mean_notes, outcome,
                                     outlier_notes, predictor_notes,
                                     range_note, shortage_notes, twin_notes)
from tests.report.boards import NO_DUMP, make_cells, predict
from tests.runs import train
from tests.tables import small_tables, with_outlier

MODELS = tuple(f'm{i}' for i in range(6))


@pytest.fixture(scope='module')
def predictor():
    return train()


def test_files_of_predictors_or_why_none_is_usable(predictor):
    paths = {'p': 'folder/p', 'q': 'folder/q'}
    # The cells of the leaderboard have the reason of a single one.
    some = {'p': predictor, 'q': Missing('broken')}
    assert predictor_notes(some, paths) == ['p: folder/p']
    none = {'p': Missing('broken'), 'q': Missing('absent')}
    assert predictor_notes(none, paths) == ['p: broken', 'q: absent']


def changed(predictor, **changes):
    first, *others = predictor.benchmarks
    return replace(predictor, benchmarks=(replace(first, **changes), *others))


@pytest.mark.parametrize('changes, words', [
    (dict(fit_models=('a', 'b', 'c')), 'fitted to 3 models, so that intervals '
     'are wide: 9 models of 3 families would do'),
    (dict(at_chance=True), NOT_YET),
    (dict(notes=(f'{MIXED}: a; b', 'x')), f'{MIXED}: a; b'),
])
def test_what_a_user_must_know(predictor, changes, words):
    line, = learning_notes(changed(predictor, **changes))
    assert line.startswith(f'easy: {words}')


def test_nine_models_to_fit_to_are_enough(predictor):
    assert learning_notes(changed(predictor, fit_models=tuple('abcdefghi'))) \
        == []
    few, = learning_notes(changed(predictor, fit_models=tuple('abcdefgh')))
    assert few.startswith('easy: fitted to 8 models')


def test_all_notes_of_the_training_come_on_demand(predictor):
    noted = changed(predictor, notes=(f'{MIXED}: a; b', 'x'))
    assert learning_notes(predictor) == []
    assert learning_notes(
        noted, verbose=True) == [f'easy: {MIXED}: a; b', 'easy: x']


@pytest.mark.slow
def test_outliers_among_training_models():
    """By name, with what they do to the error."""
    tables = small_tables(24, n_families=6).only('easy', 'hard')
    sound = fit_predictor(tables.features, tables.accuracies, tables.groups)
    assert outlier_notes(sound) == []
    tables, odd = with_outlier()
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups)
    assert [*predictor.outliers] == [odd]
    note, error = outlier_notes(predictor)
    errors = np.abs(predictor.observed - predictor.left_out)
    rows = np.array(predictor.fit_models) != odd
    without, with_all = (100 * np.nanmean(part)
                         for part in (errors[rows], errors))
    size = predictor.outliers[odd]
    assert with_all > without
    assert note.startswith('Outliers, which count less than other training '
                           f'models: {odd} ({size:.1f} times')
    assert error == ('Mean absolute error of families left out: '
                     f'{with_all:.1f} points ({without:.1f} without the '
                     'outliers), over 2 benchmarks.')
    assert outlier_notes(predictor, with_error=True) == [note, error]
    assert outlier_notes(sound, with_error=True) == [left_out_line(sound)]


def predictor_of_outliers(at_chance):
    """A predictor whose two training models are outliers."""
    return SimpleNamespace(
        fit_models=('a', 'b'),
        outliers={
            'a': 3.5,
            'b': 4.
        },
        observed=np.array([[1.], [.8]]),
        left_out=np.array([[.9], [.7]]),
        main=('b', ),
        names=('b', ),
        leaves_families_out=True,
        benchmarks=(SimpleNamespace(
            benchmark='b', at_chance=at_chance, error=.1), ),
        training_measurement_factors=np.ones(2))


def test_all_training_models_are_outliers():
    """Then no error is left without them."""
    predictor = predictor_of_outliers(at_chance=False)
    assert outlier_notes(predictor) == [
        'Outliers, which count less than other training models: b (4.0 times '
        'the expected error), a (3.5 times the expected error). Check their '
        'losses and accuracies.',
        'Mean absolute error of families left out: 10.0 points, over 1 '
        'benchmark.'
    ]
    # Nor if the others have no known error.
    del predictor.outliers['a']
    predictor.left_out[0] = np.nan
    _, error = outlier_notes(predictor)
    assert error.endswith(': 10.0 points, over 1 benchmark.')


def test_outliers_without_an_error_that_counts():
    """No error is stated if all benchmarks are at chance."""
    note, = outlier_notes(predictor_of_outliers(at_chance=True))
    assert note == (
        'Outliers, which count less than other training models: b (4.0 times '
        'the expected error), a (3.5 times the expected error). Check their '
        'losses and accuracies.')


def found(cells):
    predictions = cells.board().predictions
    return [*findings(predictions, Overall.of(predictions))]


def test_findings():
    observed = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    cells = make_cells(MODELS, ('b0', 'b1'), ('p', 'q'), observed)
    for m, model in enumerate(MODELS):
        for benchmark in ('b0', 'b1'):
            cells.predicted['p', model, benchmark] = predict(observed[m])
    cells.observed['m5', 'b1'] = 0.95
    rank, agreement, far = found(cells)
    assert rank == 'Rank 1 is the largest mean.'
    # The other predictor says the same of all models: there is no order.
    assert agreement == (
        'Rank agreement of predicted and observed means (Spearman, 1 is the '
        'same order, 0 is no relation): p 1.00 (6 held-out models).')
    assert far == (
        'p: 1 of 12 observed accuracies lie outside of their intervals; about '
        '1 are expected to lie outside: m5 on b1 (95.0, interval 60.0-80.0).')
    # Scores that no interval leaves out are not counted.
    for place in product('p', MODELS[:4], ('b0', 'b1')):
        cells.predicted[place] = replace(predict(), low=0.0, high=1.0)
    *_, far = found(cells)
    assert far.startswith(
        'p: 1 of 4 observed accuracies lie outside of their intervals; about '
        '0 are expected to lie outside: m5 on b1')


def test_means_leave_out_benchmarks_that_are_not_main_ones():
    cells = make_cells(MODELS, ('b0', 'b1', 'b2', 'b3'), ['p'])
    predictions = replace(
        cells.board().predictions, outside_means=('b1', 'b3'))
    notes = findings(predictions, Overall.of(predictions))
    assert ('Means leave out benchmarks that are not main benchmarks: b1, b3.'
            in [*notes])


def test_one_in_ten_is_outside_by_chance():
    """Of 30 intervals of 90 %, 3; half of them are on one side."""
    cells = make_cells(
        MODELS, [f'b{i}' for i in range(5)], ['p'], prediction=predict(.45))
    cells.observed['m5', 'b1'] = 0.95
    *_, far = found(cells)
    assert far.startswith('1 of 30 observed accuracies lie outside of their '
                          'intervals; about 3 are expected to lie outside: ')


@pytest.mark.parametrize('low, high, n_counted', [
    (0, 1, 5), (0, .99, 6), (.01, 1, 6)
])  # yapf: disable
def test_intervals_of_everything_leave_nothing_outside(low, high, n_counted):
    """At most four of those outside of other intervals are named."""
    cells = make_cells(MODELS, ['b'], ['p'], [.5, *5 * [.9]])
    cells.predicted['p', 'm0', 'b'] = replace(predict(), low=low, high=high)
    *_, far = found(cells)
    assert far.startswith(f'5 of {n_counted} observed accuracies lie ')
    assert far.count('interval 30.0-50.0') == 4
    assert far.endswith(' and 1 more.')


def test_errors_of_all_predictors_in_a_line():
    """On held-out models with an observed accuracy; intervals of the first."""
    cells = make_cells(MODELS[:3], ['b'], ['p', 'q'], [.45, .6, .7])
    cells.predicted['p', 'm2', 'b'] = predict(in_sample=True)
    cells.observed['m1', 'b'] = NO_DUMP
    assert [*outcome(cells.board().predictions)] == [
        'Mean absolute error in points: p 5.0, q 17.5. 1 of 1 accuracies lie '
        'in their 90% intervals.'
    ]
    cells.predicted['p', 'm0', 'b'] = predict(in_sample=True)
    assert [*outcome(cells.board().predictions)
            ] == ['Mean absolute error in points: q 17.5.']
    for model in MODELS[:3]:
        cells.observed[model, 'b'] = NO_DUMP
    assert not [*outcome(cells.board().predictions)]


def test_means_over_some_benchmarks():
    cells = make_cells(MODELS[:2], ('b0', 'b1', 'b2'), ('p', ), (0.4, 0.4))
    for model in MODELS[:2]:
        cells.observed[model, 'b1'] = NO_DUMP
    line, = found(cells)
    assert line == (
        'Rank 1 is the largest mean. Means are over b0, b2; on other '
        'benchmarks, too many accuracies or predictions are missing.')
    at_chance = np.array([[[False], [True], [False]]] * 2)
    predictions = replace(cells.board().predictions, at_chance=at_chance)
    line, = findings(predictions, Overall.of(predictions))
    assert line.endswith('on other benchmarks, nothing is predictable yet.')
    assert found(cells.only('b0')) == []


@pytest.mark.parametrize('part', ['observed', 'predicted'])
def test_models_without_a_mean(part):
    cells = make_cells(MODELS, ('b0', 'b1'), ('p', ))
    place = ('m1', 'b1') if part == 'observed' else ('p', 'm1', 'b1')
    getattr(cells, part)[place] = NO_DUMP
    assert found(cells)[1].startswith(
        'No mean, and no rank by it, where a number on one of the benchmarks ')


@pytest.mark.parametrize('n_models, n_families, line', [
    (3, 1, 'too few models to fit to, 3 in 1 family: no family can be left'),
    (20, 1, 'too few families to fit to, 20 in 1 family: no family can be '),
    (8, 4, 'too few models to fit to, 8 in 4 families: intervals are wide,'),
    (20, 2, 'too few families to fit to, 20 in 2 families: with one family '),
    (9, 3, ''),
])  # yapf: disable
def test_what_comes_of_too_few_models(n_models, n_families, line):
    tables = small_tables(n_models, n_families=n_families).only('easy')
    lines = shortage_notes(tables.accuracies, tables.families, tables.models)
    if line:
        assert lines[0].startswith(f'easy: {line}')
        assert ('9 models of 3 families would do, two dozen of several are '
                'better') in lines[0]
    else:
        assert not lines


def test_models_that_were_not_run_do_not_count():
    values = np.full((20, 3), .5)
    values[2:, 1] = values[:, 2] = np.nan
    models = tuple(map(str, range(20)))
    table = AccuracyTable(models, ('all', 'few', 'none'), values, np.zeros(3),
                          np.zeros(3, int))
    families = {model: model[-1] for model in models}
    few, none = shortage_notes(table, families, models)
    assert few.startswith('few: too few models to fit to, 2 in 2 families')
    assert none == ('none: left out, as none of the models to fit to was run '
                    'on it.')


def test_chance_levels_that_cannot_be():
    """All models are clearly below, such as with free answers and 1/4."""
    models = tuple(map(str, range(5)))
    values = np.tile(np.linspace(.1, .2, 5)[:, None], 4)
    values[:, 3] = np.linspace(.1, .3, 5)
    table = AccuracyTable(models, ('wrong', 'noise', 'free', 'above'), values,
                          np.array([.25, .25, 0, .25]),
                          np.array([1000, 50, 1000, 1000]))
    assert chance_notes(table, models) == [
        'wrong: all 5 models to fit to are below its chance level of 25 %, '
        'the best with 20.0 %. Check the chance level: 0 with free answers, '
        '1/k with k options.'
    ]
    # Only the models to fit to count.
    assert [
        note.partition(':')[0] for note in chance_notes(table, models[:3])
    ] == ['wrong', 'above']


def test_without_numbers_of_items_benchmarks_may_be_at_chance():
    models = tuple(map(str, range(5)))
    values = np.tile(np.linspace(.2, .3, 5)[:, None], 3)
    values[:, 2] = np.linspace(.2, .5, 5)
    table = AccuracyTable(models, ('unknown', 'known', 'above'), values,
                          np.full(3, .25), np.array([0, 100, 0]))
    note, = chance_notes(table, models)
    assert note.startswith('unknown: all 5 models to fit to are near its '
                           'chance level of 25 %. Give the number of items')


@pytest.mark.parametrize('best, n_items, words', [
    (.2085, 1000, 'below'), (.2095, 1000, None),
    (.2085, 0, 'below'), (.2095, 0, 'near'),
    (.3415, 0, 'near'), (.3425, 0, None), (.3415, 100, None),
])  # yapf: disable
def test_three_standard_errors_from_the_chance_level_are_told(
        best, n_items, words):
    """Of 1,000 items below it, and of 200 above it, if unknown."""
    values = np.array([[.1], [best], [.15], [np.nan]])
    table = AccuracyTable(MODELS[:4], ('b', ), values, np.array([.25]),
                          np.array([n_items]))
    notes = chance_notes(table, MODELS[:4])
    assert len(notes) == (words is not None)
    assert not notes or notes[0].startswith(
        f'b: all 3 models to fit to are {words} its chance level of 25 %')
    # Two models show nothing.
    assert not chance_notes(table, MODELS[1:4])


@pytest.mark.parametrize('best, named', [
    ([.1, .6, .2, .09, .01], 'm1 (60%), m2 (20%), m0 (10%)'),
    ([.01, .98, .009, 0, .001], 'm1 (98%), m0 (1%)'),
    ([.009, .991, 0, 0, 0], 'm1 (99%)'),
    ([.4, .6, *3 * [np.nan]], 'm1 (60%), m0 (40%)'),
    ([np.nan, 1, *3 * [np.nan]], None),
])
def test_at_most_three_models_are_named_as_perhaps_the_best(best, named):
    cells = make_cells(MODELS[:5], ('b0', 'b1'), ['p'])
    means = Overall.of(cells.board().predictions)
    first, last = np.full((2, 5), 2.)

    def notes(first, last):
        ranks = RankRanges(first, last, np.array(best))
        view = MeanView(first, last, ranks)
        return [*mean_notes(replace(means, views={'p': view}), .9)]

    said = []
    if named:
        said = ['The probability to have the largest mean is largest for '
                f'{named}.']  # yapf: disable
    assert notes(first, last) == said
    last[3] = 3
    assert notes(first, last) == [*said, range_note(.9)]
    # One that is surely the best needs no note.
    first[1] = last[1] = 1
    assert notes(first, last) == [range_note(.9)]


def test_families_that_look_alike():
    names = dict(enumerate(['a', 'b', 'A ', 'a', 'a\u200b']))
    losses = {i: np.array([i]) for i in names}
    note, = family_notes(names, losses)
    assert note.startswith(r"families 'A ' and 'a' and 'a\u200b' differ only")
    assert not family_notes(names, {i: losses[i] for i in (0, 1, 3)})


@pytest.mark.parametrize('name', [
    'll\u0430ma é', 'ｌｌａｍａ é', 'llama e\u0301', 'l\u217cama é',
    'l\u04cfama é'
])  # yapf: disable
def test_names_with_letters_of_other_scripts(name):
    """They are shown by escapes."""
    losses = {'m': np.array([1]), 'n': np.array([2])}
    note, = family_notes({'m': 'llama é', 'n': name}, losses)
    assert ascii(name) in note and ascii('llama é') in note
    assert note.startswith('families ')
    losses = {name: np.array([1]), 'llama é': np.array([2])}
    note, = family_notes(dict.fromkeys(losses, 'f'), losses)
    assert ascii(name) in note and note.startswith('models ')


def test_models_of_several_families():
    families = dict(m='a', n='b', o='a', p='b', q='a')
    losses = dict(
        zip(families, np.array([[1, 2], [1, 3], [1, 2], [1, 2], [0, 3]])))
    note, = family_notes(families, losses)
    assert note.startswith('m, o, p have the same losses but several families')
    assert not family_notes(dict.fromkeys(families, 'a'), losses)
    # Predicted copies of training models are left to `copy_notes`.
    assert not family_notes(families, losses, ('m', 'n', 'o', 'q'))
    note, = family_notes(families, losses, ('m', 'n', 'p'))
    assert note.startswith('m, p have the same losses but several families')
    assert family_notes(families, losses,
                        ('n', )) == family_notes(families, losses)


def test_models_of_one_family_with_the_same_losses():
    families = dict(m='a', n='b', o='a', p='a', q='b')
    losses = dict(
        zip(families, np.array([[1, 2], [1, 3], [1, 2], [0, 3], [1, 3]])))
    note, = twin_notes(families, losses)
    assert note == ('models with exactly the same losses, of which all but '
                    'one may be wrong uploads: m = o; n = q.')
    # Copies of training models are left to `copy_notes`, and models of several
    # families to `family_notes`.
    assert not [*twin_notes(families, losses, ('m', 'n'))]
    assert not [*twin_notes(families | dict(o='b', q='a'), losses)]


def test_copies_of_training_models():
    """Models under their own name, and models with near losses, are none."""
    fitted = dict(m=np.array([1., 2]), n=np.array([1., 3]))
    near = np.array([1, np.nextafter(2, 3)])
    assert not copy_notes(fitted, fitted | dict(o=near))
    found, = copy_notes(fitted, fitted | dict(o=fitted['n'], p=fitted['m']))
    assert found == (
        'copies of training models: o (same losses as n), p (same '
        'losses as m). Errors of a copy say nothing about new '
        'models.')
    found, = copy_notes(fitted, dict(m=near))
    assert found.startswith('named like training models, with other losses: m')
    assert len(copy_notes(fitted, dict(m=fitted['n']))) == 2
    # A single rounded loss may be the same by chance.
    single = {model: losses[:1] for model, losses in fitted.items()}
    assert not copy_notes(single, dict(o=single['n']))
    assert not family_notes(dict(m='a', n='b'), single)


def test_models_outside_the_range_are_told():
    """Where more than half of the predictions of a model are outside."""
    outside = predict(extrapolated=True)
    cells = make_cells(MODELS, ('a', 'b'), ('p', 'q'))
    assert not [*far_notes(cells.board().predictions)]
    for label, benchmark in product('pq', 'ab'):
        cells.predicted[label, 'm0', benchmark] = outside
    cells.predicted['p', 'm1', 'a'] = outside
    board = cells.board()
    note, = far_notes(board.predictions)
    assert note.startswith('p, q: far from the training models (>) on most '
                           'benchmarks, so expect larger errors: m0.')
    assert note in board.notes
    # The only prediction that is left of this model is outside.
    cells.predicted['p', 'm1', 'b'] = NO_DUMP
    first, second = far_notes(cells.board().predictions)
    assert 'errors: m0, m1.' in first
    assert 'errors: m0.' in second


def test_long_lists_say_how_many_names_they_leave_out():
    assert first_names('abcd', most=4) == 'a, b, c, d'
    assert first_names('abcdef', most=4) == 'a, b, c, d and 2 more'
