"""Tables with the losses of one model."""
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.loss_tables import read_loss_table

TEXTS = TextSet((Text('a', 'one text'), Text('b', '潮井')))


def table(tmp_path, **columns):
    path = tmp_path / 'm.parquet'
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize('measure, per_text', [
    ('nats', (4.0, 6.0)),
    ('bits', (4 / math.log(2), 6 / math.log(2))),
    ('nats_per_char', (0.5, 3.0)),
    ('nats_per_byte', (0.5, 1.0)),
    ('bits_per_byte', (0.5 / math.log(2), 1 / math.log(2))),
])
def test_every_measure_becomes_nats_of_the_text(tmp_path, measure, per_text):
    csv = tmp_path / 'm.csv'
    csv.write_text(f'text_id,source,{measure}\na,x,{per_text[0]!r}\n'
                   f'b,y,{per_text[1]!r}\n')
    parquet = table(tmp_path, **{
        'text_id': ['a', 'b'],
        measure: list(per_text)
    })
    for path in (csv, parquet):
        losses = read_loss_table(path, TEXTS)
        assert [loss.text_id for loss in losses] == ['a', 'b']
        assert [loss.nats for loss in losses] == pytest.approx([4.0, 6.0])


@pytest.mark.parametrize('columns, message', [
    (dict(text_id=['a'], loss=[1.0]), 'one column of losses, found text_id'),
    (dict(text_id=['a'], nats=[1.0], bits=[1.0]), 'found nats and bits'),
    (dict(text_id=['c'], nats=[1.0]), "row 0: .* found 'c'"),
    (dict(text_id=[1], nats=[1.0]), "a text as 'text_id', found 1"),
    (dict(text_id=['a'], nats=[math.nan]), 'row 0: .*a finite number'),
    (dict(text_id=['a'], nats=[None]), 'a finite number'),
    (dict(text_id=['a'], nats=['1.0']), 'a finite number'),
    (dict(text_id=['a'], nats=[-1.0]), 'change the sign'),
    (dict(text_id=['a'], bits_per_byte=[1e3]), '100 nats or less a byte'),
    (dict(nats=[1.0]), "a column 'text_id', found nats"),
    (dict(text_id=pa.array([], pa.string()), nats=pa.array(
        [], pa.float64())), 'a row, found none'),
])
def test_wrong_tables_are_refused(tmp_path, columns, message):
    with pytest.raises(InputError, match=message):
        read_loss_table(table(tmp_path, **columns), TEXTS)


def test_a_wrong_cell_of_a_csv_file_is_named(tmp_path):
    path = tmp_path / 'm.csv'
    path.write_text('text_id,nats\na,1.0\nb,x\n')
    with pytest.raises(InputError, match="line 3, column 'nats'"):
        read_loss_table(path, TEXTS)
    path.write_text('text_id,nats\na,1.0\na,2.0\n')
    with pytest.raises(InputError, match='Line 2 has it too'):
        read_loss_table(path, TEXTS)


def test_a_few_bytes_that_stand_for_a_gigabyte_are_refused(tmp_path):
    """One long text in the file, a million times in the table."""
    n_rows = 1_000_000
    text_ids = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(n_rows, np.int32)), pa.array(['x' * 1000]))
    path = table(tmp_path, text_id=text_ids, nats=pa.array(np.zeros(n_rows)))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match='expands to at most'):
        read_loss_table(path, TEXTS)
