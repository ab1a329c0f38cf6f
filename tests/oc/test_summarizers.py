"""OpenCompass's summary with predictions: tables, files, missing values."""
import csv
import json
import re
import shlex
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.cli.main import parse_args
from opencompass.registry import build_from_cfg
from opencompass.summarizers import DefaultSummarizer
from opencompass.utils import get_logger
from opencompass.utils.run import get_config_from_arg

from csv_plugin.cli.copy_configs import PARTS
from csv_plugin.cli.salience import main
from csv_plugin.core.escaping import csv_cell, markdown
from csv_plugin.extras.page.run_pages import run_page
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.runs.run_scores import read_run_accuracies
from csv_plugin.io.text_sets import write_texts
from csv_plugin.oc.run_checks import with_common_groups
from csv_plugin.oc.summarizers import PredictedSummarizer
from tests.hostile_names import FORMULAS
from tests.logs import logged_by
from tests.runs import (FITTED, OTHER_TEXTS, TEXTS, model_losses, train,
                        true_accuracy, write_losses, write_result, write_run)

ROOT = Path(__file__).resolve().parents[2]
MODELS = {'new-0': 1.1, 'new-1': 1.4, 'fit-4': FITTED['fit-4'], 'far': 5.0}
TIME = '20240102_030405'


@pytest.fixture(scope='session')
def predictors(tmp_path_factory):
    """Pairs of label and file: of both benchmarks, and of one."""
    folder = tmp_path_factory.mktemp('predictors')
    save_predictor(train(), folder / 'p')
    save_predictor(train(('easy', )), folder / 'u')
    return [('predicted', str(folder / 'p')), ('mean-loss', str(folder / 'u'))]


@pytest.fixture
def run(tmp_path) -> Path:
    write_run(tmp_path / 'run', MODELS)
    return tmp_path / 'run'


def make_config(run, models=MODELS, datasets=('easy', 'hard')) -> Config:
    template = dict(
        prompt_template=dict(type='P', template='x'),
        retriever=dict(type='R'),
        inferencer=dict(type='PPLInferencer'))
    return Config(
        dict(
            models=[
                m if isinstance(m, dict) else dict(abbr=m, type='M')
                for m in models
            ],
            datasets=[
                dict(
                    abbr=d,
                    type='D',
                    reader_cfg=dict(input_columns=[], output_column='o'),
                    infer_cfg=template) for d in datasets
            ],
            work_dir=str(run)))


@pytest.fixture
def logged():
    """What OpenCompass logs while a test runs."""
    with logged_by(get_logger()) as messages:
        yield messages


def summarize(config, predictors, **changes):
    """Summarize; rows of OpenCompass's table, text of the leaderboard."""
    summarizer = PredictedSummarizer(config, predictors, **changes)
    summarizer.summarize(time_str=TIME)
    folder = Path(config.work_dir, 'summary')
    lines = (folder / f'summary_{TIME}.md').read_text('utf-8').splitlines()
    del lines[1]
    table = [line[2:-2].split(' | ') for line in lines]
    return table, (folder / f'leaderboard_{TIME}.txt').read_text('utf-8')


def numbers(run, time=TIME) -> list[list[str]]:
    """The cells of the CSV file of a summary."""
    with open(run / f'summary/summary_{time}.csv', encoding='utf-8') as file:
        return list(csv.reader(file))


def notes(board: str) -> list[str]:
    """The notes below the tables, whose lines are wrapped."""
    text = board.strip().rpartition('\n\n')[2]
    return text.replace('\n  ', ' ').splitlines()


def names(table) -> list[tuple[str, str]]:
    return [(row[0], row[2]) for row in table[1:]]


def rows_of(run) -> list[dict]:
    """Rows of the leaderboard."""
    path = run / 'summary' / f'leaderboard_{TIME}.json'
    return json.loads(path.read_text('utf-8'))['rows']


def interval_of(cell: str) -> str:
    """What stands in brackets, of a cell such as '34.9 (24-46)>'."""
    return re.search(r'\((any|\d+-\d+)\)', cell)[1]


