"""Tables of the paper, against its text; splits of models."""
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.io.known_benchmarks import known_benchmarks
from csv_plugin.io.paper import (paper_accuracies, paper_models, paper_weights,
                                 read_models_or_paper)

PAPER_TEXT = (
    Path(__file__).parents[3] / 'shared/paper/capability-salience-vector.md')
BENCHMARKS = ('bbh', 'ceval-test', 'cmmlu', 'gsm8k', 'hellaswag', 'mmlu')
COLUMN_SUMS = [3394.88, 3804.13, 3875.35, 3778.21, 4189.00, 3858.14]

# The paper's Table 2 as printed.
PRINTED = {
    'train': [
        'Llama-2-{7, 13}B', 'Llama-2-{7, 13}B-chat', 'Qwen1.5{1.8, 4, 7, 14}B',
        'Qwen1.5{1.8, 4, 7, 14}B-chat', 'Llama3-8B', 'Llama3-8B-Instruct',
        'Qwen2{1.5, 7}B', 'Qwen2{1.5, 7}B-Instruct', 'Yi-{6}B', 'Yi-{6}B-chat',
        'Yi1.5-{6, 9}B', 'Yi1.5-{6, 9}B-chat', 'Gemma2-2-{2, 9}B',
        'internlm2-{1.8, 7}B', 'internlm2-{1.8, 7}B-chat',
        'internlm2-{1.8, 7}B-chat-sft', 'internlm2.5-{1.8, 7}B',
        'internlm2.5-{1.8, 7}B-chat', 'internlm2.5-{1.8, 7}B-chat-sft'
    ],
    'validation': [
        'Llama-2-70B', 'Llama-2-70B-chat', 'Qwen1.5-{32, 72}B',
        'Qwen1.5-{32, 72}B-Chat', 'internlm2-chat-20B', 'internlm2-20B',
        'internlm2-chat-20B-sft', 'Yi-{34}B', 'Yi-{34}B-chat'
    ],
    'test': [
        'Yi-1.5-34B', 'Llama-3-70B', 'Llama-3-70B-Instruct', 'Yi-1.5-34B-Chat',
        'gemma-2-27B', 'gemma-2-27B-it', 'Qwen2-72B', 'Qwen2-72B-Instruct',
        'internlm2_5-20B', 'internlm2_5-20B-chat', 'Yi-1.5-34B-Chat'
    ],
}


def test_sums_and_cells_of_tables_3_and_4():
    table = paper_accuracies()
    assert table.benchmarks == BENCHMARKS
    assert table.values.shape == (59, 6)
    shipped = known_benchmarks()
    for name, chance, n_items in zip(table.benchmarks, table.chance,
                                     table.n_items):
        assert (chance, n_items) == (shipped[name].chance,
                                     shipped[name].n_items)
    # In percent, added up from the paper's text.
    np.testing.assert_allclose(100 * table.values.sum(0), COLUMN_SUMS)
    cells = dict(zip(table.models, table.values))
    np.testing.assert_array_equal(cells['Llama-2-7b-hf'],
                                  [.3827, .3013, .3275, .1676, .2929, .4678])
    np.testing.assert_array_equal(cells['Qwen2-1.5B'],
                                  [.3575, .6932, .7058, .5906, .4676, .5745])


def test_every_cell_is_that_of_the_paper():
    if not PAPER_TEXT.is_file():
        pytest.skip('the paper is not at ../shared')
    lines = [
        line.split('\t')
        for line in PAPER_TEXT.read_text('utf-8').splitlines()
        if line.count('\t') == 6
    ]
    headers = [line for line in lines if line[0] == 'model']
    assert headers == [['model', *BENCHMARKS]] * 2
    lines = [line for line in lines if line[0] != 'model']
    table = paper_accuracies()
    assert list(table.models) == [line[0] for line in lines]
    np.testing.assert_allclose(100 * table.values,
                               np.array([line[1:] for line in lines], float))


def test_names_agree_between_the_tables():
    models, evaluated = set(paper_models()), set(paper_accuracies().models)
    assert {*paper_weights()} == evaluated
    assert len(models & evaluated) == 57
    assert evaluated - models == {'gemma-2-2b-it', 'gemma-2-9b-it'}
    assert models - evaluated == {
        'internlm2.5-1.8B-chat-sft', 'internlm2.5-7B-chat-sft'
    }


def test_models_have_the_split_series_and_size_of_table_2():
    models = paper_models()
    for split, printed in PRINTED.items():
        # Without the second Yi-1.5-34B-Chat.
        cells = ' / '.join(dict.fromkeys(printed))
        braces = re.findall(r'\{?([\d., ]+)\}?B', cells)
        expected = [float(n) for part in braces for n in part.split(',')]
        sizes = [
            info.params_b for info in models.values() if info.split == split
        ]
        assert sorted(sizes) == sorted(expected)
    counts = Counter(info.split for info in models.values())
    assert counts == {'train': 38, 'validation': 11, 'test': 10}
    assert len({info.family for info in models.values()}) == 9


def test_the_paper_in_place_of_a_table(tmp_path):
    models, evaluated = paper_models(), paper_accuracies().models
    assert read_models_or_paper('paper') == {
        name: info
        for name, info in models.items() if name in evaluated
    }
    (tmp_path / 'models.csv').write_text('model,family,split\nb,x,test\n')
    assert list(read_models_or_paper(tmp_path / 'models.csv')) == ['b']
