"""Tables, notes and paths for the terminal."""
import math
import os
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from unicodedata import combining, east_asian_width

from csv_plugin.core.escaping import markdown, one_line
from csv_plugin.io.files import FilePath

#: Most columns of notes, and of tables that are written to files.
WIDTH = 100


def full_width(wide: bool) -> float:
    """Return the width of tables with or without `--wide`."""
    return math.inf if wide else WIDTH


def side_by_side(names: Sequence[str],
                 groups: Iterable[Sequence[Sequence[str]]],
                 n_headers: int = 1,
                 width: float = WIDTH) -> str:
    """Return columns of a table as text, below each other where too wide.

    Args:
        names (Sequence[str]): The column on the left of each part.
        groups (Iterable): Columns that stay together where they fit.
        n_headers (int): Lines of header that each column begins with.
        width (float): Most characters of a line. The middle of long cells is
            left out if the width is finite and no two cells of the column
            become equal.
    """
    left = _shown(names, width)
    blocks: list[list[list[str]]] = []
    room = 0.0
    for group in groups:
        columns = [_shown(column, width) for column in group]
        parts = [columns]
        if _total(columns) > width - _width(left):
            above = columns[0][:n_headers - 1]
            parts = [[[*above, *column[n_headers - 1:]]] for column in columns]
        for part in parts:
            if _total(part) > room or not blocks:
                blocks.append([left])
                room = width - _width(left)
            blocks[-1] += part
            room -= _total(part)
    return '\n\n'.join(_ruled(block, n_headers) for block in blocks)


def text_table(rows: Sequence[Sequence[str]], width: float = WIDTH) -> str:
    """Return a header and rows as text; see `side_by_side`."""
    names, *columns = zip(*rows)
    return side_by_side(names, ([column] for column in columns), width=width)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a header and rows as a table in Markdown."""
    from tabulate import tabulate
    header, *rest = [list(map(markdown, row)) for row in rows]
    return tabulate(
        rest,
        header,
        tablefmt='pipe',
        colalign=['left', *['right'] * (len(header) - 1)],
        disable_numparse=True)


def _shown(column: Iterable[str], width: float) -> list[str]:
    """The cells, shorter in a finite width if no two become equal."""
    # Longest cell, in characters; the middle of longer ones is left out.
    longest = 40
    cells = list(map(one_line, column))
    short = []
    for cell in cells:
        if len(cell) > longest:
            cell = f'{cell[:longest - 16]}...{cell[-13:]}'
        short.append(cell)
    is_cut = math.isfinite(width) and len(set(short)) == len(set(cells))
    return short if is_cut else cells


def _width(column: Sequence[str]) -> int:
    """Columns of the terminal that the widest cell takes."""
    return max(map(_columns_of, column))


def _columns_of(cell: str) -> int:
    """Columns of the terminal that a text takes."""
    if cell.isascii():
        return len(cell)
    wide = sum(east_asian_width(letter) in 'WF' for letter in cell)
    return len(cell) + wide - sum(map(bool, map(combining, cell)))


def _total(columns: Sequence[Sequence[str]]) -> int:
    """Columns of the terminal that columns take, with two blanks before each.
    """
    return sum(2 + _width(column) for column in columns)


def _ruled(columns: Sequence[Sequence[str]], n_headers: int) -> str:
    """Columns side by side, with a rule below the headers."""
    padded = []
    for k, column in enumerate(columns):
        width = _width(column)
        # Words stand on the left, numbers and marks on the right.
        has_words = any(
            re.match(r'[^\W\d]', cell) for cell in column[n_headers:])
        is_left = k == 0 or has_words
        ruled = [*column[:n_headers], '-' * width, *column[n_headers:]]
        padded.append([_padded(cell, width, is_left) for cell in ruled])
    return '\n'.join('  '.join(row).rstrip() for row in zip(*padded))


def _padded(cell: str, width: int, is_left: bool) -> str:
    """A cell with blanks behind it, or before it unless it `is_left`."""
    blanks = ' ' * (width - _columns_of(cell))
    return cell + blanks if is_left else blanks + cell


def terminal_width() -> int:
    """Return the columns of the terminal, 80 if it is none."""
    return shutil.get_terminal_size((80, 24)).columns


def columns_that_fit(columns: Sequence[Sequence[str]], width: float) -> int:
    """Return how many of the first columns `text_table` fits into a width."""
    room = width + 2
    for n_columns, column in enumerate(columns):
        room -= 2 + _width(_shown(column, width))
        if room < 0:
            return n_columns
    return len(columns)


def next_line(*command: FilePath) -> str:
    """Return the command to type next, in which a `Path` may be relative."""
    words = []
    for word in command:
        is_path = isinstance(word, Path)
        words.append(shown_path(word) if is_path else os.fspath(word))
    return f'Next: {shlex.join(words)}'


def wrapped(notes: Iterable[str], width: int = WIDTH) -> str:
    """Return notes in lines of at most `WIDTH`; they go on with an indent."""
    wrapper = textwrap.TextWrapper(
        min(width, WIDTH),
        subsequent_indent='  ',
        break_long_words=False,
        break_on_hyphens=False)
    return '\n'.join(wrapper.fill(one_line(note)) for note in notes)


def shown_path(path: FilePath) -> str:
    """Return a path, relative to the working folder if it lies inside."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    inside = whole.is_relative_to(here)
    return one_line(str(whole.relative_to(here) if inside else whole))