def test_predictions_stand_below_the_real_scores(run, predictors):
    config = make_config(run)
    table, _ = summarize(config, predictors)
    assert names(table) == [
        ('easy', 'accuracy'),
        ('easy', 'predicted'),
        ('easy', 'mean-loss'),
        ('hard', 'accuracy'),
        ('hard', 'predicted'),
        ('hard', 'mean-loss'),
    ]
    assert table[0][4:] == list(MODELS)
    assert table[2][1:4:2] == ['-', 'losses']
    for row in table[2], table[3], table[5]:
        for model, cell in zip(MODELS, row[4:]):
            assert (cell.endswith('*'), cell.endswith('>')) == (
                model == 'fit-4', model == 'far'), row  # yapf: disable
            assert interval_of(cell)
    assert table[6][4:] == ['-'] * 4
    # The rest is OpenCompass's.
    DefaultSummarizer(config).summarize(time_str='default')
    assert [row for row in table
            if row[3] != 'losses'] == numbers(run, 'default')


def test_cells_of_the_csv_file_are_numbers(run, predictors):
    summarize(make_config(run, [*MODELS, 'dead']), predictors)
    header, *rows = numbers(run)
    models = [*MODELS, 'dead']
    assert header[4:] == models + [
        f'{model} {end}' for model in models for end in ('low', 'high')
    ]
    for row in rows:
        cells = dict(zip(header, row))
        for model in models:
            value, low, high = (
                float(cells[name] or 'nan')
                for name in (model, f'{model} low', f'{model} high'))
            known = model != 'dead' and row[2] != 'mean-loss' or (
                row[0] == 'easy' and model != 'dead')
            assert (value == value) == known, row
            assert (low < value < high) == (known and row[3] == 'losses')
    # Other programs of this package read them as before.
    assert read_run_accuracies(run, ['easy', 'hard']).by_model == {
        model:
        pytest.approx({
            name: round(100 * true_accuracy(skill - b), 2) / 100
            for b, name in enumerate(['easy', 'hard'])
        })
        for model, skill in MODELS.items()
    } | {
        'dead': {}
    }


def test_one_row_of_losses(run, predictors):
    texts = dataset_abbr(TEXTS.fingerprint)
    for model in MODELS:
        write_result(run, model, texts, {
            'all_token_loss': 2.0, 'bits_per_byte': 0.5, 'n_texts': 5
        })  # yapf: disable
    config = make_config(run, datasets=('easy', 'hard', texts))
    table, _ = summarize(config, predictors)
    assert [row[2:5] for row in table
            if row[0] == texts] == [['bits_per_byte', 'ppl', '0.50']]
    # A benchmark may have a metric of this name.
    for model in MODELS:
        write_result(run, model, 'easy', {'accuracy': 5, 'bits_per_byte': 1.0})
    table, _ = summarize(make_config(run), predictors)
    assert ('easy', 'accuracy') in names(table)
    # Rows that were chosen stay so.
    chosen = [(texts, 'n_texts'), texts]
    table, _ = summarize(config, predictors, dataset_abbrs=chosen)
    assert [row[2] for row in table[1:]] == ['n_texts', 'all_token_loss']


@pytest.mark.slow
@pytest.mark.parametrize('texts, is_shown', [(TEXTS, True),
                                             (OTHER_TEXTS, False)])
def test_the_next_command_names_the_texts_of_the_predictor(
        run, predictors, capsys, texts, is_shown):
    """The page shows its tokens, so only its own texts will do."""
    write_texts(run / 'texts.jsonl', texts)
    config = make_config(run, datasets=('easy', 'hard', 'texts'))
    config.datasets[2].update(
        path=str(run / 'texts.jsonl'), fingerprint=texts.fingerprint)
    summarize(config, predictors)
    words = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert (words[-2:] == ['--texts', 'run/texts.jsonl']) == is_shown
    assert ('--texts' in words) == is_shown
    assert main(words[2:]) == 0
    page = Path('report.html').read_text('utf-8')
    assert ('give the validation set with --texts' in page) != is_shown


