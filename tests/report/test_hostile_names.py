"""Names in tables, whatever the names are."""
import html
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.escaping import markdown, one_line
from csv_plugin.core.salience import Uniform
from csv_plugin.core.study import split_study
from csv_plugin.report.leaderboards import as_markdown
from csv_plugin.report.study_tables import error_table, leaderboard
from tests.report.page.pages import make_board
from tests.tables import small_tables

EVIL = 'a|b\n<i>\\|'
SHOWN = 'a\\|b &lt;i>\\\\\\|'


def cells(line: str) -> list[str]:
    """As readers of Markdown split them."""
    return [cell.strip() for cell in re.findall(r'((?:\\.|[^\\|])*)\|', line)]


@given(st.text())
def test_a_cell_is_one_cell_of_one_line(text):
    line = f'| {markdown(text)} |'
    assert len(line.splitlines()) == 1
    _, cell = cells(line)
    assert '<' not in cell
    read = html.unescape(re.sub(r'\\(.)', r'\1', cell))
    assert read == one_line(' '.join(text.split()))


def widths(table: str) -> set[int]:
    return {len(cells(line)) for line in table.splitlines()}


def test_leaderboard():
    table = as_markdown(make_board((EVIL, 'm'), (EVIL, ), (EVIL, )))
    assert widths(table) == {5}
    header, _, first, *_ = map(cells, table.splitlines())
    assert header[2:] == [f'{SHOWN} real', SHOWN, 'diff']
    assert first[1] == SHOWN


def test_study():
    tables = small_tables(n_models=18)
    study = split_study(tables.features, tables.accuracies, tables.families,
                        tables.models[:10], Uniform())
    names = (EVIL, *study.predictions.benchmarks[1:])
    models = (EVIL, *study.predictions.models[1:])
    renamed = replace(
        study,
        predictions=replace(
            study.predictions, benchmarks=names, models=models))
    shown = leaderboard(renamed, (EVIL, ))
    assert widths(shown) == {2 + 2 * len(names)}
    assert cells(shown.splitlines()[0])[2] == SHOWN
    assert cells(shown.splitlines()[2])[1] == SHOWN
    errors = error_table(renamed, (EVIL, ))
    assert len(widths(errors)) == 1
    assert cells(errors.splitlines()[2])[1] == SHOWN
