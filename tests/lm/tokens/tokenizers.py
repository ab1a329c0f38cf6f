"""Small tokenizers of every kind, made in code."""
import functools
import io
import json
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import transformers
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)
from transformers import (PreTrainedTokenizer, PreTrainedTokenizerBase,
                          PreTrainedTokenizerFast)

from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.tokenization import TokenizedText, tokenize_all

CORPUS = [
    'The quick brown fox jumps over the lazy dog. It is 12345 and 2024!',
    'the cat sat on the mat; the dog did not sit, and so the story goes.',
    "def add(a, b):\n    return a + b\n\tprint('done')",
    '今天天气很好，我们去公园散步。你好世界。', 'こんにちは世界、カタカナ。', '안녕하세요 세계', 'مرحبا بالعالم',
    'שלום עולם', 'नमस्ते दुनिया', 'สวัสดีชาวโลก', 'café naïve résumé Ünïcödé',
    '🙂👍🏽👩\u200d👩\u200d👧'
]
SPECIAL = '<|end|>'


def tokenize(tokenizer: PreTrainedTokenizerBase,
             text: str,
             text_id: str = 'text') -> TokenizedText:
    tokenized, = tokenize_all(tokenizer, [Text(text_id, text)])
    return tokenized


def wrap(backend: Tokenizer, **tokens: str) -> PreTrainedTokenizerFast:
    backend.add_special_tokens([SPECIAL])
    backend.post_processor = processors.TemplateProcessing(
        single=f'{SPECIAL} $A {SPECIAL}',
        special_tokens=[(SPECIAL, backend.token_to_id(SPECIAL))])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=SPECIAL, **tokens)


def train(backend: Tokenizer, trainer: trainers.Trainer) -> Tokenizer:
    backend.train_from_iterator(CORPUS, trainer)
    return backend


def byte_level(prefix: bool = False,
               trim: bool = False,
               normalizer: normalizers.Normalizer | None = None,
               digits: bool = False,
               vocab_size: int = 450) -> PreTrainedTokenizerFast:
    """GPT-2 style; `vocab_size=256` has no merges."""
    backend = Tokenizer(models.BPE())
    first = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [*first, pre_tokenizers.ByteLevel(add_prefix_space=prefix)])
    if normalizer is not None:
        backend.normalizer = normalizer
    backend = train(
        backend,
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    backend.decoder = decoders.ByteLevel()
    tokenizer = wrap(backend)
    if trim:
        tokenizer.backend_tokenizer.post_processor = processors.ByteLevel(
            trim_offsets=True, add_prefix_space=prefix)
    return tokenizer


def _spaced_pieces() -> tuple[dict[str, int], list[tuple[str, str]]]:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    train(
        backend,
        trainers.BpeTrainer(
            vocab_size=220, show_progress=False, limit_alphabet=60))
    model = json.loads(backend.to_str())['model']
    merges = [
        tuple(m if isinstance(m, list) else m.split()) for m in model['merges']
    ]
    pieces = ['<unk>', *(f'<0x{i:02X}>' for i in range(256)), *model['vocab']]
    # A run of spaces, as Llama has.
    pieces += ['\u2581\u2581']
    merges += [('\u2581', '\u2581')]
    return {piece: i for i, piece in enumerate(pieces)}, merges


def byte_fallback(prepend: str, merge: bool = True) -> PreTrainedTokenizerFast:
    """Llama style: 'legacy' is a normaliser, the others are Metaspace.

    Without `merge` only two spaces make one token.
    """
    vocab, merges = _spaced_pieces()
    merges = merges if merge else merges[-1:]
    backend = Tokenizer(
        models.BPE(
            vocab,
            merges,
            byte_fallback=True,
            unk_token='<unk>',
            fuse_unk=True))
    if prepend == 'legacy':
        backend.normalizer = normalizers.Sequence([
            normalizers.Prepend('\u2581'),
            normalizers.Replace(' ', '\u2581')
        ])
    else:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(
            prepend_scheme=prepend, split=False)
    return wrap(backend, unk_token='<unk>')


def gemma() -> PreTrainedTokenizerFast:
    """Runs of spaces are pieces and added tokens alike."""
    tokenizer = byte_fallback('never')
    tokenizer.backend_tokenizer.add_tokens(
        [AddedToken('\u2581\u2581', normalized=False)])
    return tokenizer


def unigram() -> PreTrainedTokenizerFast:
    """T5 style: NFKC, runs of spaces collapse, unknown characters."""
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFKC(),
         normalizers.Replace(Regex(' {2,}'), ' ')])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    train(
        backend,
        trainers.UnigramTrainer(
            vocab_size=300,
            show_progress=False,
            special_tokens=['<unk>'],
            unk_token='<unk>'))
    return wrap(backend, unk_token='<unk>')


