"""Tables with the losses of one model."""
import math

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.loss_tables import read_loss_table

TEXTS = TextSet((Text('a', 'one text'), Text('b', '潮井')))


@pytest.mark.parametrize('measure, per_text', [
    ('nats', (4.0, 6.0)),
    ('bits', (4 / math.log(2), 6 / math.log(2))),
    ('nats_per_char', (0.5, 3.0)),
    ('nats_per_byte', (0.5, 1.0)),
    ('bits_per_byte', (0.5 / math.log(2), 1 / math.log(2))),
])
def test_every_measure_becomes_nats_of_the_text(tmp_path, measure, per_text):
    path = tmp_path / 'm.csv'
    path.write_text(f'text_id,source,{measure}\na,x,{per_text[0]!r}\n'
                    f'b,y,{per_text[1]!r}\n')
    losses = read_loss_table(path, TEXTS)
    assert [loss.text_id for loss in losses] == ['a', 'b']
    assert [loss.nats for loss in losses] == pytest.approx([4.0, 6.0])


@pytest.mark.parametrize('content, message', [
    ('text_id,loss\na,1\n', 'one column of losses, found text_id'),
    ('text_id,nats,bits\na,1,1\n', 'found nats and bits'),
    ('text_id,nats\nc,1\n', "line 2: .* found 'c'"),
    ('text_id,nats\na,-1\n', 'change the sign'),
    ('text_id,nats\na,x\n', 'nats'),
    ('text_id,bits_per_byte\na,1e3\n', '100 nats or less a byte'),
    ('nats\n1\n', 'text_id'),
])
def test_wrong_tables_are_refused(tmp_path, content, message):
    path = tmp_path / 'm.csv'
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_loss_table(path, TEXTS)