@pytest.mark.parametrize('columns', [None, 60, 80, 200])
def test_one_table_stands_on_the_screen(run, predictors, capsys, monkeypatch,
                                        logged, columns):
    if columns:
        monkeypatch.setenv('COLUMNS', str(columns))
    _, board = summarize(make_config(run), predictors)
    *lines, next_line = capsys.readouterr().out.rstrip().splitlines()
    assert max(map(len, lines)) <= min(columns or 80, 100)
    assert '\nWritten to run/summary: summary_' in '\n'.join(lines)
    words = shlex.split(next_line)
    assert words[:1] == ['Next:']
    assert words[2:6] == ['predict', 'run', '--page', 'report.html']
    assert words[6::2] == ['--predictor'] * 2
    assert words[7::2] == [f'{label}={path}' for label, path in predictors]
    text = '\n'.join(lines)
    # Once, and without the baseline, which the files have.
    assert [text.count(f'\n{model} ') for model in MODELS] == [
        text.count('\nmodel ')] * 4  # yapf: disable
    assert 'mean-loss' not in text.partition('Mean absolute error')[0]
    assert re.search(
        r'\nMean absolute error in points: predicted [\d.]+, mean-loss '
        r'[\d.]+\.\s', text)
    assert 'on most benchmarks, so expect larger errors: far' in ' '.join(
        text.split())
    assert not logged
    assert {path.suffix
            for path in run.glob(f'summary/leaderboard_{TIME}.*')
            } == {'.txt', '.md', '.csv', '.json'}
    # Marks are explained in OpenCompass's file, too.
    summary = (run / 'summary' / f'summary_{TIME}.txt').read_text('utf-8')
    assert all(note in summary for note in notes(board))


def write_answers(run, model, dataset, n_items):
    path = run / 'predictions' / model / f'{dataset}.json'
    path.write_text(
        json.dumps({str(i): dict(prediction='A')
                    for i in range(n_items)},
                   indent=4))


def test_accuracies_of_a_few_items_are_judged_by_their_noise(
        run, predictors, capsys):
    """What lies far outside of an interval may be chance on six items."""
    for model in MODELS:
        write_result(run, model, 'hard', {'accuracy': 100 * 3 / 6})
    config = make_config(run)

    def outside():
        _, board = summarize(config, predictors[:1])
        text = ' '.join(notes(board))
        capsys.readouterr()
        found = re.search(r'(\d+) of \d+ observed accuracies lie', text)
        return int(found[1]) if found else 0, text

    alone, text = outside()
    for model in MODELS:
        write_answers(run, model, 'hard', 6)
    # Nothing says that these are not all items.
    assert alone > 1 and outside() == (alone, text)
    config.datasets[1].reader_cfg.test_range = '[0:6]'
    few, text = outside()
    assert few < alone
    assert 'observed on hard: on 6 items only' in text
    # Those that another program shows of the run are judged alike.
    items = json.loads(
        (run / f'summary/leaderboard_{TIME}.json').read_text('utf-8'))['items']
    assert items == [[model, 'hard', 6] for model in MODELS]


def test_nothing_is_said_of_losses_and_of_groups_that_nobody_asked_for(
        run, predictors, logged, capsys):
    """Some of the tasks of mmlu are no score of mmlu."""
    part = 'lukaemon_mmlu_anatomy'
    for model in MODELS:
        write_result(run, model, part, {'accuracy': 50.0})
    texts = dataset_abbr(TEXTS.fingerprint)
    for model in MODELS:
        write_result(run, model, texts, {'bits_per_byte': 0.5})
    config = make_config(run, datasets=['easy', 'hard', part, texts])
    config.datasets[-1].infer_cfg = dict(
        config.datasets[-1].infer_cfg,
        inferencer=dict(type='csv_plugin.oc.inferencers.TokenLossInferencer'))
    table, _ = summarize(config, predictors)
    assert [row[3] for row in table if row[0] == texts] == ['loss']
    summary = (run / 'summary' / f'summary_{TIME}.txt').read_text('utf-8')
    assert 'missing metrics' not in summary and 'unknown' not in summary
    assert not logged and 'unknown' not in capsys.readouterr().out


