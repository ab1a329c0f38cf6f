"""The picture of a triage shows its forecasts."""
from csv_plugin.extras.pictures.accuracy_by_tokens import (Forecast,
                                                           trajectory_of)
from csv_plugin.triage.judging import forecast
from tests.runs import train
from tests.triage.pretraining import EARLIER, NEW, run_dumps


def test_it_shows_forecasts_of_unfinished_runs():
    for n, ahead in ((3, True), (7, False)):
        triage = forecast(train(), run_dumps(NEW, n), run_dumps(EARLIER))
        for run in triage.runs:
            drawn = trajectory_of(triage, run, 1)
            assert (drawn.forecast is not None) == ahead
            if ahead:
                expected = triage.expected[run.run]
                assert drawn.forecast == Forecast(100.0, expected.values[1],
                                                  expected.low[1],
                                                  expected.high[1])
            cell = triage.predictions.at(run.checkpoints[-1], 'hard')
            assert drawn.predicted[-1] == cell.value
            assert (drawn.low[-1], drawn.high[-1]) == (cell.low, cell.high)
