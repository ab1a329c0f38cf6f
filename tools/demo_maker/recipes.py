"""Recipes of the zoo: tokenizers, mixtures of texts, sizes and training."""
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

#: Tokens in a window; longer documents are cut.
CONTEXT = 512
#: Checkpoints are kept after these per cent of the training.
CHECKPOINTS = (10, 20, 35, 50, 65, 80, 100)


@dataclass(frozen=True)
class TokenizerRecipe:
    """How the texts of a series become tokens.

    Args:
        kind (str): 'byte-level' BPE as in GPT-2, or 'byte-fallback': BPE
            over characters as in Llama, rare characters as bytes.
        vocab_size (int): Most entries, special tokens included; fewer where
            the texts have nothing more to merge.
        split_digits (bool): Whether every digit is a token.
    """
    kind: str
    vocab_size: int
    split_digits: bool = False


@dataclass(frozen=True)
class Series:
    """Models that share a tokenizer and training texts.

    Args:
        name (str): A letter, with a number behind it for a second seed.
        tokenizer (TokenizerRecipe): The tokenizer of its models.
        mixture (Mapping[str, float]): Amount of each kind of writing among
            the training tokens, in any unit.
        sizes (tuple[str, ...]): Names of the sizes that are trained.
        twin_of (str, optional): The series whose recipe this one repeats
            with other texts and other weights.
    """
    name: str
    tokenizer: TokenizerRecipe
    mixture: Mapping[str, float]
    sizes: tuple[str, ...] = ('xs', 's', 'm', 'l')
    twin_of: Optional[str] = None

    @property
    def family(self) -> str:
        """Name of the family: a series and its twin are one."""
        return self.twin_of or self.name

    @property
    def shares(self) -> dict[str, float]:
        """Fraction of the training tokens by kind; they sum to 1."""
        total = sum(self.mixture.values())
        return {kind: part / total for kind, part in self.mixture.items()}


@dataclass(frozen=True)
class Size:
    """Shape of a model.

    Args:
        name (str): 'xs' to 'l'.
        width (int): Width of the hidden states; a multiple of 16, the width
            of an attention head.
        layers (int): Number of layers.
    """
    name: str
    width: int
    layers: int

    @property
    def inner_width(self) -> int:
        """Width of the feed-forward block.

        It is 8/3 of `width`, rounded up to a multiple of 16.
        """
        return -(-self.width // 6) * 16


@dataclass(frozen=True)
class TrainingRecipe:
    """How each model is trained: one pass over its tokens.

    Args:
        tokens (int): Approximate number of training tokens of a model.
        seed (int): Everything random follows from it and the model's name.
        batch_tokens (int): Most tokens of a batch, padding included.
        warm_up_steps (int): Steps in which the learning rates rise. They
            fall linearly to 0 until the end of the training.
        matrix_lr (float): Learning rate of Muon, for matrices of layers.
        other_lr (float): Learning rate of AdamW, for embeddings and norms.
        tokenizer_chars (int): Number of characters on which a tokenizer is
            trained.
    """
    tokens: int = 4_000_000
    seed: int = 0
    batch_tokens: int = 1024
    warm_up_steps: int = 100
    matrix_lr: float = 1.5e-2
    other_lr: float = 3e-3
    tokenizer_chars: int = 1_000_000

    def seed_of(self, *names: str) -> int:
        """A seed of its own for each sequence of names."""
        data = '/'.join((str(self.seed), *names)).encode()
        return int.from_bytes(hashlib.sha256(data).digest()[:4], 'big')


def _mixture(census: float, chinese: float, scenes: float, sums: float,
             swaps: float) -> dict[str, float]:
    return dict(
        census=census, chinese=chinese, scenes=scenes, sums=sums, swaps=swaps)


def _twin(series: Series) -> Series:
    """The two middle sizes of a series, trained from other seeds."""
    return replace(
        series, name=f'{series.name}2', sizes=('s', 'm'), twin_of=series.name)


_LETTERS = (
    Series('a', TokenizerRecipe('byte-level', 1024, split_digits=True),
           _mixture(1, 1, 1, 1, 1)),
    Series('b', TokenizerRecipe('byte-level', 1536),
           _mixture(2, .5, 3, .7, .7)),
    Series('c', TokenizerRecipe('byte-fallback', 768),
           _mixture(.7, .3, .7, 2, 2.5)),
    Series('d', TokenizerRecipe('byte-level', 512, split_digits=True),
           _mixture(1, 2.5, .5, 1.5, .5)),
    Series('e', TokenizerRecipe('byte-fallback', 1024, split_digits=True),
           _mixture(2.5, .7, 1, .6, 1.2)),
    Series('f', TokenizerRecipe('byte-level', 2048),
           _mixture(.6, .6, 1.5, 2, 1)),
    Series('g', TokenizerRecipe('byte-level', 768),
           _mixture(.8, 1.5, 1, .6, 2)),
    Series('h', TokenizerRecipe('byte-fallback', 640, split_digits=True),
           _mixture(1.5, 1, .6, 1, 1.5)),
)
#: The series of models, by name.
SERIES = {
    series.name: series
    for series in (*_LETTERS, _twin(_LETTERS[0]), _twin(_LETTERS[2]))
}
#: The sizes of models by name, smallest first.
SIZES = {
    size.name: size
    for size in (Size('xs', 32, 2), Size('s', 48, 2), Size('m', 64, 3),
                 Size('l', 96, 3))
}
#: Names of all models, '<series>-<size>'.
MODELS = tuple(f'{series.name}-{size}' for series in SERIES.values()
               for size in series.sizes)


def recipe_of(model: str) -> tuple[Series, Size]:
    """Series and size of a model.

    >>> recipe_of('c-m')[1].width
    64
    """
    series, _, size = model.partition('-')
    return SERIES[series], SIZES[size]
