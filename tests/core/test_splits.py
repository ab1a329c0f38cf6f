import csv
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.splits import grouped_folds, paper_split, split_by_size

PAPER = (
    Path(__file__).parents[3] / 'shared/paper/capability-salience-vector.md')
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
FAMILIES = st.lists(st.sampled_from('abcdefg'), min_size=2, max_size=40)
SEEDS = st.integers(0, 2**32 - 1)


@given(
    FAMILIES.filter(lambda names: len(set(names)) > 1), st.integers(2, 9),
    SEEDS)
@settings(deadline=None)
def test_folds_keep_families_whole(families, n_folds, seed) -> None:
    folds = grouped_folds(families, n_folds, seed)
    assert len(set(zip(families, folds.tolist()))) == len(set(families))
    n_used = min(n_folds, len(set(families)))
    assert set(folds.tolist()) == set(range(n_used))
    # Greedy balance: no fold exceeds another by more than one family.
    sizes, largest = np.bincount(folds), max(Counter(families).values())
    assert sizes.max() - sizes.min() <= largest


@given(FAMILIES.filter(lambda names: len(set(names)) > 1), SEEDS)
@settings(deadline=None)
def test_folds_follow_the_seed_and_not_the_order_of_models(families,
                                                           seed) -> None:
    folds = grouped_folds(families, 3, seed)
    np.testing.assert_array_equal(folds, grouped_folds(families, 3, seed))
    np.testing.assert_array_equal(folds[::-1],
                                  grouped_folds(families[::-1], 3, seed))


def test_the_largest_families_are_placed_first() -> None:
    # Placed in alphabetical or most other orders, the folds differ in size.
    for seed in range(20):
        folds = grouped_folds(list('abbcccdddd'), 2, seed)
        np.testing.assert_array_equal(np.bincount(folds), [5, 5])


@pytest.mark.parametrize('families, n_folds, message', [
    (['Yi', 'Yi'], 5, r"at least two families, found \['Yi'\]"),
    (['Yi', 'Qwen2'], 1, 'n_folds: expected at least 2, found 1'),
])
def test_too_few_families_or_folds_are_refused(families, n_folds,
                                               message) -> None:
    with pytest.raises(InputError, match=message):
        grouped_folds(families, n_folds, seed=0)


@pytest.mark.parametrize('sizes, expected', [
    ([7, 1, 72, 14, 7], ['train', 'train', 'test', 'validation', 'train']),
    ([7, 72, 72, 7], ['train', 'test', 'test', 'train']),
    ([7, 7], ['train', 'train']),
    ([1, 2, 3, 4], ['train', 'train', 'validation', 'test']),
])
def test_larger_sizes_of_a_family_are_held_back(sizes, expected) -> None:
    families = ['Yi'] * len(sizes)
    assert split_by_size(families, sizes).tolist() == expected
    # Of each family by itself.
    both = split_by_size([*families, 'Phi'], [*sizes, 100])
    assert both.tolist() == [*expected, 'train']


def test_paper_split_has_the_sizes_of_table_2_as_printed() -> None:
    table = files('csv_plugin.data').joinpath('paper_table2.csv')
    rows = list(csv.DictReader(table.read_text('utf-8').splitlines()))
    for split, printed in PRINTED.items():
        # Without the second Yi-1.5-34B-Chat.
        cells = ' / '.join(dict.fromkeys(printed))
        braces = re.findall(r'\{?([\d., ]+)\}?B', cells)
        expected = [float(n) for part in braces for n in part.split(',')]
        sizes = [
            float(row['params_b']) for row in rows if row['split'] == split
        ]
        assert sorted(sizes) == sorted(expected)
    counts = Counter(paper_split().values())
    assert counts == {'train': 38, 'validation': 11, 'test': 10}


def test_paper_split_names_are_those_of_tables_3_and_4() -> None:
    if not PAPER.exists():
        pytest.skip('the text of the paper is not beside the repository')
    tables = PAPER.read_text('utf-8').split('Table 3:')[1]
    scored = set(re.findall(r'^(\S+)(?:\t[\d.]+){6}$', tables, re.MULTILINE))
    assert len(scored) == 59
    assert paper_split().keys() - scored == {
        'internlm2.5-1.8B-chat-sft', 'internlm2.5-7B-chat-sft'
    }
    assert scored - paper_split().keys() == {'gemma-2-2b-it', 'gemma-2-9b-it'}
