"""What Jupyter shows of the public types: short tables, all texts escaped."""
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.notebook_tables import MOST_COLUMNS, MOST_ROWS, html_table
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.texts import Text, TextSet

EVIL = '"><script>alert(1)</script>&lt;$x$\u202e'
NAN = float('nan')


class Reader(HTMLParser):
    """The tags, and the cells of each row of the table."""

    def __init__(self, document: str):
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.words = ''
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == 'tr':
            self.rows.append([])
        elif tag in ('td', 'th'):
            self.rows[-1].append('')

    def handle_data(self, data):
        self.words += data
        if self.tags[-1] in ('td', 'th'):
            self.rows[-1][-1] += data.strip('\n')


def predictions(n_models=2, benchmarks=('b', ), **changes):
    shape = (n_models, len(benchmarks), 2)
    parts = dict(
        values=np.full(shape, 0.5),
        low=np.full(shape, 0.31),
        high=np.ones(shape),
        extrapolated=np.zeros(shape, bool),
        in_sample=np.ones(shape, bool),
        real=np.full(shape[:2], 0.29),
        level=0.9,
        chance=dict.fromkeys(benchmarks, 0.25))
    models = (EVIL, *(f'm{m}' for m in range(1, n_models)))
    return Predictions(models, benchmarks, ('p', EVIL), **(parts | changes))


def accuracies(n_models=2, n_benchmarks=2):
    values = np.full((n_models, n_benchmarks), 0.29)
    values[0, 0] = NAN
    names = tuple(map(str, range(n_benchmarks)))
    return AccuracyTable((EVIL, *map(str, range(1, n_models))), names, values,
                         np.full(n_benchmarks, 0.25),
                         np.zeros(n_benchmarks, int))


def losses():
    return LossTable((EVIL, 'm'), ('t', ), np.array([[1, NAN], [2, 4]]),
                     np.array([0, 2]), np.array([3]), np.array([3]), 'f' * 64)


def features():
    columns = Columns((EVIL, 'u'), np.array([0.5, 0.5]), 'f' * 64)
    return FeatureTable((EVIL, ), columns, np.array([[1, 2.5]]))


def test_predictions_are_those_of_the_text_tables():
    reader = Reader(predictions()._repr_html_())
    header, first, second = reader.rows
    assert header[:3] == ['model', 'b: real', 'b: p'] and len(header) == 4
    assert first[1:] == second[1:] == ['29.0', '50.0 (31-100)*'
                                       ] + ['50.0 (31-100)*']
    assert 'Percent (90% interval)' in reader.words


def test_predictions_without_accuracies_show_none():
    table = predictions(real=np.full((2, 1), NAN), level=NAN)
    reader = Reader(table._repr_html_())
    assert len(reader.rows[0]) == 3 and 'Percent (interval)' in reader.words


@pytest.mark.parametrize('table, expected', [
    (accuracies(), [['model', '0', '1'], ['', '-', '29.0'],
                    ['1', '29.0', '29.0']]),
    (losses(), [['model', 'scored tokens', 'nats per token'],
                ['', '1', '1.000'], ['m', '2', '3.000']]),
    (features(), [['model', 'all-token loss', '', 'u'],
                  ['', '1.75', '1', '2.5']]),
    (TextSet((Text(EVIL, 'word ' * 50, 's'), )),
     [['text', 'source', 'characters', 'beginning'],
      ['', 's', '250', f'{"word " * 11}...']]),
])  # yapf: disable
def test_tables(table, expected, monkeypatch):
    """Without pandas."""
    monkeypatch.setitem(sys.modules, 'pandas', None)
    reader = Reader(table._repr_html_())
    shown = [['' if 'alert' in cell else cell for cell in row]
             for row in reader.rows]
    assert shown == expected


@pytest.mark.parametrize('table', [
    predictions(), accuracies(), losses(), features(),
    TextSet((Text(EVIL, EVIL, EVIL), ))
])  # yapf: disable
def test_names_of_strangers_are_text(table):
    document = table._repr_html_()
    reader = Reader(document)
    assert set(reader.tags) == {'div', 'p', 'table', 'tr', 'th', 'td'}
    assert '"><script>alert(1)</script>&lt;$x$⟨U+202E⟩' in reader.words
    assert '\u202e' not in document
    # Jupyter reads dollars as formulas elsewhere.
    assert document.startswith('<div class="tex2jax_ignore mathjax_ignore">')


def test_large_tables_are_cut():
    reader = Reader(accuracies(100, 20)._repr_html_())
    assert len(reader.rows) == 1 + MOST_ROWS
    assert {len(row) for row in reader.rows} == {MOST_COLUMNS + 1}
    assert {row[-1] for row in reader.rows} == {'... 9 more'}
    assert reader.words.endswith('... 70 more rows')


def test_rows_that_are_not_shown_are_not_made():
    rows = ([str(1 // (MOST_ROWS - r))] for r in range(100))
    assert len(Reader(html_table('', ['n'], rows, 100)).rows) == 1 + MOST_ROWS


def test_no_number_is_outside_of_0_to_100():
    rng = np.random.default_rng(0)
    shape = (20, 3, 2)
    ends = rng.choice([0, 1, *rng.random(9)], (3, *shape))
    low, values, high = np.sort(ends, axis=0)
    table = predictions(
        20, ('x', 'y', 'z'), values=values, low=low, high=high,
        real=rng.choice([0, 1, NAN], shape[:2]))  # yapf: disable
    rows = Reader(table._repr_html_()).rows[1:]
    numbers = [
        float(number) for row in rows for cell in row[1:]
        for number in re.findall(r'[\d.]+', cell)
    ]
    assert len(numbers) > 300 and 0 <= min(numbers) and max(numbers) <= 100
