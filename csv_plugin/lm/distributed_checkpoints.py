"""Distributed checkpoints of torch (DCP) as folders for transformers."""
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.distributed import checkpoint
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from transformers import AutoConfig, AutoModelForCausalLM

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath

#: Parts of a training's state that have the weights, the outermost first.
_PARTS = 'app', 'state', 'model', 'state_dict', 'module'
#: Wrappers that torch puts around modules.
_WRAPPER = re.compile(
    r'\b(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|module)\.')


@contextmanager
def as_folder(path: FilePath, config: Optional[FilePath],
              trusted: bool) -> Iterator[FilePath]:
    """Yield a folder that transformers loads while the statement lasts.

    The weights of a distributed checkpoint are converted; any other path is
    yielded as it is. `config` is a folder or a name on the hub of a model of
    this architecture; by default config.json lies beside the weights. The file
    `.metadata` is a pickle, which may run code and must be `trusted`.
    """
    if not (Path(path) / '.metadata').is_file():
        yield path
        return
    where = f'distributed checkpoint {os.fspath(path)!r}'
    if not trusted:
        raise InputError(
            where, 'files without code to run', 'pickles, which may run code',
            'If you trust where it comes from, give --trust-remote-code.')
    if config is None and not (Path(path) / 'config.json').is_file():
        raise InputError(
            where, 'config.json beside the weights', 'none',
            'Give --config, a model of the same architecture and size.')
    described = AutoConfig.from_pretrained(
        config or path, trust_remote_code=True)
    weights = _weights(where, path, described)
    with TemporaryDirectory() as folder:
        save_file(weights, Path(folder, 'model.safetensors'), {'format': 'pt'})
        described.save_pretrained(folder)
        yield folder


def _weights(where: str, path: FilePath, config: Any) -> dict[str, Tensor]:
    """The weights by their names in transformers."""
    found = {
        _WRAPPER.sub('', name): value
        for name, value in _read_weights(where, path).items()
    }
    with torch.device('meta'):
        expected = AutoModelForCausalLM.from_config(
            config, trust_remote_code=True).state_dict()
    # The module around the model may have given it a name.
    weights = max(({
        name.removeprefix(prefix): value
        for name, value in found.items()
    } for prefix in ('', 'model.')),
                  key=lambda named: len(named.keys() & expected.keys()))
    if not weights.keys() & expected.keys():
        raise InputError(where, f'weights such as {next(iter(expected))}',
                         ', '.join(found)[:80] or 'none',
                         'Convert them to the names of transformers first.')
    return weights


def _read_weights(where: str, path: FilePath) -> dict[str, Tensor]:
    """The tensors of the model, not those of its optimizer.

    `.metadata` is a pickle.
    """
    reader = checkpoint.FileSystemReader(path)
    try:
        metadata = reader.read_metadata()
        tensors = {
            key: entry
            for key, entry in metadata.state_dict_metadata.items()
            if isinstance(entry, TensorStorageMetadata)
        }
        paths = metadata.planner_data or {}
        names = _names({key: paths.get(key, (key, )) for key in tensors})
        state: dict[str, Any] = {
            key:
            torch.empty(
                tensors[key].size, dtype=tensors[key].properties.dtype)
            for key in names
        }
        checkpoint.load(state, storage_reader=reader)
    except CheckpointException as error:  # not an Exception
        raise InputError(where, 'all of its files, intact',
                         ' '.join(str(error).split())[:200],
                         'Copy the folder again.') from error
    return {names[key]: value for key, value in state.items()}


def _names(paths: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Names in their part of the state, by key, of tensors by their paths."""
    for part in _PARTS:
        inside = {
            key: path[1:]
            for key, path in paths.items() if path[0] == part and path[1:]
        }
        paths = inside or paths
    return {key: path[0] for key, path in paths.items() if not path[1:]}
