"""Rows of CSV files, with the line numbers that errors name."""
import csv
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import from_csv_cell
from csv_plugin.io.files import FilePath, read_text

#: A number in ASCII digits; `float` would also take 1_000, nan and ３.
_NUMBER = re.compile(r'[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?')
#: What someone may have meant for a number: digits and marks around them.
_MEANT = re.compile(r"[-+.,'\s_eE\d]*\d[-+.,'\s_eE\d]*")
#: What a spreadsheet may have made of one.
_DATE_OF_NUMBER = re.compile(r'[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}')
#: All characters of numbers.
_ONLY_NUMBERS = re.compile(r'[-+.0-9eE]*')
#: What spreadsheets make of names such as 3-8.
_DATE = re.compile(r'\d{4}-\d\d-\d\d( [\d:.]+)?|\d{1,2}/\d{1,2}/\d{2,4}|'
                   r'\d{1,2}-[A-Z][a-z]{2}(-\d{2,4})?|[A-Z][a-z]{2}-\d{2}')


def decimal(text: str) -> float:
    """The number that a text is in full, NaN if it is none.

    >>> decimal('-2.5e1'), decimal('1_000'), decimal('inf')
    (-25.0, nan, nan)
    """
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def decimals(texts: Sequence[str]) -> list[float]:
    """The numbers that texts are in full, NaN for those that are none.

    >>> decimals(['1', '.5', '1_000'])
    [1.0, 0.5, nan]
    """
    try:
        # With these characters, `float` takes what `decimal` takes.
        if _ONLY_NUMBERS.fullmatch(''.join(texts)):
            return list(map(float, texts))
    except ValueError:
        pass
    return list(map(decimal, texts))


def remedy_of(cell: str, absent: str) -> str:
    """What to do about a cell that is no finite number.

    Args:
        cell (str): Its text.
        absent (str): What to do where there is no number at all.

    >>> remedy_of('0,25', ''), remedy_of('n/a', 'Leave it empty.')
    ('Write it with a decimal point, such as 0.25.', 'Leave it empty.')
    """
    if cell.endswith('%'):
        return 'Divide percentages by 100, and write no sign behind them.'
    if _DATE_OF_NUMBER.fullmatch(cell):
        return ('A spreadsheet may have made a date of a number: import the '
                'column as text, and write the number.')
    if _MEANT.fullmatch(cell):
        return 'Write it with a decimal point, such as 0.25.'
    return absent


def marked(name: str) -> str:
    """A name for errors, with a word on a mark that nobody sees.

    Files that were joined have byte order marks inside.

    >>> marked('a'), marked('\\ufeffa')
    ("'a'", "'\\\\ufeffa', which begins with a byte order mark, invisible")
    """
    mark = ', which begins with a byte order mark, invisible'
    return repr(name) + (mark if name.startswith('\ufeff') else '')


def date_hint(names: Iterable[str]) -> str:
    """What to add to an error about names if one of them looks like a date.

    >>> date_hint(['3-8B', '8-Mar'])
    " A spreadsheet may have taken a name for a date: '8-Mar'."
    >>> date_hint(['3-8B', 'gpt-4o-2024-05-13'])
    ''
    """
    dates = [name for name in names if _DATE.fullmatch(name)]
    return (f' A spreadsheet may have taken a name for a date: {dates[0]!r}.'
            if dates else '')


@dataclass(frozen=True)
class CsvRow:
    """One row of a CSV file.

    Args:
        path (str): The file.
        line (int): Line on which the row begins; the file's first is 1.
        cells (Mapping[str, str]): Text of each column, without spaces
            around it.
    """
    path: str
    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """The text of a cell that must not be empty.

        Args:
            column (str): A column of the file.

        Returns:
            str: At least one character.

        Raises:
            InputError: The cell is empty.
        """
        if not self.cells[column]:
            raise self.error(column, 'some text', 'Fill the cell in.')
        return self.cells[column]

    def number(self, column: str) -> float:
        """The finite number in a cell.

        Args:
            column (str): A column of the file.

        Returns:
            float: Neither NaN nor infinite.

        Raises:
            InputError: The cell is empty or no finite number.
        """
        number = decimal(self.cells[column])
        if not math.isfinite(number):
            raise self.error(
                column, 'a finite number',
                remedy_of(self.cells[column], 'Write a number there.'))
        return number

    def error(self, column: str, expected: str, remedy: str) -> InputError:
        """The error to raise for a cell that cannot be used.

        Args:
            column (str): The cell's column.
            expected (str): What the cell should hold.
            remedy (str): What the user can do about it, one sentence.

        Returns:
            InputError: With the file, the line, the column and the content
            of the cell.
        """
        cell = self.cells[column]
        return InputError(f'{self.path}, line {self.line}, column {column!r}',
                          expected,
                          repr(cell) if cell else 'an empty cell', remedy)