def word_piece(lowercase: bool) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    train(
        backend,
        trainers.WordPieceTrainer(
            vocab_size=400, show_progress=False, special_tokens=['[UNK]']))
    return wrap(backend, unk_token='[UNK]')


class Pieces(PreTrainedTokenizer):
    """A tokenizer in python that every release of transformers can run.

    Args:
        entries (list): The vocabulary; other pieces are unknown.
        cut (Callable): From a text to its pieces.
    """

    def __init__(self, entries: list[str | bytes], cut: Callable[[str], list],
                 **kwargs: str) -> None:
        self.entries, self.cut = entries, cut
        super().__init__(**kwargs)

    @property
    def vocab_size(self) -> int:
        return len(self.entries)

    def get_vocab(self) -> dict:
        return {entry: i for i, entry in enumerate(self.entries)}

    def _tokenize(self, text: str, **kwargs: str) -> list:
        return self.cut(text)

    def _convert_token_to_id(self, token: str | bytes) -> int:
        if token in self.entries:
            return self.entries.index(token)
        return self.unk_token_id

    def _convert_id_to_token(self, index: int) -> str | bytes:
        return self.entries[index]


def longest_matches(entries: Mapping[bytes | str, int],
                    text: str) -> list[int]:
    """Ids of the longest entries from the left, as RWKV's world has them."""
    table = {
        entry.encode() if isinstance(entry, str) else entry: index
        for entry, index in entries.items()
    }
    data, ids, longest = text.encode(), [], max(map(len, table))
    while data:
        length = next(n for n in range(longest, 0, -1) if data[:n] in table)
        ids.append(table[data[:length]])
        data = data[length:]
    return ids


class Qwen1(PreTrainedTokenizer):
    """The interface of Qwen-1's own code: `tokenize` returns bytes.

    Args:
        entries (Mapping): Ids of tokens as bytes, of special ones as text.
        encode (Callable): From a text in form NFC to its ids.
    """

    def __init__(self, entries: Mapping[bytes | str, int],
                 encode: Callable[[str], list[int]]) -> None:
        self.entries, self.encode_text = entries, encode
        self.decoder = {index: entry for entry, index in entries.items()}
        super().__init__()

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def vocab_size(self) -> int:
        return len(self.entries)

    def get_vocab(self) -> dict:
        return {k: i for k, i in self.entries.items() if isinstance(k, bytes)}

    def tokenize(self, text: str, **kwargs: Any) -> list[bytes | str]:
        ids = self.encode_text(unicodedata.normalize('NFC', text))
        return [self.decoder[index] for index in ids]

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        if isinstance(tokens, (bytes, str)):
            return self.entries.get(tokens)
        return [self.entries.get(token) for token in tokens]

    def _convert_id_to_token(self, index: int) -> bytes | str:
        return self.decoder[index]


