"""The files that ship are those that the recipes make."""
import json
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from csv_plugin.core.study import MEAN_LOSS, SALIENCE
from csv_plugin.core.texts import Text
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.engines.token_losses import token_losses
from tools.demo_maker import building, training, world
from tools.demo_maker.__main__ import shipped_fit
from tools.demo_maker.files import checkpoint_folder, tokenizer_folder
from tools.demo_maker.recipes import TrainingRecipe, recipe_of

#: Largest sizes in bytes, of the whole demonstration and of its models.
MOST = 25e6
MOST_IN_MODELS = 15e6

MANIFEST = json.loads((shipped.ZOO / 'manifest.json').read_text('utf-8'))


@pytest.fixture(scope='module')
def collection():
    return read_collection(shipped.COLLECTION)


def size_of(folder, pattern='*'):
    return sum(f.stat().st_size for f in folder.rglob(pattern)
               if f.is_file() and f.suffix != '.pyc')


def test_the_files_are_small():
    assert 1e6 < size_of(shipped.ZOO, '*.safetensors') < MOST_IN_MODELS
    assert size_of(shipped.ZOO.parent) < MOST


def test_the_texts_are_those_of_the_world(collection):
    expected = world.validation_texts()
    assert read_texts(shipped.TEXTS).fingerprint == expected.fingerprint
    assert collection.texts.fingerprint == expected.fingerprint


def test_every_checkpoint_has_losses_and_accuracies(collection):
    names = [building.abbr(*which) for which in building.checkpoints()]
    assert list(collection.losses) == names
    assert np.isfinite(collection.accuracies.values).all()
    for model, percent in building.checkpoints():
        name = building.abbr(model, percent)
        info = collection.info[name]
        accuracies = collection.accuracies.select([name]).values[0]
        assert dict(zip(world.KINDS, accuracies)) == pytest.approx(
            MANIFEST['models'][model]['scores'][str(percent)])
        assert info.split == building.split_of(model, percent)
        assert info.family == f'series {recipe_of(model)[0].family}'


def test_held_out_models_were_not_fitted_to():
    for path in (shipped.PREDICTOR, shipped.BASELINE):
        for benchmark in load_predictor(path).benchmarks:
            held_out = {building.abbr(*which) for which in building.HELD_OUT}
            assert not held_out & set(benchmark.fit_models)


@pytest.mark.parametrize('model, percent', building.HELD_OUT)
def test_models_have_the_losses_of_the_collection(collection, model, percent):
    torch.set_num_threads(1)
    llama = AutoModelForCausalLM.from_pretrained(
        checkpoint_folder(shipped.ZOO, model, percent)).float()
    tokenizer = AutoTokenizer.from_pretrained(
        tokenizer_folder(shipped.ZOO, model[0]))
    texts = collection.texts.texts[::25]
    stored = {
        losses.text_id: losses
        for losses in collection.losses[building.abbr(model, percent)].texts
    }
    for losses in token_losses(llama, tokenizer, texts):
        np.testing.assert_allclose(
            losses.losses,
            stored[losses.text_id].losses,
            atol=building.LOSS_STEP)


def assert_same_predictions(predicted, expected):
    assert predicted.benchmarks == expected.benchmarks
    for part in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            getattr(predicted, part), getattr(expected, part), atol=1e-6)


@pytest.mark.parametrize('method, path', [(SALIENCE, shipped.PREDICTOR),
                                          (MEAN_LOSS, shipped.BASELINE)])
def test_predictors_are_fits_to_the_collection(collection, method, path):
    assert_same_predictions(
        shipped_fit(collection, method).predict(collection.losses),
        load_predictor(path).predict(collection.losses))


def accuracy(folder, tokenizer, kind):
    """Share of the exam's questions whose right option has the least loss."""
    llama = AutoModelForCausalLM.from_pretrained(folder).float()
    items = world.exam(kind)
    options = [
        Text(f'{i} {o}', item.question + option)
        for i, item in enumerate(items)
        for o, option in enumerate(item.options)
    ]
    means = np.array([
        losses.losses.sum() / (len(losses.losses) + 1)
        for losses in token_losses(llama, tokenizer, options)
    ]).reshape(-1, 4)
    chosen = np.take(list('ABCD'), means.argmin(axis=1))
    return np.mean(chosen == [item.label for item in items])


@pytest.mark.long
def test_the_smallest_model_can_be_trained_again(tmp_path):
    """Rounding may tell two machines apart, and more so with every step."""
    training.use_one_core()
    folder = tokenizer_folder(shipped.ZOO, 'd')
    shutil.copytree(folder, tokenizer_folder(tmp_path, 'd'))
    record = training.train_model(tmp_path, 'd-xs', TrainingRecipe())
    stored = MANIFEST['models']['d-xs']
    for part in ('seed', 'parameters', 'tokens', 'steps'):
        assert record[part] == stored[part]
    for percent, tolerance in ((10, .02), (100, .1)):
        assert record['validation_loss'][percent] == pytest.approx(
            stored['validation_loss'][str(percent)], rel=tolerance)
    trained_accuracy = accuracy(
        checkpoint_folder(tmp_path, 'd-xs', 100),
        AutoTokenizer.from_pretrained(folder), 'chinese')
    # Far from guessing (.25), and as OpenCompass evaluated the stored model.
    assert trained_accuracy == pytest.approx(
        stored['scores']['100']['chinese'], abs=.15)