def test_without_a_predictor_the_table_is_that_of_opencompass(
        run, logged, capsys):
    """But for the mode of losses, of which OpenCompass warns."""
    texts = dataset_abbr(TEXTS.fingerprint)
    for model in MODELS:
        write_result(run, model, texts, {'bits_per_byte': 0.5, 'n_texts': 5})
    config = make_config(run, datasets=['easy', 'hard', texts])
    config.datasets[-1].infer_cfg = dict(
        config.datasets[-1].infer_cfg,
        inferencer=dict(type='csv_plugin.oc.inferencers.TokenLossInferencer'))
    PredictedSummarizer(config).summarize(time_str=TIME)
    printed = capsys.readouterr().out
    assert not logged and 'unknown' not in printed
    shown = [line.split() for line in printed.splitlines() if line]
    header, *rows = numbers(run)
    assert header == ['dataset', 'version', 'metric', 'mode', *MODELS]
    assert [row for row in shown if row[0] in ('easy', 'hard', texts)] == rows
    assert [row[3] for row in rows] == ['ppl', 'ppl', 'loss']
    assert rows[-1][2] == 'bits_per_byte'
    # It says so, and there is nothing else about predictions.
    assert shown[-1][:2] == ['Written', 'to']
    assert 'Nothing is predicted: ' in printed and 'observed' not in printed
    assert {path.name
            for path in run.glob('summary/*')
            } == {f'summary_{TIME}.{end}'
                  for end in ('txt', 'md', 'csv')}
    DefaultSummarizer(config).summarize(time_str='default')
    assert numbers(run, 'default')[1:3] == rows[:2]


@pytest.mark.slow
def test_retrained_predictor(run, tmp_path):
    """Predictions are made anew, from the dumps; results stay."""
    path = tmp_path / 'p'
    before = {p: p.read_bytes() for p in run.rglob('*.*')}
    tables = []
    for shift in (0, 0.5):
        save_predictor(train(shift=shift), path)
        tables.append(summarize(make_config(run), [('p', str(path))])[0])
    first, second = (table[2][4].split()[0] for table in tables)
    assert float(second) < float(first) - 5
    assert tables[0][1] == tables[1][1]
    assert all(p.read_bytes() == content for p, content in before.items())


@pytest.mark.parametrize('weights', [None, dict(easy=3, hard=1)])
def test_groups(run, tmp_path, weights):
    """The average, wherever the random order of OpenCompass puts it."""
    save_predictor(train(('exams', )), tmp_path / 'p')
    (run / 'results' / 'far' / 'hard.json').unlink()
    predictors = [('predicted', str(tmp_path / 'p'))]
    groups = [dict(name='exams', subsets=['easy', 'hard'])]
    if weights:
        groups[0]['weights'] = weights
    table, board = summarize(
        make_config(run), predictors, summary_groups=groups)
    row = names(table).index(('exams', 'predicted')) + 1
    assert table[row -
                 1][2] == ('weighted' if weights else 'naive') + '_average'
    of_model, = [
        line for line in board.splitlines() if line.startswith(table[0][4])
    ]
    assert f'{float(table[row - 1][4]):.1f}' in of_model
    assert table[row - 1][7] == '-' and interval_of(table[row][7])
    assert "observed of far on exams: missing metrics: ['hard']" in notes(
        board)
    table, _ = summarize(
        make_config(run),
        predictors,
        summary_groups=groups,
        dataset_abbrs=['hard', 'exams', 'none'])
    assert [row[0] for row in table[1:]] == ['hard', 'exams', 'exams', 'none']
    assert table[3][2] == 'predicted'


@pytest.fixture
def parts(run, tmp_path) -> list[str]:
    """The tasks of bbh, with scores of all models, and a predictor of it."""
    save_predictor(train(('bbh', )), tmp_path / 'p')
    names = next(group['subsets'] for group in with_common_groups(
        (),
        make_config('', datasets=['bbh-navigate']).datasets))
    for model, (i, name) in product(MODELS, enumerate(names)):
        write_result(run, model, name, {'score': 30.0 + i})
    return names


