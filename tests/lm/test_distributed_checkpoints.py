"""Distributed checkpoints of torch, saved by its own functions."""
import json
import pickle
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from torch.distributed import checkpoint

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.loading import load_causal_lm
from tests.lm.models import make

pytestmark = pytest.mark.filterwarnings('ignore')


@pytest.fixture
def model(tmp_path):
    """A model, and a folder `config` with its config.json alone."""
    made = make('llama')
    made.config.save_pretrained(tmp_path / 'config')
    return made


@pytest.mark.parametrize('wrapped', [
    lambda weights: weights,
    # What is not of the model is not read, whatever it is.
    lambda weights: {'model': weights, 'optimizer': {'lr': torch.ones(1)},
                     'step': Fraction(7)},
    lambda weights: {'app': {'model': {
        f'_orig_mod.{name}': value for name, value in weights.items()}}},
    lambda weights: {'state_dict': {
        f'model.{name}': value for name, value in weights.items()}},
])  # yapf: disable
def test_weights_are_converted(model, tmp_path, wrapped):
    checkpoint.save(
        wrapped(model.state_dict()), checkpoint_id=tmp_path / 'step')
    loaded = load_causal_lm(tmp_path / 'step', True, 'float32',
                            tmp_path / 'config')
    tokens = torch.arange(20)[None]
    with torch.no_grad():
        assert torch.equal(
            loaded(tokens.to(loaded.device)).logits.cpu(),
            model(tokens).logits)


def test_what_cannot_be_converted_is_one_line(model, tmp_path):
    step, config = tmp_path / 'step', tmp_path / 'config'
    weights = model.state_dict()
    checkpoint.save({'model': weights}, checkpoint_id=step)
    with pytest.raises(InputError, match='Give --config'):
        load_causal_lm(step, True)
    checkpoint.save({'model': {'tok_embeddings': torch.ones(2)}},
                    checkpoint_id=step)  # yapf: disable
    with pytest.raises(InputError, match='found tok_embeddings'):
        load_causal_lm(step, True, config=config)
    weights.pop('model.norm.weight')
    checkpoint.save({'model': weights}, checkpoint_id=step)
    with pytest.raises(InputError, match='none for 1, such as model.norm'):
        load_causal_lm(step, True, config=config)
    (step / '__0_0.distcp').unlink()
    (step / 'config.json').write_text(
        json.dumps(model.config.to_diff_dict(), default=str))
    with pytest.raises(InputError, match='all of its files, intact'):
        load_causal_lm(step, True)


class Touching:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path, )


def test_nothing_is_unpickled_unless_it_is_trusted(model, tmp_path):
    step, trace = tmp_path / 'step', tmp_path / 'trace'
    step.mkdir()
    (step / '.metadata').write_bytes(pickle.dumps(Touching(trace)))
    with pytest.raises(InputError, match='pickles, which may run code'):
        load_causal_lm(step, config=tmp_path / 'config')
    assert not trace.exists()
    with pytest.raises(InputError):
        load_causal_lm(step, True, config=tmp_path / 'config')
    assert trace.exists()
