"""Tables and notes as text for a screen.

A table is a list of columns, and a column is a list of cells, the header
first; only `text_table` takes rows. If not all columns fit beside each other,
the table is split into blocks below each other, and each block begins with the
first column again. Widths are in columns of the screen: most characters take
one, wide characters, such as Chinese ones, take two.
"""
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from unicodedata import combining, east_asian_width

from csv_plugin.core.escaping import one_line

#: Maximum width of lines of notes, and of tables in files.
WIDTH = 100
#: Text between two columns of a table.
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
        groups (Iterable): Groups of further columns. The columns of a group
            are in the same block if they fit.
        n_headers (int): Number of header cells at the top of each column.
        width (float): Maximum width of a line. If it is finite, the middle of
            long cells is left out, unless two cells of the column would become
            equal.
    """
    shown_names = _cells_that_fit(names, width)
    shown_groups = []
    for group in groups:
        shown = [_cells_that_fit(column, width) for column in group]
        shown_groups.append(shown)
    blocks = blocks_that_fit(shown_names, shown_groups, n_headers, width)
    texts = [_aligned(block, n_headers) for block in blocks]
    return '\n\n'.join(texts)


def blocks_that_fit(names: Column, groups: Iterable[Sequence[Column]],
                    n_headers: int, width: float) -> list[list[Column]]:
    """Return the columns of each block of a table.

    Arguments are as in `side_by_side`. A group that is wider than a block is
    split into its columns. Each of them then gets all headers but the last
    from the first column of the group.
    """
    room_of_block = width - _width(names)
    blocks: list[list[Column]] = []
    room = 0.0
    for group in groups:
        parts: list[Sequence[Column]] = [group]
        if _total_width(group) > room_of_block:
            n_upper = n_headers - 1
            upper = group[0][:n_upper]
            parts = []
            for column in group:
                lower = column[n_upper:]
                parts.append([[*upper, *lower]])
        for part in parts:
            part_width = _total_width(part)
            if part_width > room or not blocks:
                blocks.append([names])
                room = room_of_block
            blocks[-1].extend(part)
            room -= part_width
    return blocks


def wrapped(notes: Iterable[str], width: float = WIDTH) -> str:
    """Return notes as text, wrapped into lines.

    Lines are at most `width` and at most `WIDTH` wide, unless a single word is
    wider. All lines of a note but the first are indented.
    """
    wrapper = textwrap.TextWrapper(
        int(min(width, WIDTH)),
        subsequent_indent='  ',
        break_long_words=False,
        break_on_hyphens=False)
    filled = [wrapper.fill(one_line(note)) for note in notes]
    return '\n'.join(filled)


def columns_that_fit(columns: Sequence[Column], width: float) -> int:
    """Return how many columns, from the first on, fit beside each other.

    The columns are shown by `text_table` on a screen of this width.
    """
    room = width + len(_GAP)
    for n_columns, column in enumerate(columns):
        shown = _cells_that_fit(column, width)
        room -= len(_GAP) + _width(shown)
        if room < 0:
            return n_columns
    return len(columns)


def _cells_that_fit(column: Column, width: float) -> list[str]:
    """Return cells as they are shown in a table of this width.

    If the width is finite, the middle of long cells is left out, unless two
    cells would become equal.
    """
    # Maximum length of a cell in characters, and the numbers of its first and
    # last characters that are kept.
    longest = 40
    n_last = 13
    n_first = longest - n_last - len('...')
    cells = [one_line(cell) for cell in column]
    if not math.isfinite(width):
        return cells
    short = []
    for cell in cells:
        if len(cell) > longest:
            cell = f'{cell[:n_first]}...{cell[-n_last:]}'
        short.append(cell)
    if len({*short}) < len({*cells}):
        return cells
    return short


def _width(column: Column) -> int:
    """Return the width of the widest cell."""
    widths = [_screen_width(cell) for cell in column]
    return max(widths)


def _screen_width(cell: str) -> int:
    """Return the width of a text on the screen."""
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
    """Return the width of columns, with a gap before each."""
    total = 0
    for column in columns:
        total += len(_GAP) + _width(column)
    return total


def _aligned(columns: Sequence[Column], n_headers: int) -> str:
    """Return columns side by side as text, with a rule below the headers."""
    padded = []
    for k, column in enumerate(columns):
        width = _width(column)
        headers = column[:n_headers]
        cells = column[n_headers:]
        # Words are aligned on the left, numbers and marks on the right.
        is_left = k == 0 or _has_words(cells)
        rule = '-' * width
        ruled = [*headers, rule, *cells]
        padded.append([_padded(cell, width, is_left) for cell in ruled])
    lines = []
    for row in zip(*padded):
        line = _GAP.join(row)
        lines.append(line.rstrip())
    return '\n'.join(lines)


def _has_words(cells: Sequence[str]) -> bool:
    """Return True if at least one cell begins with a letter."""
    for cell in cells:
        if re.match(r'[^\W\d]', cell):
            return True
    return False


def _padded(cell: str, width: int, is_left: bool) -> str:
    """Return a cell with blanks, up to a width on the screen.

    Blanks are after the cell if `is_left` is True, and before it otherwise.
    """
    n_blanks = width - _screen_width(cell)
    blanks = ' ' * n_blanks
    if is_left:
        return cell + blanks
    return blanks + cell
