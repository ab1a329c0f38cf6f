"""Items that all models have."""

import pytest

import csv_plugin as cp
from tests.extras.importers.outputs import write_rows
from tests.extras.importers.test_olmo_eval import answer, row


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
