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

# The models of the test split in the paper's Table 2, which prints one twice.
# Those for training have at most 14 billion parameters, the rest validates.
TEST = {
    'Yi-1.5-34B', 'Meta-Llama-3-70B', 'Meta-Llama-3-70B-Instruct',
    'Yi-1.5-34B-Chat', 'gemma-2-27b', 'gemma-2-27b-it', 'Qwen2-72B',
    'Qwen2-72B-Instruct', 'internlm2_5-20b', 'internlm2_5-20b-chat'
}


def test_sums_of_tables_3_and_4():
    table = paper_accuracies()
    assert table.benchmarks == BENCHMARKS
    shipped = known_benchmarks()
    assert table.chance.tolist() == [shipped[b].chance for b in BENCHMARKS]
    assert table.n_items.tolist() == [shipped[b].n_items for b in BENCHMARKS]
    # In percent, added up from the paper's text.
    np.testing.assert_allclose(100 * table.values.sum(0), COLUMN_SUMS)


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
    for name, info in models.items():
        size, = re.findall(r'-([0-9._]+)b', name.lower())
        assert info.params_b == float(size.replace('_', '.'))
        split = 'train' if info.params_b <= 14 else 'validation'
        assert info.split == ('test' if name in TEST else split)
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
