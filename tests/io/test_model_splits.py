"""Models to train on and to predict."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.splits import paper_split
from csv_plugin.io.model_splits import (FAMILY_SIZE, PAPER, SPLITS, TABLE,
                                        named_models, split_models)
from csv_plugin.io.paper import paper_models, paper_scores
from csv_plugin.io.tables import ModelInfo

INFO = {
    name: ModelInfo(family, 'test', size)
    for name, family, size in (('y-9', 'y', 9.), ('y-6', 'y', 6.),
                               ('q-7', 'q', 7.), ('y-34', 'y',
                                                  34.), ('q-72', 'q', 72.))
}


def splits_of(info):
    return {model: known.split for model, known in info.items()}


def write(folder, text):
    path = folder / 'models.csv'
    path.write_text(text)
    return path


def test_the_table_says_it_all(tmp_path):
    path = write(tmp_path, 'model,family,split\nb,x,test\na,x,val\nc,y,\n')
    assert splits_of(named_models(path, TABLE)) == {
        'b': 'test', 'a': 'validation', 'c': ''}  # yapf: disable
    assert split_models(INFO, TABLE) == INFO


def test_the_table_may_tell_no_split(tmp_path):
    """The missing split is missed where models of one are wanted."""
    path = write(tmp_path, 'model,family\nb,x\n')
    assert splits_of(named_models(path, TABLE)) == {'b': ''}


def test_by_size_within_each_family(tmp_path):
    """Largest for test, next for validation, whatever the table says."""
    found = split_models(INFO, FAMILY_SIZE)
    assert list(found) == list(INFO)
    assert splits_of(found) == {
        'y-9': 'validation', 'y-6': 'train', 'q-7': 'train', 'y-34': 'test',
        'q-72': 'test'}  # yapf: disable
    assert {type(split) for split in splits_of(found).values()} == {str}
    for model, known in INFO.items():
        assert (found[model].family, found[model].params_b) == (known.family,
                                                                known.params_b)
    path = write(tmp_path, 'model,family,params_b\na,x,1\nb,x,2\n')
    assert splits_of(named_models(path, FAMILY_SIZE)) == {
        'a': 'train', 'b': 'test'}  # yapf: disable


def test_by_size_needs_sizes(tmp_path):
    path = write(tmp_path, 'model,family,params_b\na,x,1\nb,z,\n')
    with pytest.raises(
            InputError, match='params_b of every model, found none of b'):
        named_models(path, FAMILY_SIZE)


def test_the_paper_names_models_and_splits(tmp_path):
    found, scored = named_models(None, PAPER), paper_scores().models
    # Its models that have both a split and scores.
    assert found == {
        model: known
        for model, known in paper_models().items() if model in scored
    }
    assert len(found) == 57
    assert splits_of(found).items() < paper_split().items()
    path = write(
        tmp_path, 'model,family,split\nYi-34B,mine,train\n'
        'Meta-Llama-3-70B,mine,train\n')
    found = named_models(path, PAPER)
    assert splits_of(found) == {
        'Yi-34B': 'validation', 'Meta-Llama-3-70B': 'test'}  # yapf: disable
    assert {known.family for known in found.values()} == {'mine'}
    assert all(np.isnan(known.params_b) for known in found.values())


def test_all_models_that_the_paper_lacks_are_named():
    info = {**INFO, 'Yi-34B': ModelInfo('Yi', '', 34.)}
    with pytest.raises(InputError, match=f'found {", ".join(INFO)}\\. '):
        split_models(info, PAPER)


@pytest.mark.parametrize('split', [TABLE, FAMILY_SIZE])
def test_without_a_table_only_the_paper_has_models(split):
    assert set(SPLITS) == {TABLE, FAMILY_SIZE, PAPER}
    with pytest.raises(InputError, match='a table of models, found none'):
        named_models(None, split)