def test_groups_that_come_along(run, parts, tmp_path):
    """Without a word of the config; those of mmlu have no part here."""
    config = make_config(run, datasets=parts)
    table, board = summarize(config, [('p', str(tmp_path / 'p'))])
    shown = names(table)
    row = shown.index(('bbh', 'p')) + 1
    assert table[row - 1][2] == 'naive_average'
    assert [float(cell) for cell in table[row - 1][4:]] == [43.0] * len(MODELS)
    assert '43.0' in board.splitlines()[3]
    assert {name for name, _ in shown} == {'bbh', *parts}
    # Some of the tasks are no score of the group.
    _, board = summarize(
        make_config(run, datasets=parts[:3]), [('p', str(tmp_path / 'p'))])
    reason, = [line for line in notes(board) if line.startswith('observed of')]
    assert reason.startswith(
        'observed of all 4 models on bbh: missing metrics: [')
    # The error of a group that is predicted stands among the results, too.
    summary = (run / 'summary' / f'summary_{TIME}.txt').read_text('utf-8')
    assert summary.count("bbh: {'error': ") == len(MODELS)


def test_groups_and_datasets_of_the_run_go_before_those_that_come_along():
    datasets = [dict(abbr='bbh-navigate'), dict(abbr='mmlu')]
    own = dict(name='bbh', subsets=['bbh-navigate'])
    assert with_common_groups([own], datasets) == [own]
    others = [
        group['name'] for group in with_common_groups((
        ), [*datasets, dict(abbr='lukaemon_mmlu_anatomy')])
    ]
    assert 'bbh' in others and 'mmlu' not in others and 'cmmlu' not in others


def test_other_names(run, predictors):
    for model in MODELS:
        write_result(run, model, 'mmlu', {'accuracy': 1, 'f1': 70.0})
    config = make_config(run, datasets=('easy', 'mmlu'))
    pairs = [('hard', ('mmlu', 'f1')), ('easy', 'easy')]
    table, board = summarize(config, predictors[:1], benchmarks=pairs)
    assert names(table) == [('easy', 'accuracy'), ('easy', 'predicted'),
                            ('mmlu', 'accuracy'), ('mmlu', 'f1'),
                            ('mmlu', 'predicted')]
    assert board.partition('\n\nPercent')[0].count(' 70.0 ') == 4
    # Without a metric it is the dataset's first.
    table, _ = summarize(config, predictors[:1], benchmarks=[('hard', 'mmlu')])
    assert names(table)[3] == ('mmlu', 'predicted')
    table, board = summarize(
        config, predictors[:1], benchmarks=[('hard', ('mmlu', 'x'))])
    assert ("observed of all 4 models on hard: no metric 'x' but accuracy, "
            'f1') in notes(board)  # yapf: disable
    assert names(table)[-1] == ('mmlu', 'predicted')


def test_model_names(run, predictors):
    """Shown under one name, stored and fitted on under another."""
    config = make_config(
        run, [dict(abbr='fit-4', summarizer_abbr='Fit', type='M'), 'new-0'])
    table, board = summarize(config, predictors)
    assert table[0][4:] == ['Fit', 'new-0']
    assert table[2][4].endswith('*')
    path = run / 'summary' / f'leaderboard_{TIME}.json'
    folders = {'Fit': 'fit-4', 'new-0': 'new-0'}
    assert json.loads(path.read_text('utf-8'))['folders'] == folders


def test_losses_only(tmp_path, predictors):
    """Only the texts were run."""
    for model, skill in MODELS.items():
        write_losses(tmp_path, model, model_losses(skill))
    texts = dataset_abbr(TEXTS.fingerprint)
    table, board = summarize(
        make_config(tmp_path, datasets=[texts]), predictors[:1])
    assert names(table) == [(texts, '-'), ('easy', 'predicted'),
                            ('hard', 'predicted')]
    assert all(interval_of(cell) for row in table[2:4] for cell in row[4:])
    assert len(table) == 4 and 'diff' not in board
    assert (
        'observed of all 4 models on all 2 benchmarks: no accuracy in this run'
        in notes(board))
    # Rows that were chosen stay so; the leaderboard has them all.
    table, board = summarize(
        make_config(tmp_path, datasets=[texts]),
        predictors[:1],
        dataset_abbrs=['hard'])
    assert names(table) == [('hard', '-'), ('hard', 'predicted')]
    assert 'easy' in board


