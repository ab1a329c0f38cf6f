"""Recipes: that of the paper, and those of the command line."""
from collections import Counter

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.text_sampling.host_datasets import (benchmark_name,
                                                           find_config)
from csv_plugin.extras.text_sampling.recipes import (PAPER_RECIPE, SOURCES,
                                                     TextSource,
                                                     recipe_of_samples)


def test_the_default_is_that_of_the_paper():
    counts = Counter({source.name: source.count for source in PAPER_RECIPE})
    assert counts.total() == 550
    assert counts.pop('bbh_cot') == 50 and set(counts.values()) == {100}
    assert 'ceval' not in counts and len(counts) == 5
    assert [s.name for s in PAPER_RECIPE if s.chain_of_thought] == ['bbh_cot']


def test_samples():
    assert recipe_of_samples(['bbh_cot=5', 'hellaswag_ppl_9dbb12=7'
                              ]) == (TextSource('bbh_cot', 'bbh_gen_98fba6', 5,
                                                True),
                                     TextSource('hellaswag',
                                                'hellaswag_ppl_9dbb12', 7))


@pytest.mark.parametrize('samples, message', [
    (['gsm8k'], 'NAME=COUNT'),
    (['gsm8k=5', 'gsm8k_gen_1d7fe4=5'], "--sample: .*'gsm8k' twice"),
    (['gsm9k=5'], "dataset 'gsm9k': .*found none"),
])
def test_bad_samples(samples, message):
    with pytest.raises(InputError, match=message):
        recipe_of_samples(samples)


def test_known_configs_are_there_and_pinned():
    for source in SOURCES.values():
        assert find_config(source.dataset).stem == source.dataset
        assert benchmark_name(
            source.dataset) == source.name.removesuffix('_cot')
        assert len(source.dataset.rpartition('_')[2]) == 6  # a hash
