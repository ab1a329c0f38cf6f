"""Losses of one model on texts, from a CSV table."""
import math
import os
from collections.abc import Callable

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.text_losses import TextLoss
from csv_plugin.io.csv_rows import read_rows
from csv_plugin.io.files import FilePath

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


def read_loss_table(path: FilePath, texts: TextSet) -> list[TextLoss]:
    """Read the losses of one model on whole texts.

    Args:
        path (FilePath): A CSV file with a column `text_id` and one of `nats`
            and `bits` (sums over a text), `nats_per_char`, `nats_per_byte`
            and `bits_per_byte`; other columns are ignored.
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
    rows = read_rows(file, ('text_id', ))
    present = [name for name in _MEASURES if name in rows[0].cells]
    if len(present) != 1:
        raise InputError(
            file, 'one column of losses', ' and '.join(present)
            or f'{", ".join(rows[0].cells)}',
            'Give a table with the columns text_id and one of '
            f'{", ".join(_MEASURES)}.')
    losses = []
    for row in rows:
        where, text_id = f'{file}, line {row.line}', row.cells['text_id']
        if text_id not in by_id:
            raise InputError(where, 'the id of a text', repr(text_id),
                             'Give losses on the texts of this set only.')
        text = by_id[text_id]
        nats = _MEASURES[present[0]](row.number(present[0]), text)
        losses.append(TextLoss(text_id, text, nats, where=where))
    return losses
