"""Names from others in every file: read back, they did no harm."""
import json
import math
import re
from dataclasses import replace

import pytest

from csv_plugin.core.comparing import compare
from csv_plugin.core.escaping import from_csv_cell, one_line
from csv_plugin.core.far_models import far_notes
from csv_plugin.core.study import split_study
from csv_plugin.io.tables import ModelInfo, read_rows, write_csv
from csv_plugin.report import comparison_report, study_tables
from csv_plugin.report.leaderboard_tables import (notes_on_main,
                                                  write_leaderboard)
from csv_plugin.report.notes import learning_notes
from csv_plugin.report.triage_report import as_text, write_triage
from csv_plugin.triage.checkpoints import Checkpoint
from csv_plugin.triage.judging import judge_runs
from tests.extras.page.pages import page_cells
from tests.hostile_names import FORMULAS, MARKS, NAMES, PATHS, UNSEEN
from tests.runs import train
from tests.scripts import csv_rows
from tests.tables import small_tables
from tests.triage.pretraining import run_dumps

SIGNS = tuple('=+-@＝＋－＠')
#: One of each kind.
FEW = (FORMULAS[9], MARKS[1], MARKS[7], '_a_', 'a|b', UNSEEN[0], UNSEEN[4],
       UNSEEN[7], UNSEEN[-1], PATHS[0])
#: UTF-8 has no bytes for this one.
BYTES = UNSEEN[-1]


def check_csv(path, columns, names):
    """No cell is a formula; names are read back, numbers are numbers."""
    rows = csv_rows(path)
    for cell in (cell for row in rows for cell in row.values()):
        if cell.strip().startswith(SIGNS):
            assert math.isfinite(float(cell))
    for column in columns:
        assert {from_csv_cell(row[column])
                for row in rows
                } == {name.replace(BYTES, '\\udcff')
                      for name in names}


def check_markdown(text):
    """Nothing but tables, items, headings and blocks of code."""
    module = pytest.importorskip('markdown_it')
    renderer = module.MarkdownIt('commonmark').enable(
        ['table', 'strikethrough'])
    page = renderer.render(text)
    assert set(re.findall(r'<(\w+)', page)) <= {
        'table', 'thead', 'tbody', 'tr', 'th', 'td', 'ul', 'li', 'p', 'h1',
        'h2', 'pre', 'code'
    }
    # Legends have code of their own.
    assert '<code>a</code>' not in page
    assert not re.search(r'https?://|www\.', text)
    return page


def check_screen(text):
    assert all(line.isprintable() for line in text.split('\n'))


def test_tables_are_read_back(tmp_path):
    names = [n for n in NAMES if n != BYTES and '\0' not in n]
    path = tmp_path / 'models.csv'
    write_csv(path, ['model', *names], [[n, *[-.5] * len(names)]
                                        for n in names])  # yapf: disable
    check_csv(path, ['model'], names)
    rows = read_rows(path, ['model'])
    # Spaces around a cell are no part of it, unless they hide a formula.
    kept = [n if n in FORMULAS else n.strip() for n in names]
    assert [row.cells['model'] for row in rows] == kept
    assert list(rows[0].cells) == ['model', *kept]
    assert all(row.number(kept[0]) == -.5 for row in rows)


def test_leaderboard(tmp_path):
    board = replace(page_cells(NAMES, FEW[:3], FEW[3:6]).board(), notes=NAMES)
    write_leaderboard(tmp_path / 'board', board)
    files = [
        tmp_path / f'board.{kind}' for kind in ('txt', 'md', 'csv', 'json')
    ]
    text, document = (file.read_text('utf-8') for file in files[:2])
    check_screen(text)
    header, rule = 2, 1
    n_blocks = text.count('mean abs. error')
    n_rows = header + rule + len(NAMES) + 1
    assert len(text.splitlines()) == n_blocks * (n_rows + 1) + len(NAMES)
    page = check_markdown(document)
    # One more says where the rest is.
    n_notes = len(notes_on_main(board)) + 1
    assert page.count('<li>') == n_notes > len(NAMES)
    assert page.count('<td') == (len(NAMES) + 1) * page.count('<th ')
    check_csv(files[2], ['model'], NAMES)
    check_csv(files[2], ['benchmark'], FEW[:3])
    check_csv(files[2], ['predictor'], FEW[3:6])
    content = json.loads(files[3].read_text('utf-8'))
    assert content['models'] == content['notes'] == [*NAMES]


@pytest.mark.slow
def test_study(tmp_path):
    tables = small_tables(n_models=len(NAMES))
    study = split_study(tables.features, tables.accuracies, tables.families,
                        tables.models[:30])
    benchmarks = FEW[:len(study.predictions.benchmarks)]
    parts = tuple(
        replace(part, benchmark=name, notes=FEW)
        for part, name in zip(study.predictor.benchmarks, benchmarks))
    study = replace(
        study,
        predictor=replace(study.predictor, benchmarks=parts),
        predictions=replace(
            study.predictions, benchmarks=benchmarks, models=NAMES))
    study_tables.write_predictions(
        tmp_path, study, dict.fromkeys(NAMES, ModelInfo('', 'test', 1)))
    check_csv(tmp_path / 'predictions.csv', ['model'], NAMES)
    check_csv(tmp_path / 'predictions.csv', ['benchmark'], benchmarks)
    study_tables.write_report(tmp_path / 'r.md', study, NAMES, 'Title',
                              'python x.py "a\n# b\x1b[2J"')
    report = (tmp_path / 'r.md').read_text('utf-8')
    check_screen(report)
    page = check_markdown(report)
    assert page.count('<pre>') == page.count('<h1>') == 1
    errors, validated = page.split('<h2>')[:2]
    for table, n_rows in ((errors, len(benchmarks) + 1),
                          (validated, len(study.predictor.benchmarks))):
        assert table.count('<td') == n_rows * table.count('<th ')
    notes = [
        *learning_notes(study.predictor, verbose=True),
        *far_notes(study.predictions.select(methods=['salience']))
    ]
    assert page.count('<li>') == len(notes) > len(FEW)


@pytest.fixture(scope='module')
def triage():
    skills = {name: 1 + i / 10 for i, name in enumerate((*FEW, *PATHS[1:7]))}
    dumps = run_dumps(skills, 3)
    checkpoints = {
        model:
        Checkpoint(model.rpartition('@')[0], int(model.rpartition('@')[2]))
        for model in dumps
    }
    made = judge_runs(train(), dumps, checkpoints=checkpoints, budget=35)
    return replace(made, notes=NAMES)


def test_triage(triage, tmp_path):
    runs = [run.name for run in triage.runs]
    check_screen(as_text(triage))
    assert all(one_line(name) in as_text(triage) for name in runs)
    write_triage(tmp_path, triage)
    check_csv(tmp_path / 'forecasts.csv', ['run'], runs)
    check_csv(tmp_path / 'checkpoints.csv', ['run'], runs)


@pytest.mark.parametrize('name', FEW)
def test_comparison(name):
    grades = {name: {str(i): i % 2 for i in range(9)}}
    found = replace(
        compare(answers=(grades, grades)), runs=((name, ), ('b', )))
    check_screen(comparison_report.as_text(found))
    check_screen(comparison_report.as_line(found))
    check_screen(comparison_report.conclusion(found))
