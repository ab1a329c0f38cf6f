"""Losses are averaged over the last part of a training, not beyond it."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.triage.averaging import average_losses
from csv_plugin.triage.checkpoints import Checkpoint, describe_checkpoints
from csv_plugin.triage.judging import forecast
from tests.runs import train
from tests.triage.pretraining import EARLIER, NEW, run_dumps

MODELS = 'b@100', 'a@95', 'a@0', 'a@50', 'a@100', 'b@90', 'a@90'
TABLE = FeatureTable(
    MODELS, Columns(('x', 'y'), np.ones(2), ''),
    np.array([[7, 1], [5, 1], [9, 9], [4, 2], [6, 3], [8, 1], [1, 2]], float))


def averaged(window, table=TABLE, checkpoints=None):
    return average_losses(table, checkpoints
                          or describe_checkpoints(table.models),
                          window).values.tolist()


def test_checkpoints_of_a_run_that_lie_in_the_window():
    assert averaged(0.1) == [[7.5, 1], [3, 1.5], [9, 9], [4, 2], [4, 2],
                             [8, 1], [1, 2]]
    assert averaged(0.05)[4] == [5.5, 2]
    assert averaged(0) == TABLE.values.tolist()
    assert averaged(1)[4] == [4, 2]


def test_tokens_count_where_they_are_known():
    tokens = {
        model: Checkpoint(model[0], i + 1, tokens=100 + i)
        for i, model in enumerate(MODELS)
    }
    assert averaged(0.01, checkpoints=tokens)[6] == [1, 2]
    assert averaged(0.02, checkpoints=tokens)[6] == [3.5, 2.5]


def test_without_a_window_checkpoints_of_the_same_tokens_differ():
    tokens = {
        model: Checkpoint(model[0], i, tokens=100)
        for i, model in enumerate(MODELS)
    }
    assert averaged(0, checkpoints=tokens) == TABLE.values.tolist()
    assert averaged(0.05, checkpoints=tokens)[0] == [7.5, 1]


@pytest.mark.parametrize('window', [-0.1, 1.1, float('nan')])
def test_other_windows_are_refused(window):
    with pytest.raises(InputError, match='a part of the training'):
        averaged(window)


def test_a_triage_of_averaged_losses():
    predictor, history = train(), run_dumps(EARLIER)
    runs = run_dumps(NEW)
    plain, none, wide = (
        forecast(predictor, runs, history, window=window)
        for window in (0, 0.1, 0.25))
    assert none.predictions.values.tolist() == plain.predictions.values.tolist(
    )
    assert 'Losses are means over the last 25 % of the training so far.' in (
        wide.notes)
    at = [
        triage.predictions.at('good@100', 'easy').value
        for triage in (plain, wide)
    ]
    assert at[1] < at[0]
    first, second = (
        triage.expected['good'].values for triage in (plain, wide))
    assert (second < first).all()