def read_rows(path: FilePath, columns: Sequence[str]) -> list[CsvRow]:
    """All rows of a CSV file; arguments and errors as in `each_row`."""
    return list(each_row(path, columns))


def each_row(path: FilePath, columns: Sequence[str]) -> Iterator[CsvRow]:
    """Read a CSV file with a header, at least one row, and a key column.

    The file is UTF-8, with or without a byte order mark. Blank lines are
    skipped.

    Args:
        path (FilePath): The file.
        columns (Sequence[str]): Columns that the file must have, in any
            order; it may have more. The first of them is the key, which
            must be filled in and differ from row to row.

    Yields:
        CsvRow: Each row below the header.

    Raises:
        InputError: The file cannot be read or decoded, has no rows or lacks
            a column; the header leaves a column without a name or gives two
            columns the same name; or a row is shorter or longer than the
            header, repeats an earlier key or leaves it empty.
    """
    file = os.fspath(path)
    records = _records(file)
    line, header = next(records, (0, []))
    if line != 1:
        raise InputError(f'{file}, line 1', 'the header', 'an empty line',
                         f'Name the columns there: {", ".join(columns)}.')
    _check_header(file, header, columns)
    first_line: dict[str, int] = {}
    for line, cells in records:
        row = _row(file, line, header, cells)
        _check_key(row, columns[0], first_line)
        yield row
    if not first_line:
        raise InputError(f'{file}, line 2', 'a row', 'the end of the file',
                         f'Add one row per {columns[0]} below the header.')


def _records(file: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and stripped cells of every record that is not blank."""
    text = read_text(file)
    has_escapes = "'" in text  # seldom, and tables may have millions of cells
    reader = csv.reader(io.StringIO(text, newline=''), strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                cells = [cell.strip() for cell in cells]
                yield line, (
                    list(map(from_csv_cell, cells)) if has_escapes else cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f'{file}, line {line}', 'comma-separated cells', str(error),
            'Close every quotation mark; double those inside a cell.'
        ) from error


def _check_header(file: str, header: list[str],
                  required: Sequence[str]) -> None:
    for column in required:
        if column not in header:
            raise InputError(
                f'{file}, line 1', f'a column {column!r}',
                f'none in the header {marked(",".join(header)[:80])}',
                f'Column {header.index("") + 1} has no name: is it this one?'
                if '' in header else
                'Add or rename it, and separate columns by commas.')
    names = {''}
    for position, column in enumerate(header, start=1):
        if column in names:
            raise InputError(f'{file}, line 1, column {position}',
                             'a name that no earlier column has',
                             repr(column) if column else 'an empty cell',
                             'Rename or remove the column.')
        names.add(column)


def _row(file: str, line: int, header: list[str], cells: list[str]) -> CsvRow:
    n_cells, n_columns = len(cells), len(header)
    if n_cells != n_columns:
        detail = (f'no cell for column {header[n_cells]!r}' if n_cells
                  < n_columns else f'no column for cell {cells[n_columns]!r}')
        raise InputError(
            f'{file}, line {line}', f'{n_columns} cells, as in the header',
            f'{n_cells} cells, {detail}',
            'Leave no cell out and quote cells that contain commas.')
    return CsvRow(file, line, dict(zip(header, cells)))


def _check_key(row: CsvRow, key: str, first_line: dict[str, int]) -> None:
    line = first_line.setdefault(row.text(key), row.line)
    if line != row.line:
        raise row.error(
            key, f'a {key} that no earlier line has',
            f'Line {line} has it too: remove one of the two rows.')
