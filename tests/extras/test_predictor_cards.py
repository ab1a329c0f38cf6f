"""Cards of predictors: all from the file."""
from dataclasses import replace

import csv_plugin as cp
from csv_plugin.core.held_out_errors import ERROR_LEGEND
from csv_plugin.extras.predictor_cards import predictor_card
from tests.tables import small_tables


def row(card, name):
    line, = [
        line for line in card.splitlines() if line.startswith(f'| {name} ')
    ]
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_a_card_says_what_the_file_holds():
    tables = small_tables()
    families = dict(zip(tables.accuracies.models, tables.groups))
    predictor = cp.fit(tables.features, tables.accuracies, families, 'ridge')
    predictor = replace(
        predictor, licences={
            'ceval': 'CC BY-NC-SA 4.0',
            '': 'MIT'
        })
    card = predictor_card('a', predictor)
    assert card.startswith('# a\n\nPredicts accuracies on easy, hard')
    assert 'losses on 4 units of a table' in card
    assert row(card, 'fitted to')[1] == '15 models'
    assert row(card, 'families')[1].startswith('family-0, family-1')
    assert row(card, 'method')[1] == 'constant, ridge'
    assert cp.__version__ in row(card, 'versions')[1]
    assert row(card, 'texts')[1] == (
        'ceval under CC BY-NC-SA 4.0, which forbids commercial use; texts '
        'under MIT')
    part = predictor.benchmark('easy')
    family = part.families[0]
    lowest = min(f.lowest for f in part.families)
    highest = max(f.highest for f in part.families)
    assert row(card, 'easy')[1] == f'{100 * part.chance:.1f}'
    assert row(card, 'easy')[4] == (f'{100 * lowest:.0f}-{100 * highest:.0f}')
    assert tuple(row(card, 'easy')[-5:]) == part.error_cells
    assert ERROR_LEGEND in card
    assert row(card, family.family)[1:3] == [
        str(family.n_models),
        f'{100 * family.error:.1f} ({100 * family.bias:+.1f})'
    ]
    # Benchmarks that no model of a family was run on.
    assert '-' in row(card, predictor.benchmarks[0].families[-1].family)
