"""The mean of the weights of several checkpoints, as one more checkpoint.

Checkpoints that follow each other scatter around where the training goes,
more so while the learning rate is high; their mean scatters less, and its loss
is often lower than that of each (Izmailov et al., "Averaging Weights Leads to
Wider Optima and Better Generalization", arXiv 1803.05407).
"""
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from csv_plugin import __version__
from csv_plugin.core.conventions import (InputError, Progress, check_list,
                                         check_unique)
from csv_plugin.io.files import (FilePath, atomic_folder, check_fields,
                                 check_plain_files, write_text)
from csv_plugin.io.json_files import read_json
from csv_plugin.io.weight_files import weights_mark

#: Tells what the weights are the mean of.
RECORD = 'averaged_weights.json'
#: Files with weights, and those with the config, the tokenizer and the code.
_WEIGHTS = 'model*.safetensors'
_BESIDE = '*.json', '*.txt', '*.model', '*.tiktoken', '*.jinja', '*.py'
#: What a trainer writes of itself; it does not hold for the mean.
_OF_TRAINER = 'trainer_state.json'
#: Entries of a config that may differ.
_FREE = '_name_or_path', 'transformers_version'
_REMEDY = 'Average checkpoints of one run, saved by save_pretrained.'


def average_weights(folders: Sequence[FilePath],
                    out: FilePath,
                    progress: Progress = iter) -> None:
    """Write the mean of the weights of checkpoints as a checkpoint.

    Numbers are averaged in float32, or float64 if they are, one tensor at a
    time, and written in the type that they had. All else is that of the last
    checkpoint.

    Args:
        folders (Sequence[FilePath]): Two checkpoints of Hugging Face or more,
            with their weights in safetensors.
        out (FilePath): The folder to create; it appears whole or not at all.
            Beside a checkpoint, it holds `averaged_weights.json`, which tells
            the folders and marks of the weights (`weights_mark`).
        progress (Progress): Wraps the names of the tensors of each file.

    Raises:
        InputError: There are fewer than two checkpoints or one is given
            twice, a file cannot be read, the configs differ, or the tensors
            in name, shape, type, or, of whole numbers and numbers of 8 bits,
            in value; or as in `atomic_folder`.
    """
    check_list('checkpoints to average', folders)
    if len(folders) < 2:
        raise InputError('checkpoints to average', 'two or more',
                         str(len(folders)), 'Name more of their folders.')
    paths = [Path(folder).resolve() for folder in folders]
    check_unique('checkpoints to average', map(str, paths))
    last = paths[-1]
    tensors = [_tensors(path) for path in paths]
    for path, of_path in zip(paths, tensors):
        _check_config(path, last)
        _check_tensors(path, of_path, tensors[-1])
    with atomic_folder(out) as folder:
        for pattern in _BESIDE:
            for file in last.glob(pattern):
                if file.name != _OF_TRAINER:
                    shutil.copyfile(file, folder / file.name)
        for file in sorted({tensor.file for tensor in tensors[-1].values()}):
            _write_means(file, folder / file.name, tensors, progress)
        record = {
            'averaged': [{
                'folder': str(path),
                'weights': weights_mark(path)
            } for path in paths],
            'csv_plugin':
            __version__
        }
        write_text(folder / RECORD, json.dumps(record, indent=1) + '\n')


class _Stored(NamedTuple):
    """A tensor in a file.

    Args:
        file (Path): The file.
        kind (str): Its type and shape.
    """
    file: Path
    kind: str


def _tensors(folder: Path) -> dict[str, _Stored]:
    """The tensors of a checkpoint by name."""
    check_plain_files(folder)
    stored: dict[str, _Stored] = {}
    for file in sorted(folder.glob(_WEIGHTS)):
        with _opened(file) as tensors:
            for name in tensors.keys():
                if name in stored:
                    raise InputError(
                        str(folder), f'one file with the tensor {name!r}',
                        f'{stored[name].file.name} and {file.name}',
                        'Remove the files of an earlier save.')
                part = tensors.get_slice(name)
                stored[name] = _Stored(
                    file, f'{part.get_dtype()} of shape {part.get_shape()}')
    if not stored:
        raise InputError(
            str(folder), f'weights in files {_WEIGHTS}', 'none', _REMEDY)
    return stored


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """A file of tensors, which are read when they are asked for."""
    try:
        with safe_open(str(file), framework='pt') as tensors:
            yield tensors
    except (SafetensorError, OSError) as error:
        raise InputError(
            str(file), 'a readable safetensors file', str(error),
            'Fetch or save the checkpoint again.') from error


def _check_config(folder: Path, last: Path) -> None:
    """Refuse checkpoints of two kinds of models."""
    mine, other = (_config(path) for path in (folder, last))
    for name in sorted({*mine, *other}):
        if mine.get(name) != other.get(name):
            raise InputError(f'{folder}, config.json',
                             f'{name!r} as in {last}: {other.get(name)!r}',
                             repr(mine.get(name)), _REMEDY)


def _config(folder: Path) -> dict[str, Any]:
    """What checkpoints of one run have in common."""
    file = folder / 'config.json'
    config = read_json(file, _REMEDY)
    check_fields(str(file), 'a config', config, {}, _REMEDY)
    return {name: value for name, value in config.items() if name not in _FREE}


def _check_tensors(folder: Path, mine: Mapping[str, _Stored],
                   last: Mapping[str, _Stored]) -> None:
    """Refuse tensors of other names, shapes or types."""
    for name in sorted({*mine, *last}):
        found, expected = (
            tensors[name].kind if name in tensors else 'none'
            for tensors in (mine, last))
        if found != expected:
            raise InputError(f'{folder}, tensor {name!r}',
                             f'{expected} as in the last checkpoint', found,
                             _REMEDY)


def _write_means(file: Path, target: Path,
                 checkpoints: Sequence[Mapping[str, _Stored]],
                 progress: Progress) -> None:
    """Write a file like one of the last checkpoint, with the means.

    The format is told in `io.safetensors_files`: as names, shapes and types
    are the same, so is all that stands before the numbers, which follow in
    the order of the file.
    """
    with file.open('rb') as source, target.open('wb') as written:
        length = source.read(8)
        header = source.read(int.from_bytes(length, 'little'))
        written.write(length + header)
        places = json.loads(header)
        places.pop('__metadata__', None)
        for name in progress(
                sorted(places, key=lambda n: places[n]['data_offsets'])):
            mean = _mean(name, [tensors[name].file for tensors in checkpoints])
            written.write(_bytes(mean).numpy().data)


def _mean(name: str, files: Sequence[Path]) -> Tensor:
    """Of a tensor, in its own type."""
    first = _read(files[0], name)
    # Those of 8 bits are quantized, and torch cannot add them.
    if not first.is_floating_point() or first.element_size() == 1:
        for file in files[1:]:
            if not torch.equal(_bytes(_read(file, name)), _bytes(first)):
                raise InputError(
                    f'{file}, tensor {name!r}',
                    'the same whole numbers, or numbers of 8 '
                    'bits, in all checkpoints', 'others',
                    'Average weights before they are quantized.')
        return first
    total = first.to(
        torch.promote_types(first.dtype, torch.float32), copy=True)
    for file in files[1:]:
        total += _read(file, name)
    return (total / len(files)).to(first.dtype)


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.flatten().view(torch.uint8)


def _read(file: Path, name: str) -> Tensor:
    with _opened(file) as tensors:
        tensor: Tensor = tensors.get_tensor(name)
    return tensor
