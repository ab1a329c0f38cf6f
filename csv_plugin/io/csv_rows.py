"""Rows of CSV files, with the line numbers that errors name."""
import csv
import io
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import from_csv_cell
from csv_plugin.io.files import FilePath, read_text

#: A number in ASCII digits; `float` would also take 1_000, nan and ３.
_NUMBER = re.compile(r'[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?')
#: All characters of numbers.
_ONLY_NUMBERS = re.compile(r'[-+.0-9eE]*')


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
            raise self.error(column, 'a finite number',
                             'Write a number there, such as 0.25.')
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
    """Read a CSV file with a header, at least one row, and a key column.

    The file is UTF-8, with or without a byte order mark. Blank lines are
    skipped.

    Args:
        path (FilePath): The file.
        columns (Sequence[str]): Columns that the file must have, in any
            order; it may have more. The first of them is the key, which
            must be filled in and differ from row to row.

    Returns:
        list[CsvRow]: Each row below the header.

    Raises:
        InputError: The file cannot be read or decoded, has no rows or lacks
            a column; the header leaves a column without a name or gives two
            columns the same name; or a row is shorter or longer than the
            header, repeats an earlier key or leaves it empty.
    """
    file = os.fspath(path)
    (_, header), *records = list(_records(file)) or [(0, [])]
    for column in columns:
        if column not in header:
            raise InputError(f'{file}, header', f'a column {column!r}',
                             repr(','.join(header)[:80]),
                             'Add it, and separate columns by commas.')
    if '' in header:
        raise InputError(f'{file}, header', 'a name for every column',
                         f'none for column {header.index("") + 1}',
                         'Name the column, or remove it.')
    check_unique(f'{file}, header', header)
    if not records:
        raise InputError(file, 'a row', 'none',
                         f'Add one row per {columns[0]} below the header.')
    first_line: dict[str, int] = {}
    rows = []
    for line, cells in records:
        if len(cells) != len(header):
            raise InputError(
                f'{file}, line {line}',
                f'{len(header)} cells, as in the header', str(len(cells)),
                'Leave no cell out and quote cells that contain commas.')
        row = CsvRow(file, line, dict(zip(header, cells)))
        earlier = first_line.setdefault(row.text(columns[0]), line)
        if earlier != line:
            raise row.error(
                columns[0], f'a {columns[0]} that no earlier line has',
                f'Line {earlier} has it too: remove one of the two rows.')
        rows.append(row)
    return rows


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
