"""No table, page or picture shows a number outside of 0 to 100 percent.

Nor an interval in any other form than from low to high: half of a width says
nothing where an end is at 0 or 100.
"""
import re
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.predictions import REAL, Missing, Predictions
from csv_plugin.core.study import outliers
from csv_plugin.extras.page.rendering import render
from csv_plugin.report.leaderboards import Leaderboard, as_markdown, as_text
from tests.extras.page.pages import make_page

NAN = float('nan')
MODELS, BENCHMARKS, METHODS = ('ma', 'mb', 'mc'), ('x', 'y'), ('p', 'q')
SHAPE = len(MODELS), len(BENCHMARKS), len(METHODS)
#: The ends, what is rounded to them, what is not, and what a sum misses.
FRACTIONS = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9, 0.29, 0.999, 0.1 + 0.2]),
    st.floats(0, 1))
CELL = st.none() | st.tuples(FRACTIONS, FRACTIONS, FRACTIONS, st.booleans(),
                             st.booleans())
NUMBER = r'(?:100\.0|\d?\d\.\d)'
PERCENT = re.compile(rf'-|{NUMBER}\*?|[1-3]|{NUMBER} '
                     r'\((?:any|\d+-\d+)\)\*?>?')
DIFFERENCE = re.compile(rf'-?|[+-]{NUMBER}|{NUMBER}')


@st.composite
def tables(draw) -> Predictions:
    cells = draw(st.lists(CELL, min_size=12, max_size=12))
    real = draw(
        st.lists(st.none() | FRACTIONS, min_size=6, max_size=6)
        | st.just([None] * 6))
    cubes = np.full((5, 12), NAN)
    cubes[3:] = 0
    missing = {}
    for i, (place, cell) in enumerate(
            zip(product(MODELS, BENCHMARKS, METHODS), cells)):
        if cell is None:
            missing[place] = Missing('no dump')
        else:
            low, value, high = sorted(cell[:3])
            cubes[:, i] = value, low, high, *cell[3:]
    for place, accuracy in zip(product(MODELS, BENCHMARKS), real):
        if accuracy is None:
            missing[(*place, REAL)] = Missing('not run')
    values, low, high = (cube.reshape(SHAPE) for cube in cubes[:3])
    extrapolated, in_sample = (
        cube.reshape(SHAPE).astype(bool) for cube in cubes[3:])
    return Predictions(
        MODELS, BENCHMARKS, METHODS, values, low, high, extrapolated,
        in_sample,
        np.array(real, float).reshape(SHAPE[:2]), 0.9, missing,
        dict(zip(BENCHMARKS, draw(st.tuples(FRACTIONS, st.just(0.0))))))


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
@given(tables())
def test_tables(table):
    board = Leaderboard.of(table, {m: m for m in MODELS}, ())
    lines = as_markdown(board).splitlines()
    header, _, *rows = ([cell.strip() for cell in line.split('|')[2:-1]]
                        for line in lines)
    check_cells(header, rows)
    assert not re.search(r'\+-|\+/-|±|nan', as_text(board))
    for row in board.rows():
        for name in ('real', 'predicted', 'low', 'high'):
            assert row[name] is None or 0 <= row[name] <= 100


@settings(max_examples=6, deadline=None)
@given(tables())
def test_page(table):
    board = Leaderboard.of(table, {m: m for m in MODELS}, ())
    html = render(make_page(board, outliers=outliers(table)))
    body = html[html.index('<main>'):]
    assert not re.search(r'\+-|\+/-|±|\bnan', body)
    for number in re.findall(rf'>({NUMBER})[ <]', body):
        assert 0 <= float(number) <= 100
    for first, last in re.findall(r'\((\d+)–(\d+)\)', body):
        assert 0 <= int(first) <= int(last) <= 100
    strips = re.findall(r'd="M([-\d.]+) 4H([-\d.]+)"/><path class="stroke" '
                        r'd="M([-\d.]+) ', body)  # yapf: disable
    assert len(strips) == body.count('<svg class="strip"')
    for low, high, value in (map(float, strip) for strip in strips):
        assert 0 <= low <= value <= high <= 100
