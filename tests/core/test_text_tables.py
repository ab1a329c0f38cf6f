"""Tables that fit on a screen, to the last column of it."""
import math

import pytest

from csv_plugin.core.text_tables import (columns_that_fit, side_by_side,
                                         text_table, wrapped)

#: Three columns of width 5 beside one of width 3.
ROWS = [['run', 'first', 'other', 'third'], ['a', '1', '22', '3'],
        ['b', '4', '5.5', '-']]
COLUMNS = [*zip(*ROWS)]


def test_columns_stand_beside_each_other_as_long_as_they_fit():
    whole = '\n'.join([
        'run  first  other  third',
        '---  -----  -----  -----',
        'a        1     22      3',
        'b        4    5.5      -',
    ])
    assert text_table(ROWS, 24) == text_table(ROWS, math.inf) == whole
    first, second = text_table(ROWS, 23).split('\n\n')
    assert first == '\n'.join(line[:17] for line in whole.splitlines())
    assert second.splitlines() == [
        'run  third',
        '---  -----',
        'a        3',
        'b        -',
    ]
    # A column that is wider than the screen stands in a block of its own.
    assert len(text_table(ROWS, 4).split('\n\n')) == 3
    for width, n_columns in ((24, 4), (23, 3), (17, 3), (3, 1), (2, 0)):
        assert columns_that_fit(COLUMNS, width) == n_columns


@pytest.mark.parametrize('width, n_blocks', [(24, 1), (23, 2), (17, 2),
                                             (16, 3)])
def test_groups_are_divided_only_if_they_are_wider_than_a_block(
        width, n_blocks):
    names = ['', *COLUMNS[0]]
    one, two, three = COLUMNS[1:]
    groups = [[['x', *one], ['', *two]], [['y', *three]]]
    text = side_by_side(names, groups, 2, width)
    blocks = [block.splitlines() for block in text.split('\n\n')]
    assert len(blocks) == n_blocks
    # The rule is below both headers.
    assert all(set(block[2]) == {'-', ' '} for block in blocks)
    upper = [block[0].split() for block in blocks]
    assert upper == {
        1: [['x', 'y']],
        2: [['x'], ['y']],
        3: [['x'], ['x'], ['y']]
    }[n_blocks]


def test_the_middle_of_long_cells_is_left_out():
    """Of those of more than 40 characters, where the screen has a width."""
    forty = 'abcdefghijklmnopqrstuvwxyz0123456789ABCD'
    for width, cell, shown in (
        (100, forty, forty),
        (100, f'{forty}E', 'abcdefghijklmnopqrstuvwx...23456789ABCDE'),
        (math.inf, f'{forty}E', f'{forty}E'),
    ):
        text = text_table([['', 'header'], ['a', cell]], width)
        assert text.splitlines()[-1] == f'a  {shown}'


def test_wide_characters_take_two_places():
    """And those that combine with another take none."""
    rows = [['模型', 'mean'], ['e\u0301', '1.0'], ['abc', '10.0']]
    assert text_table(rows).splitlines() == [
        '模型  mean',
        '----  ----',
        'e\u0301      1.0',
        'abc   10.0',
    ]


def test_notes_are_wrapped_at_the_width():
    note = ' '.join(['12345'] * 40)
    for width, n_words in ((29, 5), (28, 4), (100, 16), (150, 16)):
        first, second, *_ = wrapped([note], width).splitlines()
        assert len(first.split()) == n_words
        assert second.startswith('  1')


def test_words_are_not_divided():
    note = '1234567-9012 and more'
    assert wrapped([note], 9) == '1234567-9012\n  and\n  more'
