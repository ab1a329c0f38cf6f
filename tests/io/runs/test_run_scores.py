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


def test_the_newest_summary_counts(tmp_path):
    summary(tmp_path, 'exam,1f,accuracy,gen,10,20', time='1')
    run = summary(tmp_path, 'exam,1f,accuracy,gen,30,40')
    assert read_run_accuracies(run, ['exam'])['a'] == {'exam': .3}
    assert newest_summary(tmp_path, SUMMARY).name == 'summary_2.csv'
    assert newest_summary(tmp_path, LEADERBOARD) is None


@pytest.mark.parametrize('cell', ['101', '-1', '1_0', ''])
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
SCORES = {
    'm-1': {'easy': .2917, 'hard': .3, 'all': .2958},
    'm  two': {'easy': 1, 'all': .5025},
}  # yapf: disable


def read(run):
    return read_run_accuracies(run, ['easy', 'hard', 'failed', 'all', 'none'])


def test_the_main_scores_count(tmp_path):
    """The first of a dataset, the last of a group, and no prediction."""
    path = write_summary(tmp_path, TABLE)
    assert read(tmp_path) == SCORES
    data = path.read_bytes()
    path.write_bytes(data.replace(b'\n', b'\r\n'))
    assert read(tmp_path) == SCORES
    for size in range(0, len(data), 3):
        # What ends with a row lacks whole benchmarks.
        if not data[:size].endswith(b'\n'):
            path.write_bytes(data[:size])
            with pytest.raises(InputError, match=f'^{path}: .*-m viz -r'):
                read(tmp_path)
