"""Tables 2 to 4 of the paper, against its text and sums of its cells."""
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.splits import paper_split
from csv_plugin.io.known_benchmarks import known_benchmarks
from csv_plugin.io.paper import paper_accuracies, paper_models, paper_weights

PAPER = (
    Path(__file__).parents[3] / 'shared/paper/capability-salience-vector.md')
BENCHMARKS = ('bbh', 'ceval-test', 'cmmlu', 'gsm8k', 'hellaswag', 'mmlu')
COLUMN_SUMS = [3394.88, 3804.13, 3875.35, 3778.21, 4189.00, 3858.14]
ROW_SUMS = {
    'Llama-2-7b-hf': 193.98,
    'Llama-2-13b-hf': 252.56,
    'llama-2-70b-hf': 356.67,
    'Qwen1.5-1.8B': 267.46,
    'Qwen1.5-4B': 328.27,
    'Qwen1.5-7B': 369.24,
    'Qwen1.5-14B': 420.75,
    'Qwen1.5-32B': 465.42,
    'Qwen1.5-72B': 471.8,
    'Qwen2-7B': 437.95,
    'Qwen2-72B': 521.07,
    'Yi-6B': 360.1,
    'Yi-34B': 457.88,
    'Yi-1.5-6B': 391.16,
    'Yi-1.5-9B': 440.6,
    'Yi-1.5-34B': 483.45,
    'Qwen1.5-1.8B-Chat': 247.8,
    'Qwen1.5-4B-Chat': 325.55,
    'Qwen1.5-7B-Chat': 358.81,
    'Qwen1.5-14B-Chat': 418.47,
    'Qwen1.5-32B-Chat': 472.07,
    'Qwen1.5-72B-Chat': 481.02,
    'Qwen2-7B-Instruct': 464.05,
    'Qwen2-72B-Instruct': 527.82,
    'Yi-6B-Chat': 344.36,
    'Yi-34B-Chat': 444.69,
    'Yi-1.5-6B-Chat': 411.1,
    'Yi-1.5-9B-Chat': 451.03,
    'Yi-1.5-34B-Chat': 484.61,
    'internlm2-1_8b': 247.34,
    'internlm2-7b': 418.61,
    'internlm2-20b': 442.64,
    'internlm2-chat-1_8b': 277.19,
    'internlm2-chat-1_8b-sft': 278.0,
    'internlm2-chat-7b': 401.52,
    'internlm2-chat-7b-sft': 399.94,
    'internlm2-chat-20b': 430.12,
    'internlm2-chat-20b-sft': 431.54,
    'internlm2_5-1_8b-chat': 320.38,
    'internlm2_5-7b': 448.62,
    'internlm2_5-7b-chat': 453.78,
    'internlm2_5-20b-chat': 465.82,
    'internlm2_5-1_8b': 321.02,
    'internlm2_5-20b': 480.21,
    'Meta-Llama-3-8B': 331.04,
    'Meta-Llama-3-70B': 444.01,
    'Llama-2-7b-chat-hf': 225.96,
    'Llama-2-13b-chat-hf': 275.99,
    'Meta-Llama-3-8B-Instruct': 374.07,
    'Meta-Llama-3-70B-Instruct': 475.93,
    'gemma-2-2b-it': 309.59,
    'gemma-2-9b-it': 421.97,
    'gemma-2-27b-it': 446.66,
    'gemma-2-27b': 429.63,
    'gemma-2-2b': 274.64,
    'gemma-2-9b': 405.51,
    'Llama-2-70b-chat-hf': 329.98,
    'Qwen2-1.5B-Instruct': 349.34,
    'Qwen2-1.5B': 338.92,
}


def test_sums_and_cells_of_tables_3_and_4() -> None:
    table = paper_accuracies()
    assert table.benchmarks == BENCHMARKS
    assert table.values.shape == (59, 6)
    # In percent, added up from the paper's text.
    np.testing.assert_allclose(100 * table.values.sum(0), COLUMN_SUMS)
    rows = dict(zip(table.models, 100 * table.values.sum(1)))
    assert {name: round(rows[name], 2) for name in ROW_SUMS} == ROW_SUMS
    cells = dict(zip(table.models, table.values))
    np.testing.assert_array_equal(cells['Llama-2-7b-hf'],
                                  [.3827, .3013, .3275, .1676, .2929, .4678])
    np.testing.assert_array_equal(cells['Qwen2-1.5B'],
                                  [.3575, .6932, .7058, .5906, .4676, .5745])


def test_every_cell_is_that_of_the_paper() -> None:
    if not PAPER.is_file():
        pytest.skip('the paper is not at ../shared')
    lines = [
        line.split('\t') for line in PAPER.read_text('utf-8').splitlines()
        if line.count('\t') == 6
    ]
    headers = [line for line in lines if line[0] == 'model']
    assert headers == [['model', *BENCHMARKS]] * 2
    lines = [line for line in lines if line[0] != 'model']
    table = paper_accuracies()
    assert list(table.models) == [line[0] for line in lines]
    np.testing.assert_allclose(100 * table.values,
                               np.array([line[1:] for line in lines], float))


def test_benchmarks_are_known() -> None:
    shipped, table = known_benchmarks(), paper_accuracies()
    for name, chance, n_items in zip(table.benchmarks, table.chance,
                                     table.n_items):
        assert (chance, n_items) == (shipped[name].chance,
                                     shipped[name].n_items)


def test_names_agree_between_the_tables() -> None:
    models, evaluated = set(paper_models()), set(paper_accuracies().models)
    assert len(models & evaluated) == 57
    assert evaluated - models == {'gemma-2-2b-it', 'gemma-2-9b-it'}
    assert models - evaluated == {
        'internlm2.5-1.8B-chat-sft', 'internlm2.5-7B-chat-sft'
    }


def test_models_have_the_split_series_and_size_of_table_2() -> None:
    models = paper_models()
    assert {name: info.split for name, info in models.items()} == paper_split()
    assert {info.family
            for info in models.values()} == {
                'Llama2', 'Llama3', 'Qwen1.5', 'Qwen2', 'Yi', 'Yi1.5',
                'Gemma2', 'InternLM2', 'InternLM2.5'
            }
    assert models['internlm2_5-20b'].params_b == 20
    assert models['internlm2_5-20b'].split == 'test'
    largest = {
        split:
        max(info.params_b for info in models.values() if info.split == split)
        for split in ('train', 'validation', 'test')
    }
    assert largest == {'train': 14, 'validation': 72, 'test': 72}


def test_weights_are_those_of_the_models_with_accuracies() -> None:
    weights, models = paper_weights(), paper_models()
    assert {*weights} == {*paper_accuracies().models}
    for name, listed in weights.items():
        assert listed.path.split('/')[1].lower() == name.lower()
        # 16 bits a parameter fill less than half of the GPUs, of 80 GB each.
        filled = 2 * models[name.removesuffix('-it')].params_b / 80
        assert filled < listed.gpus / 2
        assert listed.gpus == 1 or filled >= listed.gpus / 4
