"""Accuracies from the summary of a run."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_scores import (LEADERBOARD, SUMMARY,
                                           newest_summary, read_run_accuracies)

HEADER = 'dataset,version,metric,mode,a,b\n'


def summary(tmp_path, *lines, name='summary_2.csv'):
    folder = tmp_path / 'summary'
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(HEADER + ''.join(f'{line}\n' for line in lines))
    return tmp_path


def test_fractions_by_model(tmp_path):
    run = summary(tmp_path, 'failed,1f,accuracy,gen,nan,-',
                  'exam,1f,accuracy,gen,50.00,-',
                  'exam,1f,other,gen,1.00,2.00',
                  'exam,-,predicted,losses,49.0 ±3.0,12.5 ±1.0>')
    assert read_run_accuracies(run, ['exam', 'failed', 'never run']) == {
        'a': {
            'exam': .5
        },
        'b': {}
    }


def test_the_average_of_a_group_counts(tmp_path):
    run = summary(tmp_path, 'mmlu,-,some,gen,10,20', '',
                  'mmlu,-,weighted_average,gen,30,40')
    assert read_run_accuracies(run, ['mmlu'])['b'] == {'mmlu': .4}


def test_the_newest_summary_counts(tmp_path):
    summary(tmp_path, 'exam,1f,accuracy,gen,10,20', name='summary_1.csv')
    run = summary(tmp_path, 'exam,1f,accuracy,gen,30,40')
    assert read_run_accuracies(run, ['exam'])['a'] == {'exam': .3}


def test_newest_file_of_each_kind(tmp_path):
    assert newest_summary(tmp_path, LEADERBOARD) is None
    summary(tmp_path)
    for time in ('2002', '2010', '2003'):
        name = f'leaderboard_{time}.json'
        (tmp_path / 'summary' / name).write_text('')
    assert newest_summary(tmp_path,
                          LEADERBOARD).name == ('leaderboard_2010.json')
    assert newest_summary(tmp_path, SUMMARY).name == 'summary_2.csv'


@pytest.mark.parametrize('cell', ['good', '101', '-1', 'inf'])
def test_what_is_no_percentage_is_refused(tmp_path, cell):
    run = summary(tmp_path, f'exam,1f,accuracy,gen,1,{cell}')
    with pytest.raises(InputError, match=f"on 'exam' in percent.*'{cell}'"):
        read_run_accuracies(run, ['exam'])


def test_runs_without_a_summary_are_refused(tmp_path):
    with pytest.raises(InputError, match='found no summary/summary'):
        read_run_accuracies(tmp_path, ['exam'])
    summary(tmp_path)
    (tmp_path / 'summary/summary_2.csv').write_text('')
    with pytest.raises(InputError, match='columns dataset.*found nothing'):
        read_run_accuracies(tmp_path, ['exam'])
