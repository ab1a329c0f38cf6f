"""What is printed fits into 100 columns, whatever names are long."""
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.text_tables import WIDTH, text_table, wrapped
from csv_plugin.report.leaderboard_tables import as_text
from csv_plugin.report.screen import full_width, shown_path
from tests.report.boards import make_cells

LONG = 'org/a-model-with-a-name-of-many-words-' + 8 * '0123456789'


def longest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_long_names_and_many_predictors():
    models = tuple(f'{LONG}@{i}' for i in range(3))
    labels = tuple(f'predictor-{i}' for i in range(5))
    benchmarks = [f'bench-{b}' for b in range(24)]
    board = make_cells(models, benchmarks, labels).board()
    text = as_text(board)
    table = text.partition('\n\nPercent')[0]
    assert longest(table) <= WIDTH
    # Parts of a benchmark that is divided have its name each.
    assert table.count('bench-23') > 1
    assert all(f'{LONG[:24]}...{model[-13:]} ' in table for model in models)
    whole = as_text(board, full_width(True))
    assert all(model in whole.splitlines()[3 + i]
               for i, model in enumerate(models))


def test_names_are_cut_where_they_stay_different():
    alike = tuple(f'{LONG[:24]}{middle}{LONG[-16:]}' for middle in 'ab')
    ends = tuple(f'{LONG}@{i}' for i in range(2))
    for models, are_cut in ((alike, False), (ends, True)):
        board = make_cells(models, ['bench'], ('p', )).board()
        assert all(
            (model not in as_text(board)) == are_cut for model in models)


def test_tables():
    rows = [['run', 'steps', 'verdict', 'mean'],
            ['a', '9', 'ahead', '1.5 (1-2)'],
            ['b', '10', 'not known', '-']]  # yapf: disable
    assert text_table(rows).splitlines() == [
        'run  steps  verdict         mean',
        '---  -----  ---------  ---------',
        'a        9  ahead      1.5 (1-2)',
        'b       10  not known          -',
    ]
    rows = [[f'{name}-{cell}' * 3 for cell in range(40)] for name in 'abc']
    assert longest(text_table(rows)) <= WIDTH


def test_notes_keep_their_words():
    error = str(InputError('x' * 200, 'a' + ' b' * 100, 'c', 'Do it.'))
    lines = wrapped([error, 'next']).splitlines()
    assert ' '.join(line.strip() for line in lines) == f'{error} next'
    assert all(line.startswith('  ') for line in lines[1:-1])


def test_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown_path(tmp_path / 'out/a\n') == r'out/a\n'
    assert shown_path(Path('/elsewhere')) == '/elsewhere'
