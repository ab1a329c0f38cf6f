"""Cards of predictors: all from the file, and nothing but text."""
from dataclasses import replace

import pytest

import csv_plugin as cp
from csv_plugin.core.held_out_families import HeldOutFamily
from csv_plugin.core.stated_errors import STATED_LEGEND
from csv_plugin.demo import shipped
from tests.tables import small_tables


@pytest.fixture(scope='module')
def predictor():
    tables = small_tables()
    families = dict(zip(tables.accuracies.models, tables.groups))
    return cp.fit(tables.features, tables.accuracies, families, 'ridge')


def row(card, name):
    line, = [
        line for line in card.splitlines() if line.startswith(f'| {name} ')
    ]
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_a_card_says_what_the_file_holds(predictor, tmp_path):
    cp.save(predictor, tmp_path / 'a.safetensors')
    card = cp.predictor_card('a', cp.load(tmp_path / 'a.safetensors'))
    assert card.startswith('# a\n\nPredicts accuracies on easy, hard')
    assert 'losses on 4 units of a table' in card
    assert row(card, 'fitted to')[1] == '15 models'
    assert row(card, 'families')[1].startswith('family-0, family-1')
    assert cp.__version__ in row(card, 'versions')[1]
    assert row(card, 'texts')[1] == 'licence not recorded'
    part = predictor.benchmark('easy')
    family = part.families[0]
    lowest = min(f.lowest for f in part.families)
    assert row(card, 'easy')[4].startswith(f'{int(100 * lowest)}-')
    assert tuple(row(card, 'easy')[-5:]) == part.stated_cells
    assert STATED_LEGEND in card
    assert row(card, family.family)[2] == (
        f'{100 * family.error:.1f} ({100 * family.bias:+.1f})')
    # Benchmarks that no model of a family was run on.
    assert '-' in row(card, predictor.benchmarks[0].families[-1].family)


def test_a_family_that_no_other_could_predict():
    tables = small_tables(n_families=1).only('easy')
    alone = cp.fit(tables.features, tables.accuracies, tables.families)
    assert row(cp.predictor_card('a', alone),
               'family-0') == ['family-0', '15', '-']


def test_accuracies_from_nothing_to_all_are_a_range(predictor):
    part = predictor.benchmark('easy')
    wide = replace(part.families[0], lowest=0.002, highest=0.995)
    part = replace(part, families=(wide, *part.families[1:]))
    card = cp.predictor_card(
        'a', replace(predictor, benchmarks=(part, ), partial_scores=None))
    assert row(card, 'easy')[4] == '0-100'


def test_a_file_of_an_earlier_version_has_a_card():
    predictor = cp.load(shipped.PREDICTOR)
    before = tuple(
        replace(part, families=(), errors_by_reach=None)
        for part in predictor.benchmarks)
    card = cp.predictor_card('demo', replace(predictor, benchmarks=before))
    assert '250 texts (ce4e749ad947)' in card
    assert row(card, 'families')[1] == 'not recorded'
    assert 'Errors by family' not in card
    assert row(card, 'census')[1:5] == ['25.0', '240', '172', 'not recorded']
    assert row(card, 'census')[-3:] == ['-', '-', '-']


def test_names_are_text(predictor):
    part = predictor.benchmark('easy')
    hostile = '[x](http://a.b)|<b>\n# y'
    family = HeldOutFamily(hostile, 1, .1, .2, 0., 0.)
    named = replace(
        predictor,
        benchmarks=(replace(part, benchmark=hostile, families=(family, )), ),
        licences={hostile: hostile},
        scoring_lm=hostile,
        partial_scores=None)
    card = cp.predictor_card(hostile, named)
    assert '<b>' not in card and '\n# y' not in card
    assert card.count('[x]') == card.count('\\[x]') > 4


def test_licences_stand_on_the_card(predictor):
    licences = {'ceval': 'CC BY-NC-SA 4.0', '': 'MIT'}
    card = cp.predictor_card('a', replace(predictor, licences=licences))
    assert row(card, 'texts')[1] == (
        'ceval under CC BY-NC-SA 4.0, which forbids commercial use; texts '
        'under MIT')