def test_benchmarks_only(run, predictors):
    for path in run.rglob('*.safetensors'):
        path.unlink()
    table, board = summarize(make_config(run), predictors)
    assert [row[4:] for row in table[2:4]] == [['-'] * 4] * 2
    assert table[1][4] == '54.98'
    reasons = [line for line in notes(board) if 'found none' in line]
    assert len(reasons) == 2
    assert reasons[0].startswith('predicted of all 4 models on all 2 bench')
    assert reasons[1].startswith('mean-loss of all 4 models on easy: ')


def test_failed_model(run, predictors):
    """Neither scores nor losses, or a result that is an error."""
    write_result(run, 'new-1', 'easy', {'error': 'no predictions\n  at all'})
    table, board = summarize(make_config(run, [*MODELS, 'dead']), predictors)
    assert [row[8] for row in table[1:]] == ['-'] * 6
    assert 'observed of new-1 on easy: no predictions at all' in notes(board)
    assert ('observed of dead on all 2 benchmarks: no accuracy in this run'
            in notes(board))
    assert any(
        note.startswith('predicted of dead on all 2 benchmarks: ')
        for note in notes(board))


@pytest.mark.parametrize('left', ['note', 'log', 'nothing'])
def test_a_model_that_was_never_loaded(run, predictors, left, capsys):
    """The summary has the reason, and where there is more of it."""
    texts = dataset_abbr(TEXTS.fingerprint)
    log = run / 'logs/infer/dead/easy.out'
    log.parent.mkdir(parents=True)
    pairs = f'Task [dead/easy,dead/hard,dead/{texts}]\n'
    error = 'OSError: there is no such model'
    if left == 'note':
        for name in ('easy', 'hard', texts):
            path = run / f'predictions/dead/{name}.error.txt'
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'{error} (see logs/infer/dead/easy.out)')
    elif left == 'log':
        log.write_text(f'{pairs}Traceback (most recent call last):\n'
                       f'  File "x.py"\nValueError: first\n\nTraceback\n'
                       f'  File "y.py"\n{error}\n')
    else:
        # A process that was killed says nothing.
        log.write_text(pairs)
        error = 'its task ended without an error'
    _, board = summarize(make_config(run, [*MODELS, 'dead']), predictors)
    shown = capsys.readouterr().out
    for text in (' '.join(notes(board)), ' '.join(shown.split())):
        assert text.count(f'{error} (see logs/infer/dead/easy.out)') > 1
        assert 'Add it to the datasets' not in text


def predicted_of_new_1(run, predictors, **options):
    summarize(make_config(run), predictors, **options)
    row, *_ = (
        row for row in rows_of(run)
        if (row['model'], row['benchmark']) == ('new-1', 'easy'))
    return row['predicted'], row['with_scores']


def test_predictions_are_from_losses_alone_unless_asked(run, predictors):
    """Whatever scores there are elsewhere."""
    alone = predicted_of_new_1(run, predictors)
    (run / 'results' / 'new-1' / 'easy.json').unlink()
    assert predicted_of_new_1(run, predictors) == alone
    asked = predicted_of_new_1(run, predictors, known=True)
    assert alone[1] == 0 and asked[1] == 1 and asked[0] != alone[0]


@pytest.mark.slow
def test_known_accuracies_of_a_table_change_summary_and_page(run, predictors):
    """The page of a run shows what its newest leaderboard shows."""
    alone = predicted_of_new_1(run, predictors)
    table = run / 'known.csv'
    table.write_text('model,easy,hard\nnew-1,,0.9\nother,0.1,\n')
    asked = predicted_of_new_1(run, predictors, known=str(table))
    assert asked[1] == 1 and asked[0] > alone[0]
    path = run / 'summary' / f'leaderboard_{TIME}.json'
    assert json.loads(path.read_text())['known'] == {'new-1': {'hard': 90}}
    page = run_page(run, predictors)
    numbers = 'model', 'benchmark', 'predictor', 'predicted', 'low', 'high'
    shown, summary = ([[row[name] for name in numbers] for row in rows]
                      for rows in (page.board.rows(), rows_of(run)))
    for one, other in zip(shown, summary):
        assert one[:3] == other[:3]
        assert one[3:] == pytest.approx(other[3:])


