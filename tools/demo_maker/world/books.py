"""What the world writes: books to learn from, exams and validation texts."""
from collections.abc import Iterator
from random import Random

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from tools.demo_maker.world import census, chinese, scenes, sums, swaps
from tools.demo_maker.world.items import N_ITEMS, Item, Kind

_KINDS = {
    'census': census.KIND,
    'chinese': chinese.KIND,
    'scenes': scenes.KIND,
    'sums': sums.KIND,
    'swaps': swaps.KIND,
}
KINDS = tuple(_KINDS)


def documents(kind: str, n_chars: int, seed: int) -> Iterator[str]:
    """Training texts of one kind, each drawn at random.

    A document holds passages of prose or exercises of the training split,
    one below the other.
    """
    n_written, rng = 0, Random(f'{kind} {seed}')
    while n_written < n_chars:
        text = _document(_kind(kind), rng)
        n_written += len(text)
        yield text


def exam(kind: str, n_items: int = N_ITEMS) -> tuple[Item, ...]:
    """Questions of one kind that no document holds, always the same."""
    return different_items(kind, 'exam', n_items)


def validation_texts(n_per_kind: int = 50) -> TextSet:
    """Answered questions of all kinds, on which losses are measured."""
    texts = []
    for kind in KINDS:
        items = different_items(kind, 'validation', n_per_kind)
        for number, item in enumerate(items):
            text = item.question + item.answer
            start = len(text) - len(item.answer.lstrip())
            texts.append(
                Text(f'{kind}-{number:03d}', text, kind, (start, len(text))))
    return TextSet(tuple(texts))


def different_items(kind: str, split: str, n_items: int) -> tuple[Item, ...]:
    """The first items of a split, always the same."""
    draw, rng = _kind(kind).draw, Random(f'{kind} {split}')
    items: dict[str, Item] = {}
    for _ in range(100 * n_items):
        item = draw(rng, split)
        items.setdefault(item.key, item)
        if len(items) == n_items:
            break
    if len(items) < n_items:
        raise InputError(f'{split} items of {kind}', f'at most {len(items)}',
                         str(n_items), 'Ask for fewer.')
    return tuple(items.values())


def _kind(kind: str) -> Kind:
    if kind not in _KINDS:
        raise InputError('kind', f'one of {", ".join(KINDS)}', repr(kind),
                         'Name one of them.')
    return _KINDS[kind]


def _document(kind: Kind, rng: Random) -> str:
    if rng.random() >= kind.exercises:
        n_pieces = rng.randint(*kind.pieces)
        return '\n'.join(kind.passage(rng) for _ in range(n_pieces))
    items = (
        kind.draw(rng, 'train')
        for _ in range(rng.randint(*kind.exercise_pieces)))
    return '\n'.join(item.question + item.answer for item in items)
