"""Accuracies from real results of lm-evaluation-harness."""
import math
import shutil

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.lm_eval_accuracies import \
    read_lm_eval_accuracies
from tests.extras.importers.outputs import (LM_EVAL, MODELS, change_json,
                                            write_results)

PATHS = [LM_EVAL / model for model in MODELS]
CHANCE = {'tiny_choice': 0.4, 'tiny_group': 0.4, 'tiny_answer': 0.0}


def read(*names, **options):
    return read_lm_eval_accuracies(
        PATHS, names, chance={name: CHANCE[name]
                              for name in names}, **options)


def test_tasks_and_groups():
    table = read('tiny_choice', 'tiny_group')
    assert table.models == MODELS
    # Real results: d-s-100 has acc 0.25 and acc_norm 0.5.
    assert table.values.tolist() == [[1.0, 1.0], [0.5, 0.25]]
    assert table.n_items.tolist() == [4, 8]
    assert table.chance.tolist() == [0.4, 0.4]


def test_another_metric_by_name():
    table = read('tiny_choice', metrics={'tiny_choice': 'acc'})
    assert table.values.tolist() == [[1.0], [0.25]]
    with pytest.raises(InputError, match="the metric 'f1', found acc,none"):
        read('tiny_choice', metrics={'tiny_choice': 'f1'})
    with pytest.raises(InputError, match="some of tiny_choice, found 'other'"):
        read('tiny_choice', metrics={'other': 'acc'})


def test_a_filter_is_to_be_named():
    with pytest.raises(InputError, match='one filter of .*strict-match and'):
        read('tiny_answer')
    table = read(
        'tiny_answer', metrics={'tiny_answer': 'exact_match,flexible-extract'})
    assert table.values.tolist() == [[0.75], [0.0]]


@pytest.mark.parametrize('value', [1.5, math.nan, -math.inf, 'N/A'])
def test_what_cannot_be_used_harms_one_cell_alone(tmp_path, value):
    with pytest.warns(UserWarning, match=f'1 result .*found .?{value}'):
        table = read_changed(
            tmp_path, lambda content: content['results']['tiny_choice'].update(
                {'acc_norm,none': value}), ['tiny_choice', 'tiny_group'])
    assert np.array_equal(table.values, [[1, 1], [np.nan, .25]], True)


def read_changed(tmp_path, change, names=('tiny_choice', )):
    for path in PATHS:
        shutil.copytree(path, tmp_path / path.name)
    change_json(max((tmp_path / 'd-s-100').glob('results_*')), change)
    return read_lm_eval_accuracies(
        [tmp_path / model for model in MODELS],
        names,
        chance={name: CHANCE[name]
                for name in names})


def test_accuracies_of_several_metrics_are_refused(tmp_path):
    """As where a version of the task has no acc_norm."""
    message = 'one metric .* acc_norm,none of c-l-80, acc,none of d-s'
    with pytest.raises(InputError, match=message):
        read_changed(
            tmp_path, lambda content: content['results']['tiny_choice'].pop(
                'acc_norm,none'))


def test_patterns_of_tasks(tmp_path):
    """Tasks without an accuracy or a chance level are left out with lines."""
    scores = {'arc_easy': .5, 'arc_challenge': .3, 'arc_odd': .2, 'piqa': .6}
    for model in 'ab':
        write_results(tmp_path / model, '0.4.9', scores)
    chance = {'arc_easy': .25, 'arc_challenge': .25}
    with pytest.warns(UserWarning, match='1 benchmark .arc_odd.: give its'):
        table = read_lm_eval_accuracies([tmp_path / 'a', tmp_path / 'b'],
                                        ['arc_*'], {'arc_*': 'acc'}, chance)
    assert table.benchmarks == ('arc_challenge', 'arc_easy')
    with pytest.raises(InputError, match="the metric 'f1', found acc,none"):
        read_lm_eval_accuracies([tmp_path / 'a'], ['arc_e*'], {'arc_e*': 'f1'},
                                {'arc_easy': .25})
    with pytest.raises(InputError, match="'sci.' of a model or more"):
        read_lm_eval_accuracies([tmp_path / 'a'], ['sci*'], None,
                                {'sci*': .25})
