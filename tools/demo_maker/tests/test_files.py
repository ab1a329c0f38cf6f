"""Folders of the zoo are whole or absent; the manifest only grows."""
import json

import pytest

from csv_plugin.core.conventions import InputError
from tools.demo_maker.files import Manifest, checkpoint_folder
from tools.demo_maker.recipes import CHECKPOINTS, TrainingRecipe

RECIPE = TrainingRecipe(tokens=1000)


def complete(zoo, model):
    for percent in CHECKPOINTS:
        checkpoint_folder(zoo, model, percent).mkdir(parents=True)


def test_models_are_merged(tmp_path):
    first, second = Manifest(tmp_path, RECIPE), Manifest(tmp_path, RECIPE)
    for manifest, model in ((first, 'b-l'), (second, 'a-xs'), (first, 'a-s')):
        complete(tmp_path, model)
        manifest.add(model, {'steps': 1})
    again = Manifest(tmp_path, RECIPE)
    assert list(again.models) == ['a-s', 'a-xs', 'b-l']
    again.add('b-l', {'steps': 2})
    assert first.models['b-l'] == {'steps': 2}
    text = (tmp_path / 'manifest.json').read_text(encoding='utf-8')
    assert json.loads(text)['recipe']['tokens'] == 1000


def test_a_model_without_all_checkpoints_is_not_complete(tmp_path):
    manifest = Manifest(tmp_path, RECIPE)
    complete(tmp_path, 'a-xs')
    assert not manifest.models
    manifest.add('a-xs', {})
    assert 'a-xs' in manifest.models
    checkpoint_folder(tmp_path, 'a-xs', 50).rmdir()
    assert not manifest.models


def test_models_of_another_recipe_are_refused(tmp_path):
    Manifest(tmp_path, RECIPE).add('a-xs', {})
    with pytest.raises(InputError, match='manifest.json: .*recipe'):
        Manifest(tmp_path, TrainingRecipe(tokens=2000))
