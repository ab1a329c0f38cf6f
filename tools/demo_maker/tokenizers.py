"""Tokenizers of the zoo: two kinds of BPE that can represent every text."""
import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import (Regex, Tokenizer, decoders, models, pre_tokenizers,
                        processors, trainers)
from transformers import PreTrainedTokenizerFast

from tools.demo_maker.recipes import CONTEXT, TokenizerRecipe

# Chinese has no spaces: without splits, BPE would learn whole sentences.
_CJK = Regex(r'[\p{Han}\u3000-\u303f\uff00-\uffef]')
_PAD, _UNKNOWN, _SPACE = '<pad>', '<unk>', '\u2581'
# Number of characters with an entry of their own; all other characters are
# represented by bytes.
_ALPHABET = 200


def train_tokenizer(recipe: TokenizerRecipe,
                    texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train a tokenizer; the same texts give the same tokenizer.

    It puts its BOS token before every text, unless told to add no special
    tokens. CJK characters are never merged with each other.
    """
    train = {'byte-level': _byte_level, 'byte-fallback': _byte_fallback}
    return train[recipe.kind](recipe, texts)


def _byte_level(recipe: TokenizerRecipe,
                texts: Iterable[str]) -> PreTrainedTokenizerFast:
    end = '<|endoftext|>'
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = _splits(
        recipe, pre_tokenizers.ByteLevel(add_prefix_space=False))
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocab_size,
        special_tokens=[end, _PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False)
    backend.train_from_iterator(texts, trainer)
    return _finish(backend, bos_token=end, eos_token=end)


def _byte_fallback(recipe: TokenizerRecipe,
                   texts: Iterable[str]) -> PreTrainedTokenizerFast:
    reserved = [
        _UNKNOWN, '<s>', '</s>', _PAD, *(f'<0x{i:02X}>' for i in range(256))
    ]
    spaces = pre_tokenizers.Metaspace(prepend_scheme='first')
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = _splits(recipe, spaces)
    texts = list(texts)
    alphabet = _most_frequent_characters(texts)
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocab_size - len(reserved),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False)
    learner.train_from_iterator(texts, trainer)
    # Bytes are plain entries: as special tokens they would also stand for the
    # characters '<0x0A>' in a text.
    learned = json.loads(learner.to_str())['model']
    pieces = [*reserved, *sorted(learned['vocab'], key=learned['vocab'].get)]
    merges = [(left, right) for left, right in learned['merges']]
    backend = Tokenizer(
        models.BPE({
            piece: i
            for i, piece in enumerate(pieces)
        },
                   merges,
                   unk_token=_UNKNOWN,
                   byte_fallback=True))
    backend.pre_tokenizer = learner.pre_tokenizer
    backend.decoder = decoders.Sequence([
        decoders.Replace(_SPACE, ' '),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Strip(' ', 1, 0)
    ])
    return _finish(
        backend, bos_token='<s>', eos_token='</s>', unk_token=_UNKNOWN)


def _most_frequent_characters(texts: Sequence[str]) -> list[str]:
    """The characters with an entry of their own, ties in alphabetical order.

    The trainer itself would cut ties at random.
    """
    counts = Counter(''.join(texts).replace(' ', _SPACE))
    return sorted(counts, key=lambda c: (-counts[c], c))[:_ALPHABET]


def _splits(recipe: TokenizerRecipe,
            last: pre_tokenizers.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    """The pre-tokenizer: BPE does not merge across its splits."""
    parts = [pre_tokenizers.Split(_CJK, 'isolated')]
    if recipe.split_digits:
        parts.append(pre_tokenizers.Digits(individual_digits=True))
    return pre_tokenizers.Sequence([*parts, last])


def _finish(backend: Tokenizer,
            **special_tokens: str) -> PreTrainedTokenizerFast:
    """A tokenizer of `transformers` that puts BOS before every text."""
    bos = special_tokens['bos_token']
    backend.post_processor = processors.TemplateProcessing(
        single=f'{bos} $A',
        pair=f'{bos} $A $B',
        special_tokens=[(bos, backend.token_to_id(bos))])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=_PAD,
        model_max_length=CONTEXT,
        model_input_names=['input_ids', 'attention_mask'],
        clean_up_tokenization_spaces=False,
        **special_tokens)
