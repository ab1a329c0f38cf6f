"""Items of an exam, and the splits to which they belong."""
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

LETTERS = 'ABCD'
#: Questions of an exam.
N_ITEMS = 240


@dataclass(frozen=True)
class Item:
    """One question of an exam with its answer.

    Args:
        key (str): Names what is asked; unique over all splits of a kind.
        question (str): Ends exactly where the continuation begins.
        options (tuple[str, ...]): Four continuations, shuffled; empty if
            the answer is to be generated.
        answer (str): The right continuation in full: one of the options, or
            a worked solution.
        label (str): Letter of the right option, or the final answer alone.
    """
    key: str
    question: str
    options: tuple[str, ...]
    answer: str
    label: str


@dataclass(frozen=True)
class Kind:
    """One kind of writing.

    Args:
        draw (Callable[[Random, str], Item]): Draws an item of a split.
        passage (Callable[[Random], str]): Draws a piece of prose, which
            states facts without asking for them.
        exercises (float): Share of documents that hold exercises.
        pieces (tuple[int, int]): Fewest and most passages of a document.
        exercise_pieces (tuple[int, int]): Fewest and most exercises of a
            document.
    """
    draw: Callable[[Random, str], Item]
    passage: Callable[[Random], str]
    exercises: float
    pieces: tuple[int, int]
    exercise_pieces: tuple[int, int]


def split_of(key: str) -> str:
    """The split of a scene, a sum or some swaps, decided by the key alone.

    Half of all keys are for training, .4 for the exam and .1 for validation.
    The people of a census are assigned to splits by `people.Register`.

    >>> split_of('4+3-2'), split_of('5+3-2')
    ('train', 'exam')
    """
    tenth = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 10
    return 'train' if tenth < 5 else 'exam' if tenth < 9 else 'validation'


def multiple_choice(key: str, question: str, right: str, wrong: Sequence[str],
                    rng: Random) -> Item:
    """An item with four shuffled options."""
    options = rng.sample([right, *wrong], 1 + len(wrong))
    label = LETTERS[options.index(right)]
    return Item(key, question, tuple(options), right, label)
