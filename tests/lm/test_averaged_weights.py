"""The mean of weights is a checkpoint like those it is made of."""
import errno
import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file

from csv_plugin.cli.salience import main
from csv_plugin.core.conventions import InputError
from csv_plugin.io.weight_files import weights_mark
from csv_plugin.lm import averaged_weights
from csv_plugin.lm.averaged_weights import RECORD, average_weights

CONFIG = {'architectures': ['A'], 'hidden_size': 2}


def tensors(value, dtype=torch.float32):
    return {
        'a.weight': torch.full((2, 3), value, dtype=dtype),
        'b.bias': torch.tensor(2 * value, dtype=dtype),
        'positions': torch.arange(4)
    }


def save(folder, stored, config=None, shards=1):
    """A checkpoint with some tensors, in one file or several."""
    folder.mkdir(parents=True)
    names = sorted(stored)
    for s in range(shards):
        file = f'model-{s + 1}-of-{shards}.safetensors'
        save_file({name: stored[name]
                   for name in names[s::shards]},
                  folder / (file if shards > 1 else 'model.safetensors'),
                  {'format': 'pt'})
    (folder / 'config.json').write_text(
        json.dumps(CONFIG if config is None else config))
    for name in ('tokenizer.json', 'trainer_state.json'):
        (folder / name).write_text(folder.name)
    return folder


def test_means_and_what_stands_beside_them(tmp_path, capsys):
    folders = [
        save(tmp_path / f'checkpoint-{step}', tensors(value), {
            **CONFIG, '_name_or_path': str(step)
        }) for step, value in ((1, 1.), (2, 2.), (3, 6.))
    ]
    out = tmp_path / 'runs' / 'averaged'
    assert not main(['average-weights', *map(str, folders), '--out', str(out)])
    assert 'the mean of 3 checkpoints' in capsys.readouterr().out
    assert sorted(os.listdir(out)) == sorted(
        [RECORD, 'config.json', 'model.safetensors', 'tokenizer.json'])
    mean = load_file(out / 'model.safetensors')
    for name, expected in tensors(3.).items():
        assert torch.equal(mean[name], expected)
    assert (out / 'tokenizer.json').read_text() == 'checkpoint-3'
    assert json.loads((out / RECORD).read_text())['averaged'] == [{
        'folder':
        str(folder),
        'weights':
        weights_mark(folder)
    } for folder in folders]
    assert os.listdir(out.parent) == ['averaged']


def test_numbers_of_half_precision_are_added_in_float32(tmp_path):
    """256 + 1 is 256 in bfloat16; shards may differ."""
    values = [256., 1., 1., 1., 1., 1., 1., 250.]
    folders = [
        save(tmp_path / str(i), tensors(value, torch.bfloat16), shards=1 + i)
        for i, value in enumerate(values[:3])
    ] + [
        save(tmp_path / str(i), tensors(values[i], torch.bfloat16), shards=2)
        for i in range(3, 8)
    ]
    average_weights(folders, tmp_path / 'out')
    mean = {}
    for file in (tmp_path / 'out').glob('*.safetensors'):
        mean |= load_file(file)
    assert mean['a.weight'].dtype == torch.bfloat16
    assert (mean['a.weight'] == 64).all() and mean['b.bias'] == 128


def changed(**tensor):
    return {**tensors(1.), **tensor}


@pytest.mark.parametrize('stored, config, expected', [
    (changed(**{'a.weight': torch.ones(3, 2)}), None, 'a.weight.*shape'),
    (changed(**{'a.weight': torch.ones(2, 3).half()}), None, 'found F16'),
    (changed(more=torch.ones(1)), None, "'more'.*expected none"),
    ({
        'a.weight': torch.ones(2, 3)
    }, None, "'b.bias'.*found none"),
    (changed(positions=torch.ones(4).long()), None, 'same whole numbers'),
    (tensors(2., torch.float8_e4m3fn), None, 'found F8_E4M3'),
    (None, ['A'], 'a config with named fields'),
    (None, {
        **CONFIG, 'hidden_size': 3
    }, "'hidden_size' as in.*found 3"),
])
def test_checkpoints_of_two_kinds_are_refused(tmp_path, stored, config,
                                              expected):
    folders = [
        save(tmp_path / 'one', stored or tensors(1.), config),
        save(tmp_path / 'two', tensors(1.))
    ]
    with pytest.raises(InputError, match=expected):
        average_weights(folders, tmp_path / 'out')
    assert sorted(os.listdir(tmp_path)) == ['one', 'two']


def test_quantized_weights_are_refused(tmp_path):
    """They need their scales, and torch adds no numbers of 8 bits."""
    folders = [
        save(tmp_path / str(value), tensors(value, torch.float8_e4m3fn))
        for value in (1., 2.)
    ]
    with pytest.raises(InputError, match='before they are quantized'):
        average_weights(folders, tmp_path / 'out')


def test_what_cannot_be_averaged(tmp_path):
    one, two = (save(tmp_path / name, tensors(1.)) for name in ('1', '2'))
    out = tmp_path / 'out'
    with pytest.raises(InputError, match='two or more'):
        average_weights([one], out)
    with pytest.raises(InputError, match='every name once'):
        average_weights([one, one], out)
    with pytest.raises(InputError, match='new folder'):
        average_weights([one, two], one)
    (one / 'model-1-of-2.safetensors').write_bytes(
        (one / 'model.safetensors').read_bytes())
    with pytest.raises(InputError, match='one file with the tensor'):
        average_weights([one, two], out)
    (one / 'model-1-of-2.safetensors').write_bytes(b'damaged')
    with pytest.raises(InputError, match='readable safetensors'):
        average_weights([one, two], out)
    for file in one.glob('*.safetensors'):
        file.unlink()
    with pytest.raises(InputError, match='weights in files.*none'):
        average_weights([one, two], out)
    assert not out.exists()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    folders = [save(tmp_path / name, tensors(1.)) for name in ('1', '2')]

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(averaged_weights, 'write_text', full)
    with pytest.raises(InputError, match='No space left on device'):
        average_weights(folders, tmp_path / 'out')
    assert sorted(os.listdir(tmp_path)) == ['1', '2']
