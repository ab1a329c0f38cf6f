"""Splits of models: of a table, by size, and of the paper."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.splits import paper_split
from csv_plugin.io.model_splits import (FAMILY_SIZE, PAPER, SPLITS, TABLE,
                                        named_models, split_models)
from csv_plugin.io.paper import paper_accuracies, paper_models
from csv_plugin.io.tables import ModelInfo

INFO = {
    name: ModelInfo(family, 'test', size)
    for name, family, size in (('y-9', 'y', 9.), ('y-6', 'y', 6.),
                               ('q-7', 'q', 7.), ('y-34', 'y',
                                                  34.), ('q-72', 'q', 72.))
}


def splits_of(info):
    return {model: info[model].split for model in info}


def write(folder, text):
    path = folder / 'models.csv'
    path.write_text(text)
    return path


def test_splits_of_the_table(tmp_path):
    path = write(tmp_path, 'model,family,split\nb,x,test\na,x,val\nc,y,\n')
    assert splits_of(named_models(path, TABLE)) == {
        'b': 'test', 'a': 'validation', 'c': ''}  # yapf: disable
    assert split_models(INFO, TABLE) == INFO


def test_the_table_may_have_no_splits(tmp_path):
    """It is an error only where models of a split are asked for."""
    path = write(tmp_path, 'model,family\nb,x\n')
    assert splits_of(named_models(path, TABLE)) == {'b': ''}


def test_by_size_within_each_family(tmp_path):
    """The largest for test, the next for validation, not as in the table."""
    models = split_models(INFO, FAMILY_SIZE)
    assert list(models) == list(INFO)
    assert splits_of(models) == {
        'y-9': 'validation', 'y-6': 'train', 'q-7': 'train', 'y-34': 'test',
        'q-72': 'test'}  # yapf: disable
    assert {type(split) for split in splits_of(models).values()} == {str}
    for model, info in INFO.items():
        assert models[model] == replace(info, split=models[model].split)
    path = write(tmp_path, 'model,family,params_b\na,x,1\nb,x,2\n')
    assert splits_of(named_models(path, FAMILY_SIZE)) == {
        'a': 'train', 'b': 'test'}  # yapf: disable


def test_by_size_needs_sizes(tmp_path):
    path = write(tmp_path, 'model,family,params_b\na,x,1\nb,z,\n')
    with pytest.raises(
            InputError, match='params_b of every model, found none of b'):
        named_models(path, FAMILY_SIZE)


def test_the_paper_names_models_and_splits(tmp_path):
    models, evaluated = named_models(None, PAPER), paper_accuracies().models
    # Its models that have both a split and accuracies.
    assert models == {
        model: info
        for model, info in paper_models().items() if model in evaluated
    }
    assert len(models) == 57
    assert splits_of(models).items() < paper_split().items()
    path = write(
        tmp_path, 'model,family,split\nYi-34B,mine,train\n'
        'Meta-Llama-3-70B,mine,train\n')
    models = named_models(path, PAPER)
    assert splits_of(models) == {
        'Yi-34B': 'validation', 'Meta-Llama-3-70B': 'test'}  # yapf: disable
    assert {info.family for info in models.values()} == {'mine'}
    assert all(np.isnan(info.params_b) for info in models.values())


def test_all_models_that_the_paper_lacks_are_named():
    info = {**INFO, 'Yi-34B': ModelInfo('Yi', '', 34.)}
    with pytest.raises(InputError, match=f'found {", ".join(INFO)}\\. '):
        split_models(info, PAPER)


@pytest.mark.parametrize('split', [TABLE, FAMILY_SIZE])
def test_without_a_table_only_the_paper_has_models(split):
    assert set(SPLITS) == {TABLE, FAMILY_SIZE, PAPER}
    with pytest.raises(InputError, match='a table of models, found none'):
        named_models(None, split)
