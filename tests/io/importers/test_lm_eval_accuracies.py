"""Accuracies from real results of lm-evaluation-harness."""
import shutil

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.importers.lm_eval_accuracies import read_lm_eval_accuracies
from tests.io.importers.outputs import LM_EVAL, MODELS, change_json

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


def test_a_task_that_was_not_run_names_those_that_were():
    with pytest.raises(InputError, match='tiny_answer, tiny_choice'):
        read_lm_eval_accuracies(PATHS, ['mmlu'])


def test_a_chance_level_is_needed():
    with pytest.raises(InputError, match='--chance tiny_choice'):
        read_lm_eval_accuracies(PATHS, ['tiny_choice'])


@pytest.mark.parametrize('field, value, message', [
    ('acc_norm,none', 54.3, "a fraction as 'acc_norm,none', found 54.3"),
    ('acc_norm,none', 'N/A', "a fraction as 'acc_norm,none'"),
    ('sample_len', 3, 'one number of items .* 3, 4'),
    ('sample_len', '4', "a whole number as 'sample_len'"),
])
def test_what_is_no_accuracy_of_all_items_is_refused(tmp_path, field, value,
                                                     message):
    for path in PATHS:
        shutil.copytree(path, tmp_path / path.name)
    change_json(
        max((tmp_path / 'd-s-100').glob('results_*')), lambda content: content[
            'results']['tiny_choice'].update({field: value}))
    with pytest.raises(InputError, match=message):
        read_lm_eval_accuracies([tmp_path / model for model in MODELS],
                                ['tiny_choice'],
                                chance={'tiny_choice': 0.4})
