"""Every program by its name, tables, and what predictors make of them."""
import math

import pytest

import csv_plugin as cp
from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.importing import read_loss_table
from tests.extras.importers.outputs import (LIGHTEVAL, LM_EVAL, MODELS, TEXTS,
                                            write_rows)
from tests.extras.importers.test_olmo_eval import answer, row


def test_every_source_by_its_name():
    texts = cp.read_texts(TEXTS)
    folders = {model: LM_EVAL / model for model in MODELS}
    seen = []

    def progress(models):
        seen.extend(models)
        return models

    table = cp.import_losses('lm-eval', folders, texts, progress)
    assert table.models == MODELS == tuple(seen)
    items = cp.import_losses('lighteval',
                             [LIGHTEVAL / model for model in MODELS])
    assert items.models == MODELS and len(items.columns.units) == 4


def test_items_that_all_models_have(tmp_path):
    """Other tasks and other items are left out with a line each."""
    common = [row(0, [answer(' a', -1.0)], 0), row(1, [answer(' b', -2.)], 0)]
    for model, more in (('one', [row(2, [answer(' c', -3.0)],
                                     0)]), ('two', []), ('bad', None)):
        folder = tmp_path / 'predictions' / model
        folder.mkdir(parents=True)
        if more is not None:
            write_rows(folder / 'arc_0badc0de-predictions.jsonl',
                       common + more)
    write_rows(tmp_path / 'predictions/two/piqa_0badc0de-predictions.jsonl',
               common)
    folders = sorted((tmp_path / 'predictions').iterdir())
    with pytest.warns(UserWarning) as warnings:
        table = cp.import_losses('olmo-eval', folders)
    assert table.models == ('one', 'two')
    assert table.columns.units == ('arc_0badc0de/Mercury_0',
                                   'arc_0badc0de/Mercury_1')
    lines = [str(warning.message) for warning in warnings]
    assert [line.split(':')[0] for line in lines] == [
        'left out 1 model (bad)', 'left out 1 part (1 item of arc_0badc0de)',
        'left out 1 task (piqa_0badc0de)'
    ]


def test_wrong_calls():
    texts = cp.read_texts(TEXTS)
    with pytest.raises(InputError, match='the texts that were scored'):
        cp.import_losses('table', ['m.csv'])
    with pytest.raises(InputError, match='no texts, as they are on items'):
        cp.import_losses('lighteval', [LIGHTEVAL / 'c-l-80'], texts)
    with pytest.raises(InputError, match="'c-l-80' twice"):
        cp.import_losses('table', ['a/c-l-80.csv', 'c-l-80.csv'], texts)


TWO = TextSet((Text('a', 'one text'), Text('b', '潮井')))


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
    losses = read_loss_table(path, TWO)
    assert [loss.text_id for loss in losses] == ['a', 'b']
    assert [loss.nats for loss in losses] == pytest.approx([4.0, 6.0])


@pytest.mark.parametrize('content, message', [
    ('text_id,loss\na,1\n', 'one column of losses, found text_id'),
    ('text_id,nats\nc,1\n', "line 2: .* found 'c'"),
    ('text_id,nats\na,-1\n', 'change the sign'),
    ('text_id,bits_per_byte\na,1e3\n', '100 nats or less a byte'),
])
def test_wrong_tables_are_refused(tmp_path, content, message):
    path = tmp_path / 'm.csv'
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_loss_table(path, TWO)
