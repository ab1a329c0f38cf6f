"""Models that were scored in different ways, in words."""
from dataclasses import replace

import pytest

from csv_plugin.core.mixed_engines import mixed_engines, noted, other_engines
from csv_plugin.core.salience import Constant
from tests.runs import TEXTS, dump, model_losses, train

INFO = dump('m', model_losses(1.), TEXTS).info


def scored(**changes):
    """Two models of one way, and one with a change of it."""
    return {'a': INFO, 'b': INFO, 'c': replace(INFO, **changes)}


@pytest.mark.parametrize('change', [
    dict(folder='elsewhere'),
    dict(tokenizer='words'),
    dict(versions={'torch': '3'})
])
def test_one_way(change):
    assert mixed_engines(scored(**change)) == []
    assert other_engines(scored(**change), ['a']) == []


@pytest.mark.parametrize('change, words', [
    (dict(engine='vllm'), 'vllm, float32, no cache'),
    (dict(dtype='bfloat16'), 'transformers, bfloat16, no cache'),
    (dict(cache_dtype='fp8'), 'transformers, float32, cache in fp8'),
])
def test_engines_and_number_formats(change, words):
    [line] = mixed_engines(scored(**change))
    assert 'transformers, float32, no cache (a and 1 more); ' in line
    assert f'; {words} (c). Half precision' in line
    assert other_engines(scored(**change), ['a', 'c']) == []
    [line] = other_engines(scored(**change), ['a', 'b'])
    assert (f'in another way, {words} (c), than those to fit to, '
            'transformers, float32, no cache (a and 1 more). ') in line


def test_ways_are_in_the_order_of_the_models():
    fitted = {
        name: replace(INFO, dtype=name)
        for name in ('float32', 'bfloat16', 'float16', 'float64', 'int8')
    }
    [line] = other_engines({**fitted, 'x': replace(INFO, engine='y')}, fitted)
    usual = line.partition('those to fit to, ')[2]
    places = [usual.index(f'({name})') for name in fitted]
    assert places == sorted(places)


def test_notes_of_benchmarks_that_losses_predict():
    before = train()
    for old, new in zip(before.benchmarks,
                        noted(before, ['mixed']).benchmarks):
        assert new.notes == (*old.notes, 'mixed')
    constant = train(solver=Constant())
    for part in noted(constant, ['mixed']).benchmarks:
        assert 'mixed' not in part.notes
