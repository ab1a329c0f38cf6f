"""Corpora and the training loop, on very few tokens."""
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tools.demo_maker import training
from tools.demo_maker.files import checkpoint_folder, tokenizer_folder
from tools.demo_maker.recipes import CHECKPOINTS, CONTEXT, TrainingRecipe

torch.set_num_threads(1)
RECIPE = TrainingRecipe(
    tokens=12_000,
    batch_tokens=512,
    warm_up_steps=5,
    matrix_lr=2e-2,
    other_lr=6e-3,
    tokenizer_chars=20_000)


@pytest.fixture(scope='module')
def zoo(tmp_path_factory):
    """A tokenizer and one trained model, and its record."""
    folder = tmp_path_factory.mktemp('zoo')
    training.make_tokenizer(folder, 'a', RECIPE)
    return folder, training.train_model(folder, 'a-xs', RECIPE)


def tokenizer_in(folder):
    return AutoTokenizer.from_pretrained(tokenizer_folder(folder, 'a'))


def weights(folder, model='a-xs', percent=100):
    return load_file(
        checkpoint_folder(folder, model, percent) / 'model.safetensors')


def test_checkpoints_load_in_transformers(zoo):
    folder, record = zoo
    assert {int(p.name)
            for p in (folder / 'a' / 'xs').iterdir()
            } == set(CHECKPOINTS) == set(record['validation_loss'])
    for percent in CHECKPOINTS:
        path = checkpoint_folder(folder, 'a-xs', percent)
        assert {tensor.dtype
                for tensor in weights(folder).values()} == {torch.float16}
        llama = AutoModelForCausalLM.from_pretrained(
            path, torch_dtype=torch.float32)
        assert llama.lm_head.weight is llama.model.embed_tokens.weight
        loss = training.validation_loss(llama, tokenizer_in(folder))
        assert loss == pytest.approx(
            record['validation_loss'][percent], rel=2e-3)
    assert llama.config.max_position_embeddings == CONTEXT
    assert llama.config.head_dim == 16
    for name in ('bos', 'eos', 'pad'):
        token_id = getattr(tokenizer_in(folder), f'{name}_token_id')
        assert getattr(llama.config, f'{name}_token_id') == token_id


def test_same_seed_same_weights(zoo, tmp_path):
    for seed, is_same in ((0, True), (1, False)):
        recipe = replace(RECIPE, seed=seed)
        folder = tmp_path / str(seed)
        training.make_tokenizer(folder, 'a', RECIPE)
        training.train_model(folder, 'a-xs', recipe)
        assert is_same == all(
            torch.equal(weights(zoo[0])[name], tensor)
            for name, tensor in weights(folder).items())


def test_an_interrupted_training_begins_again(tmp_path):
    """Models that are complete are kept."""
    training.train_models(tmp_path, ['a-xs'], RECIPE)
    shutil.rmtree(checkpoint_folder(tmp_path, 'a-xs', 100))
    training.train_models(tmp_path, ['a-s'], RECIPE)
    kept = checkpoint_folder(tmp_path, 'a-s', 100).stat().st_mtime_ns
    training.train_models(tmp_path, ['a-xs', 'a-s'], RECIPE)
    assert weights(tmp_path)
    assert checkpoint_folder(tmp_path, 'a-s', 100).stat().st_mtime_ns == kept
