"""No table, page or picture shows a number outside of 0 to 100 percent.

Nor an interval in any other form than from low to high: half of a width says
nothing where an end is at 0 or 100.
"""
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.predictions import Prediction, misses
from csv_plugin.extras.page.rendering import render
from csv_plugin.report.leaderboard_tables import as_markdown, as_text
from csv_plugin.report.leaderboards import Leaderboard
from tests.extras.page.pages import make_page
from tests.report.boards import NO_DUMP, make_cells

MODELS, BENCHMARKS, METHODS = ('ma', 'mb', 'mc'), ('x', 'y'), ('p', 'q')
#: The ends, what is rounded to them, what is not, and what a sum misses.
FRACTIONS = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9, 0.29, 0.999, 0.1 + 0.2]),
    st.floats(0, 1))
CELL = st.none() | st.tuples(FRACTIONS, FRACTIONS, FRACTIONS, st.booleans(),
                             st.booleans())
NUMBER = r'(?:100\.0|\d?\d\.\d)'
PERCENT = re.compile(rf'-|{NUMBER}\*?|[1-3]|{NUMBER} '
                     r'\((?:any|\d+-\d+)\)\*?>?~?')
DIFFERENCE = re.compile(rf'-?|[+-]{NUMBER}|{NUMBER}')


@st.composite
def boards(draw) -> Leaderboard:
    cells = make_cells(MODELS, BENCHMARKS, METHODS)
    for place in cells.predicted:
        cell = draw(CELL)
        if cell is None:
            cells.predicted[place] = NO_DUMP
        else:
            low, value, high = sorted(cell[:3])
            cells.predicted[place] = Prediction(value, low, high, 0.9,
                                                *cell[3:])
    known = draw(st.booleans())
    for pair in cells.observed:
        accuracy = draw(st.none() | FRACTIONS) if known else None
        cells.observed[pair] = NO_DUMP if accuracy is None else accuracy
    return cells.board()


def check_cells(header, rows):
    assert rows
    for name, *cells in zip(header, *rows):
        # Only what stands beside predictions may have a sign.
        is_beside = name.endswith('diff')
        shape = DIFFERENCE if is_beside else PERCENT
        for cell in cells:
            assert shape.fullmatch(cell) or cell == '', (name, cell)
            for ends in re.findall(r'(\d+)-(\d+)', cell):
                assert 0 <= int(ends[0]) <= int(ends[1]) <= 100


@settings(max_examples=20, deadline=None)
@given(boards())
def test_tables(board):
    for table in as_markdown(board).split('\n\n'):
        header, _, *rows = ([cell.strip() for cell in line.split('|')[2:-1]]
                            for line in table.splitlines())
        check_cells(header, rows)
    assert not re.search(r'\+-|\+/-|±|nan', as_text(board))
    for row in board.rows():
        for name in ('observed', 'predicted', 'low', 'high'):
            assert row[name] is None or 0 <= row[name] <= 100


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(boards())
def test_page(board):
    html = render(make_page(board, misses=misses(board.predictions)))
    body = html[html.index('<main>'):]
    assert not re.search(r'\+-|\+/-|±|\bnan', body)
    for number in re.findall(rf'>({NUMBER})[ <]', body):
        assert 0 <= float(number) <= 100
    for first, last in re.findall(r'\((\d+)–(\d+)\)', body):
        assert 0 <= int(first) <= int(last) <= 100
    strips = re.findall(r'<svg class="strip" viewBox="-3 0 (\d+) 8".*?</svg>',
                        body, re.S)
    assert len(strips) == body.count('<svg class="strip"')
    for strip in re.finditer(
            r'viewBox="-3 0 (\d+) 8"(?:(?!</svg>).)*?d="M([-\d.]+) 4H([-\d.]+)'
            r'"/>(?:<path class="stroke" d="M([-\d.]+) )?', body, re.S):
        width, low, high, value = strip.groups()
        if value is not None:
            assert 0 <= float(low) <= float(value) <= float(high)
        assert 0 <= float(low) <= float(high) <= int(width) - 6