def test_known_accuracies_wait_until_a_predictor_can_be_read(run, tmp_path):
    """A predictor may be trained after the run."""
    (run / 'known.csv').write_text('model,easy,hard\nnew-1,,0.9\n')
    table, board = summarize(
        make_config(run), [('later', str(tmp_path / 'none'))],
        known=str(run / 'known.csv'))
    assert names(table) == [('easy', 'accuracy'), ('hard', 'accuracy')]
    [reason] = notes(board)
    assert reason.startswith('later: ')


def test_scores_that_are_no_percentages(run, predictors):
    scores = dict(zip(MODELS, (float('nan'), 100.5, 0, 100)))
    for model, score in scores.items():
        write_result(run, model, 'easy', {'accuracy': score})
    write_result(run, 'new-0', 'hard', {'accuracy': -0.5})
    _, board = summarize(make_config(run), predictors[:1])
    for where, score in (('new-0 on easy', 'nan'), ('new-1 on easy', 100.5),
                         ('new-0 on hard', -0.5)):
        assert (f'observed of {where}: the accuracy {score} is not in percent'
                in notes(board))
    observed = {
        row['model']: row['observed']
        for row in rows_of(run) if row['benchmark'] == 'easy'
    }
    assert observed == {'new-0': None, 'new-1': None, 'fit-4': 0, 'far': 100}


@pytest.mark.parametrize('metric', ['average_ppl', 'avg_toxicity_score'])
def test_what_is_no_accuracy_stands_beside_no_prediction(
        run, predictors, metric):
    """Alone, in the average of a group, and where a config names it."""
    for model in MODELS:
        write_result(run, model, 'easy', {metric: 24.5})
    reason = f'its metric, {metric}, is not known to be an accuracy'
    group = dict(name='exams', subsets=['easy', 'hard'])
    for name in ('easy', 'exams', ('easy', metric)):
        _, board = summarize(
            make_config(run),
            predictors[:1],
            benchmarks=[('easy', name)],
            summary_groups=[group])
        assert any(reason in note for note in notes(board))
        observed = {(row['benchmark'], row['observed'] is None)
                    for row in rows_of(run)}
        assert observed == {('easy', True), ('hard', False)}


def test_the_first_accuracy_of_a_dataset_counts(run, predictors):
    """A config may choose any other metric that is not known to be none."""
    for model in MODELS:
        write_result(run, model, 'easy', {
            'rouge1': 9., 'perplexity': 8., 'my_acc': 25.
        })  # yapf: disable
    for name, expected in (('easy', 25.), (('easy', 'rouge1'), 9.)):
        summarize(make_config(run), predictors, benchmarks=[('easy', name)])
        assert {
            row['observed']
            for row in rows_of(run) if row['benchmark'] == 'easy'
        } == {expected}


def test_a_metric_that_may_be_an_accuracy_counts_if_a_config_names_it(
        run, predictors):
    for model in MODELS:
        write_result(run, model, 'easy', {'rouge1': 9.})
    for name, expected in (('easy', None), (('easy', 'rouge1'), 9.)):
        summarize(make_config(run), predictors, benchmarks=[('easy', name)])
        assert {
            row['observed']
            for row in rows_of(run) if row['benchmark'] == 'easy'
        } == {expected}


@pytest.mark.slow
def test_other_validation_set(run, tmp_path, capsys):
    save_predictor(train(texts=OTHER_TEXTS), tmp_path / 'o')
    table, board = summarize(make_config(run), [('o', str(tmp_path / 'o'))])
    assert table[2][4:] == ['-'] * 4
    [reason, *_] = notes(board)
    assert (f'expected a dump of {dataset_abbr(OTHER_TEXTS.fingerprint)}, '
            'found only losses on other texts: '
            f'{dataset_abbr(TEXTS.fingerprint)}.') in reason
    # A page would fail, as nothing is predicted.
    assert 'Next:' not in capsys.readouterr().out


