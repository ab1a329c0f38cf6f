"""Tables and notes for a screen.

A table is a list of columns, and a column is a list of cells, the header
first; only `text_table` takes rows. Columns that do not fit beside each other
follow in blocks below, each of which begins with the first column again.
Widths are in places of the screen: most letters take one, wide ones two.
"""
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from unicodedata import combining, east_asian_width

from csv_plugin.core.escaping import one_line

#: Widest lines of notes, and of tables in files.
WIDTH = 100
#: Between two columns.
_GAP = '  '

Column = Sequence[str]


def text_table(rows: Sequence[Sequence[str]], width: float = WIDTH) -> str:
    """Return a header and rows as text; see `side_by_side`."""
    names, *columns = zip(*rows)
    groups = [[column] for column in columns]
    return side_by_side(names, groups, width=width)


def side_by_side(names: Column,
                 groups: Iterable[Sequence[Column]],
                 n_headers: int = 1,
                 width: float = WIDTH) -> str:
    """Return columns of a table as text, in blocks where it is too wide.

    Args:
        names (Sequence[str]): The first column of each block.
        groups (Iterable): Columns that stay together where they fit.
        n_headers (int): Lines of header that each column begins with.
        width (float): Most characters of a line. The middle of long cells is
            left out if the width is finite and no two cells of the column
            become equal.
    """
    shown_groups = []
    for group in groups:
        shown_groups.append([_shown(column, width) for column in group])
    blocks = blocks_that_fit(
        _shown(names, width), shown_groups, n_headers, width)
    texts = []
    for block in blocks:
        texts.append(_aligned(block, n_headers))
    return '\n\n'.join(texts)


def blocks_that_fit(names: Column, groups: Iterable[Sequence[Column]],
                    n_headers: int, width: float) -> list[list[Column]]:
    """Return the columns of each block of a table; args as `side_by_side`.

    A group that is wider than a block is divided. Each of its columns then has
    the upper headers of the first one.
    """
    room_of_block = width - _width(names)
    blocks: list[list[Column]] = []
    room = 0.0
    for group in groups:
        parts: list[Sequence[Column]] = [group]
        if _total_width(group) > room_of_block:
            upper = [*group[0][:n_headers - 1]]
            parts = []
            for column in group:
                parts.append([[*upper, *column[n_headers - 1:]]])
        for part in parts:
            part_width = _total_width(part)
            if part_width > room or not blocks:
                blocks.append([names])
                room = room_of_block
            blocks[-1].extend(part)
            room -= part_width
    return blocks


def wrapped(notes: Iterable[str], width: int = WIDTH) -> str:
    """Return notes in lines of at most `width` and at most `WIDTH`.

    Later lines of a note have an indent.
    """
    wrapper = textwrap.TextWrapper(
        min(width, WIDTH),
        subsequent_indent='  ',
        break_long_words=False,
        break_on_hyphens=False)
    filled = [wrapper.fill(one_line(note)) for note in notes]
    return '\n'.join(filled)


def columns_that_fit(columns: Sequence[Column], width: float) -> int:
    """Return how many of the first columns `text_table` fits into a width."""
    room = width + len(_GAP)
    for n_columns, column in enumerate(columns):
        room -= len(_GAP) + _width(_shown(column, width))
        if room < 0:
            return n_columns
    return len(columns)


def _shown(column: Column, width: float) -> list[str]:
    """The cells, shorter in a finite width if no two become equal."""
    # Longest cell, in characters; the middle of longer ones is left out.
    longest, n_last = 40, 13
    cells = [one_line(cell) for cell in column]
    if not math.isfinite(width):
        return cells
    short = []
    for cell in cells:
        if len(cell) > longest:
            n_first = longest - n_last - len('...')
            cell = f'{cell[:n_first]}...{cell[-n_last:]}'
        short.append(cell)
    are_different = len(set(short)) == len(set(cells))
    return short if are_different else cells


def _width(column: Column) -> int:
    """Width of the widest cell."""
    widths = [_screen_width(cell) for cell in column]
    return max(widths)


def _screen_width(cell: str) -> int:
    """Places of the screen that a text takes."""
    if cell.isascii():
        return len(cell)
    n_places = 0
    for letter in cell:
        if combining(letter):
            continue
        is_wide = east_asian_width(letter) in 'WF'
        n_places += 2 if is_wide else 1
    return n_places


def _total_width(columns: Sequence[Column]) -> int:
    """Width of columns, with a gap before each."""
    total = 0
    for column in columns:
        total += len(_GAP) + _width(column)
    return total


def _aligned(columns: Sequence[Column], n_headers: int) -> str:
    """Columns side by side, with a rule below the headers."""
    padded = []
    for k, column in enumerate(columns):
        width = _width(column)
        headers, cells = column[:n_headers], column[n_headers:]
        # Words stand on the left, numbers and marks on the right.
        is_left = k == 0 or _has_words(cells)
        ruled = [*headers, '-' * width, *cells]
        padded.append([_padded(cell, width, is_left) for cell in ruled])
    lines = []
    for row in zip(*padded):
        line = _GAP.join(row)
        lines.append(line.rstrip())
    return '\n'.join(lines)


def _has_words(cells: Sequence[str]) -> bool:
    """True if a cell begins with a letter."""
    for cell in cells:
        if re.match(r'[^\W\d]', cell):
            return True
    return False


def _padded(cell: str, width: int, is_left: bool) -> str:
    """A cell with blanks behind it, or before it unless it `is_left`."""
    blanks = ' ' * (width - _screen_width(cell))
    return cell + blanks if is_left else blanks + cell
