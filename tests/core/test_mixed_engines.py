"""Models that were scored in different ways, in words."""
from dataclasses import replace

import pytest

from csv_plugin.core.mixed_engines import MIXED, mixed_engines, noted
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


@pytest.mark.parametrize('change, words', [
    (dict(engine='vllm'), 'vllm, float32, no cache'),
    (dict(dtype='bfloat16'), 'transformers, bfloat16, no cache'),
    (dict(cache_dtype='fp8'), 'transformers, float32, cache in fp8'),
])
def test_engines_and_number_formats(change, words):
    [line] = mixed_engines(scored(**change))
    assert 'transformers, float32, no cache (a and 1 more); ' in line
    assert f'; {words} (c). Half precision' in line


def test_notes_of_benchmarks_that_losses_predict():
    before, infos = train(), scored(engine='vllm')
    for old, new in zip(before.benchmarks, noted(before, infos).benchmarks):
        assert new.notes == (*old.notes, *mixed_engines(infos))
    same = noted(before, scored()).benchmarks
    assert [p.notes for p in same] == [p.notes for p in before.benchmarks]
    constant = train(solver=Constant())
    for part in noted(constant, infos).benchmarks:
        assert not any(note.startswith(MIXED) for note in part.notes)