@pytest.mark.parametrize('torn', [False, True])
def test_unusable_predictor(run, predictors, tmp_path, torn, capsys):
    path = tmp_path / 'bad'
    if torn:
        path.write_bytes(Path(predictors[0][1]).read_bytes()[:-999])
    table, board = summarize(
        make_config(run), [*predictors[:1], ('bad', str(path))])
    assert names(table)[:3] == [('easy', 'accuracy'), ('easy', 'predicted'),
                                ('easy', 'bad')]
    assert interval_of(table[2][4]) and table[3][4:] == ['-'] * 4
    [reason] = [note for note in notes(board) if note.startswith('bad')]
    assert reason.startswith('bad of all 4 models on all 2 benchmarks: '
                             f'{path}: expected ')
    # Alone, its benchmarks are not known, and OpenCompass's table is shown.
    capsys.readouterr()
    table, board = summarize(make_config(run), [('bad', str(path))])
    shown = capsys.readouterr().out
    assert shown.count('54.98') == 1 and 'Next:' not in shown
    assert f'bad: {path}: expected ' in ' '.join(shown.split())
    assert names(table) == [('easy', 'accuracy'), ('hard', 'accuracy')]
    [reason] = notes(board)
    assert reason.startswith(f'bad: {path}: expected ')


@pytest.mark.parametrize('pairs, message', [
    ([('p', 'x'), ('p', 'y')], "'p' twice"),
    ([('observed', 'x')], "'observed'. Choose another"),
    (['p'], 'expected pairs, such as'),
])
def test_bad_config(run, pairs, message):
    with pytest.raises(SystemExit, match=f'^error: .*{message}'):
        PredictedSummarizer(make_config(run), pairs)


def test_names_of_a_stranger_do_no_harm(run, tmp_path, capsys):
    """Of a benchmark that no dataset of the run is named after."""
    own = train()
    name = FORMULAS[9]
    parts = (own.benchmarks[0], replace(own.benchmarks[1], benchmark=name))
    fit = replace(own.fit, benchmarks=('easy', name), main=('easy', name))
    renamed = replace(own, benchmarks=parts, fit=fit)
    save_predictor(renamed, tmp_path / 'p')
    summarize(make_config(run), [('=1', str(tmp_path / 'p'))])
    table = numbers(run)
    assert {len(row) for row in table} == {4 + 3 * len(MODELS)}
    [cell, _, label, mode, *_] = table[-1]
    # OpenCompass quotes nothing and puts spaces for commas.
    assert cell == csv_cell(markdown(name)).replace(',', ' ')
    assert cell[0] == "'" and (label, mode) == ("'=1", 'losses')


@pytest.mark.parametrize('chosen', [None, 'mine'])
def test_packaged_config(run, tmp_path, monkeypatch, chosen):
    """By its name; it survives the dump of OpenCompass."""
    monkeypatch.delenv('CSV_PREDICTOR', raising=False)
    if chosen:
        monkeypatch.setenv('CSV_PREDICTOR', chosen)
    command = ('opencompass --models tidewell_zoo --datasets salience_texts '
               f'--summarizer predicted --config-dir {PARTS}')
    monkeypatch.setattr(sys, 'argv', command.split())
    get_config_from_arg(parse_args()).dump('dump.py')
    dumped = Config.fromfile('dump.py', format_python_code=False)
    summarizer = build_from_cfg(
        dict(dumped['summarizer'], config=make_config(run)))
    assert type(summarizer) is PredictedSummarizer
    demo = PARTS.parent / 'demo'
    assert summarizer.predictors == {
        'predicted': str(tmp_path / chosen)
    } if chosen else {
        'predicted': str(demo / 'predictor.safetensors'),
        'mean-loss': str(demo / 'predictor_mean_loss.safetensors')
    }


def test_unknown_options_are_refused(run, predictors):
    with pytest.raises(
            SystemExit, match="^error: .*PredictedSummarizer.*'predicters'"):
        PredictedSummarizer(make_config(run), predicters=predictors)
