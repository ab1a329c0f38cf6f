"""Accuracies from the summary of a run."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_scores import (LEADERBOARD, SUMMARY,
                                           newest_summary, read_run_accuracies)
from tests.runs import write_summary

HEADER = 'dataset,version,metric,mode,a,b'


def summary(tmp_path, *lines, time='2'):
    write_summary(tmp_path, [line.split(',') for line in (HEADER, *lines)],
                  time)
    return tmp_path


def read(run, *benchmarks):
    """Accuracies by model."""
    return read_run_accuracies(run, benchmarks).by_model


def test_the_newest_summary_counts(tmp_path):
    summary(tmp_path, 'exam,1f,accuracy,gen,10,20', time='1')
    run = summary(tmp_path, 'exam,1f,accuracy,gen,30,40')
    assert read(run, 'exam')['a'] == {'exam': .3}
    assert newest_summary(tmp_path, SUMMARY).name == 'summary_2.csv'
    assert newest_summary(tmp_path, LEADERBOARD) is None


@pytest.mark.parametrize('cell', ['101', '-1', '1_0', 'x'])
def test_what_is_no_percentage_is_refused(tmp_path, cell):
    run = summary(tmp_path, f'exam,1f,accuracy,gen,1,{cell}')
    with pytest.raises(InputError, match=f"on 'exam' in percent.*'{cell}'"):
        read_run_accuracies(run, ['exam'])


TABLE = [
    ['dataset', 'version', 'metric', 'mode', 'm-1', 'm, two'],
    ['easy', '9c32f6', 'accuracy', 'gen', '29.17', '100.00'],
    ['easy', '9c32f6', 'extract_rate', 'gen', '99.00', '98.00'],
    ['easy', '-', 'predicted', 'losses', '31.2 ±4.0', '98.1 ±9.0>'],
    ['hard', '1f0b2c', 'score', 'ppl', '30.00', '-'],
    ['failed', '1f', 'accuracy', 'gen', 'nan', '-'],
    ['all', '-', 'accuracy', 'mixed', '12.00', '13.00'],
    ['all', '-', 'naive_average', 'mixed', '29.58', '50.25'],
]  # yapf: disable
NAMES = 'easy', 'hard', 'failed', 'all', 'none'
SCORES = {
    'm-1': {'easy': .2917, 'hard': .3, 'all': .2958},
    'm  two': {'easy': 1, 'all': .5025},
}  # yapf: disable


def test_the_main_scores_count(tmp_path):
    """The first of a dataset, the last of a group, and no prediction."""
    path = write_summary(tmp_path, TABLE)
    assert read(tmp_path, *NAMES) == SCORES
    data = path.read_bytes()
    path.write_bytes(data.replace(b'\n', b'\r\n'))
    assert read(tmp_path, *NAMES) == SCORES
    for size in range(0, len(data), 3):
        # What ends with a row lacks whole benchmarks.
        if not data[:size].endswith(b'\n'):
            path.write_bytes(data[:size])
            with pytest.raises(InputError, match=f'^{path}: .*-m viz -r'):
                read(tmp_path, *NAMES)


def test_a_prediction_is_no_accuracy(tmp_path):
    """Of a dataset or a group, whatever its metric and place in the table."""
    run = summary(tmp_path, 'exam,-,-,-,-,-', 'exam,-,accuracy,losses,31,32',
                  'all,-,naive_average,gen,40,41',
                  'all,-,accuracy,losses,51,52', 'new,1f,score,losses,61,62',
                  'new,1f,accuracy,gen,71,72')
    assert read(run, 'exam', 'all', 'new') == {
        'a': {'all': .4, 'new': .71},
        'b': {'all': .41, 'new': .72},
    }  # yapf: disable


OTHERS = [
    'average_ppl', 'perplexity', 'avg_toxicity_score', 'bits_per_byte', 'bpc',
    'loss', 'eval_time', 'tokens_per_second', 'average_length', 'rouge1',
    'edit_distance', 'RMSE', 'invalid_count', 'error_rate'
]  # yapf: disable


@pytest.mark.parametrize('metric', OTHERS)
def test_what_is_no_accuracy_is_named_and_left_out(tmp_path, metric):
    run = summary(tmp_path, f'wiki,1f,{metric},ppl,24.5,20',
                  'exam,1f,accuracy,gen,50,60')
    found = read_run_accuracies(run, ['wiki', 'exam'])
    assert found.by_model == {'a': {'exam': .5}, 'b': {'exam': .6}}
    assert found.other_metrics == {'wiki': metric}


def test_the_first_accuracy_of_a_dataset_counts(tmp_path):
    run = summary(tmp_path, 'exam,1f,average_ppl,gen,9,8',
                  'exam,1f,humaneval_pass@1,gen,50,60',
                  'exam,1f,accuracy,gen,1,2')
    assert read(run, 'exam') == {'a': {'exam': .5}, 'b': {'exam': .6}}


@pytest.mark.parametrize('rows', [
    ['all,-,average_ppl,ppl,9,8', 'all,-,naive_average,ppl,9,8'],
    ['all,-,accuracy,gen,9,8', 'all,-,standard_deviation,gen,9,8'],
    ['all,-,sum,gen,9,8'],
])
def test_a_group_of_what_is_no_accuracy(tmp_path, rows):
    found = read_run_accuracies(summary(tmp_path, *rows), ['all'])
    assert found.by_model == {
        'a': {},
        'b': {}
    } and 'all' in found.other_metrics
