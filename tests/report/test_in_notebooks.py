"""What Jupyter shows of predictors, studies, triages and leaderboards."""
import re

from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.core.salience import Ridge
from csv_plugin.core.study import split_study
from csv_plugin.io.collection import Collection
from csv_plugin.triage.judging import forecast
from tests.report.boards import make_cells, predict
from tests.runs import TEXTS, dump, model_losses, train
from tests.tables import CHANCE, small_tables
from tests.triage.pretraining import EARLIER, NEW, run_dumps

EVIL = '<b>$x$'


def words(table) -> list[str]:
    """The texts between the tags."""
    document = table._repr_html_()
    assert '<b>' not in document
    return [part for part in re.split('<[^<>]*>', document) if part.strip()]


def test_predictor():
    shown = words(train(('hard', EVIL)))
    row = shown[shown.index('&lt;b&gt;$x$'):]
    assert row[1:4] == ['0.0', '16', 'ridge'] and 0 < float(row[4]) < 100


def test_losses():
    losses = dump('m', model_losses(0.5))
    shown = words(ModelLosses(TEXTS, {EVIL: losses}))
    assert shown[-5:] == [
        '&lt;b&gt;$x$', 'transformers', 'float32', '15', '5.837'
    ]
    assert words(losses)[-3:-1] == ['t4', '3']


def test_collection():
    tables = small_tables()
    losses = ModelLosses(TEXTS, {})
    shown = words(Collection(losses, tables.accuracies, {}))
    row = shown[shown.index('pair'):]
    assert row[:4] == ['pair', '2', f'{100 * CHANCE:.1f}', '200']


def test_study():
    tables = small_tables().only('easy', 'hard')
    study = split_study(tables.features, tables.accuracies, tables.families,
                        tables.models[:10], Ridge())
    shown = words(study)
    row = shown[shown.index('hard'):]
    assert row[1] == '5' and len(row) == 2 + 3 * 2 + 1
    assert all(0 <= float(cell) <= 100 for cell in row[2:8])


def test_triage():
    triage = forecast(train(), run_dumps(NEW, 3), run_dumps(EARLIER))
    shown = words(triage)
    row = shown[shown.index('good'):]
    assert row[1] == '35%' and row[3:6] == triage.forecast_cells('good')


def test_leaderboard():
    cells = make_cells((EVIL, 'n'), ('easy', ), ('p', ), [0.29, 1.0],
                       predict(0.95, 0.3, 0.05))  # yapf: disable
    shown = words(cells.board())
    row = shown[shown.index('&lt;b&gt;$x$'):]
    assert row[1:4] == ['29.0', '95.0 (65-100)', '+66.0']
    assert any(line.startswith('diff is predicted') for line in row)
