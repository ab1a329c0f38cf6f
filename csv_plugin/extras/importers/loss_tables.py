"""Losses of one model on texts, from a CSV or Parquet table."""
import math
import os
from collections.abc import Callable, Collection, Iterator

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.json_rows import read_parquet_rows
from csv_plugin.extras.importers.text_losses import TextLoss
from csv_plugin.io.csv_rows import read_rows
from csv_plugin.io.files import FilePath, read_bytes
from csv_plugin.io.parquet_tables import open_table

#: Columns of losses, one of which a table has, and the nats of a text by the
#: number in it.
_MEASURES: dict[str, Callable[[float, str], float]] = {
    'nats': lambda loss, text: loss,
    'bits': lambda loss, text: loss * math.log(2),
    'nats_per_char': lambda loss, text: loss * len(text),
    'nats_per_byte': lambda loss, text: loss * len(text.encode()),
    'bits_per_byte':
    lambda loss, text: loss * len(text.encode()) * math.log(2),
}  # yapf: disable
_REMEDY = ('Give a table with the columns text_id and one of '
           f'{", ".join(_MEASURES)}.')


def read_loss_table(path: FilePath, texts: TextSet) -> list[TextLoss]:
    """The losses of one model on whole texts.

    Args:
        path (FilePath): A Parquet file if its name ends in .parquet, else a
            CSV file. It has a column `text_id` and one of `nats` and `bits`
            (sums over a text), `nats_per_char`, `nats_per_byte` and
            `bits_per_byte`; other columns are ignored.
        texts (TextSet): The validation set.

    Returns:
        list[TextLoss]: In the order of the file.

    Raises:
        InputError: The file cannot be read or lacks a column, it has two
            columns of losses, an id is not that of a text or occurs twice,
            or a loss is no finite number of 0 or more.
    """
    by_id = {text.text_id: text.text for text in texts}
    file = os.fspath(path)
    rows = _of_parquet if file.endswith('.parquet') else _of_csv
    losses = []
    for where, text_id, measure, loss in rows(file):
        if text_id not in by_id:
            raise InputError(where, 'the id of a text', repr(text_id),
                             'Give losses on the texts of this set only.')
        text = by_id[text_id]
        losses.append(
            TextLoss(
                text_id, text, _MEASURES[measure](loss, text), where=where))
    return losses


_Row = tuple[str, str, str, float]


def _of_csv(file: str) -> Iterator[_Row]:
    rows = read_rows(file, ('text_id', ))
    measure = _measure(file, rows[0].cells)
    for row in rows:
        yield (f'{file}, line {row.line}', row.cells['text_id'], measure,
               row.number(measure))


def _of_parquet(file: str) -> Iterator[_Row]:
    columns = open_table(file, read_bytes(file)).schema_arrow.names
    measure = _measure(file, columns)
    rows = read_parquet_rows(file, ('text_id', measure), _REMEDY)
    for row in rows:
        yield (row.where, row.get('text_id',
                                  str), measure, row.number(measure))


def _measure(file: str, columns: Collection[str]) -> str:
    """The column of losses."""
    present = [name for name in _MEASURES if name in columns]
    if len(present) != 1:
        raise InputError(file, 'one column of losses', ' and '.join(present)
                         or f'{", ".join(columns)}', _REMEDY)
    return present[0]