class Rwkv6(PreTrainedTokenizer):
    """The interface of RWKV-6's own code: `tokenize` returns ids.

    `convert_ids_to_tokens` decodes, and so loses what is not UTF-8.

    Args:
        entries (Mapping): Ids of tokens as bytes.
    """

    def __init__(self, entries: Mapping[bytes, int]) -> None:
        self.encoder = entries
        self.decoder = {index: entry for entry, index in entries.items()}
        self._added_tokens_decoder = {0: AddedToken('<s>')}
        super().__init__(bos_token='<s>', eos_token='<s>', unk_token='<s>')

    @property
    def vocab_size(self) -> int:
        return len(self.encoder)

    def get_vocab(self) -> dict:
        vocabulary = {
            str(self.convert_ids_to_tokens(i)): i
            for i in range(self.vocab_size)
        }
        return vocabulary | self.added_tokens_encoder

    def _tokenize(self, text: str, **kwargs: Any) -> list[int]:
        return longest_matches(self.encoder, text)

    def _convert_token_to_id(self, token: int) -> int:
        return token

    def _convert_id_to_token(self, index: int) -> str:
        return self.decoder.get(index, b'<s>').decode(errors='replace')


def qwen1() -> Qwen1:
    entries = {byte: i for i, byte in enumerate(_single_bytes())}
    entries |= {b' the': 256, '\u4f60'.encode()[:2]: 257, SPECIAL: 258}
    return Qwen1(entries, functools.partial(longest_matches, entries))


def rwkv6() -> Rwkv6:
    entries = [b'<|endoftext|>', *_single_bytes(), b' the']
    # Entries that hold parts of characters.
    entries += ['\u4f60'.encode()[:2], '\u597d a'.encode()[1:]]
    return Rwkv6({entry: i for i, entry in enumerate(entries)})


def _single_bytes() -> Iterator[bytes]:
    return (bytes([i]) for i in range(256))


def slow(name: str) -> type:
    """A tokenizer class in python, if this transformers has it."""
    tokenizer_class = getattr(transformers, name, None)
    if tokenizer_class is None or issubclass(tokenizer_class,
                                             PreTrainedTokenizerFast):
        pytest.skip(f'transformers {transformers.__version__} has no {name} '
                    'in python')
    return tokenizer_class


@functools.lru_cache(maxsize=None)
def _sentencepiece_model(byte_fallback: bool) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        trainer = pytest.importorskip('sentencepiece').SentencePieceTrainer
    model = io.BytesIO()
    rules = dict(
        normalization_rule_name='identity', remove_extra_whitespaces=False)
    trainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        model_type='bpe' if byte_fallback else 'unigram',
        vocab_size=450 if byte_fallback else 180,
        byte_fallback=byte_fallback,
        hard_vocab_limit=False,
        minloglevel=2,
        **(rules if byte_fallback else {}))
    return model.getvalue()


def slow_llama(folder) -> PreTrainedTokenizer:
    cls = slow('LlamaTokenizer')
    path = folder / 'tokenizer.model'
    path.write_bytes(_sentencepiece_model(byte_fallback=True))
    return cls(str(path), legacy=False)


def slow_t5(folder) -> PreTrainedTokenizer:
    """NFKC, runs of spaces collapse, no byte fallback."""
    cls = slow('T5Tokenizer')
    path = folder / 'spiece.model'
    path.write_bytes(_sentencepiece_model(byte_fallback=False))
    return cls(str(path), legacy=False, extra_ids=0)


_BYTE_LEVEL = {
    '': {},
    ', prefix space': dict(prefix=True),
    ', trimmed': dict(trim=True),
    ', prefix space, trimmed': dict(prefix=True, trim=True),
    ', digits': dict(digits=True),
    ', bytes alone': dict(vocab_size=256),
    ', NFC': dict(normalizer=normalizers.NFC()),
    ', NFC, trimmed':
    dict(prefix=True, trim=True, normalizer=normalizers.NFC()),
}
FAST: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    **{
        f'byte level{name}': functools.partial(byte_level, **settings)
        for name, settings in _BYTE_LEVEL.items()
    },
    **{
        f'byte fallback, {scheme}': functools.partial(byte_fallback, scheme)
        for scheme in ('always', 'first', 'never', 'legacy')
    },
    'gemma': gemma,
    'unigram': unigram,
    'word piece, cased': functools.partial(word_piece, False),
    'word piece, uncased': functools.partial(word_piece, True),
}  # yapf: disable
SLOW = {
    'slow llama': slow_llama,
    'slow t5': slow_t5,
}
