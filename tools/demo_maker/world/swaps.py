"""Three friends swap coloured balls, with the balls of all after every swap.

The friends are always named in alphabetical order. A question asks which ball
each of them has in the end.
"""
from collections.abc import Sequence
from itertools import combinations
from random import Random

from tools.demo_maker.world.items import Item, Kind, split_of

FRIENDS = ('Ada', 'Leo', 'Mira', 'Ned', 'Ruth', 'Tom')
COLOURS = ('red', 'blue', 'green')
_ORDER = ('First', 'Then', 'Last')


def draw(rng: Random, split: str) -> Item:
    """Two or three swaps; they and the first balls decide the split."""
    while True:
        balls = _balls(rng)
        pairs = [_pair(balls, rng)]
        for _ in range(rng.choice((1, 1, 2))):
            pairs.append(_pair(balls, rng, pairs[-1]))
        key = f'{_state(balls)} ' + ' '.join(map('-'.join, pairs))
        if split_of(key) == split:
            break
    story = ''.join(f'{order} {first} and {second} swap.\n'
                    for order, (first, second) in zip(_ORDER, pairs))
    question = (f'Question: {_state(balls)}\n{story}'
                'Who has which ball now?\nSteps:')
    steps = '\n'.join(f'{order} {_swap(balls, pair)}'
                      for order, pair in zip(_ORDER, pairs))
    state = _state(balls)
    return Item(key, question, (), f' {steps}\nAnswer: {state}', state[:-1])


def passage(rng: Random) -> str:
    """A swap, with the balls of all before and after it."""
    balls = _balls(rng)
    return f'{_state(balls)} {_swap(balls, _pair(balls, rng))}'


def _balls(rng: Random) -> dict[str, str]:
    """Three friends in alphabetical order, each with a ball."""
    friends = sorted(rng.sample(FRIENDS, len(COLOURS)))
    return dict(zip(friends, rng.sample(COLOURS, len(COLOURS))))


def _pair(balls: dict[str, str], rng: Random,
          before: Sequence[str] = ()) -> list[str]:
    """Two friends in alphabetical order, other than the pair before."""
    pairs = [list(pair) for pair in combinations(balls, 2)]
    return rng.choice([pair for pair in pairs if pair != before])


def _swap(balls: dict[str, str], pair: Sequence[str]) -> str:
    """Swap two balls in place; a sentence that tells the swap."""
    first, second = pair
    swap = f'{first} and {second} swap {balls[first]} and {balls[second]}'
    balls[first], balls[second] = balls[second], balls[first]
    return f'{swap}: {_state(balls)}'


def _state(balls: dict[str, str]) -> str:
    """The sentence that tells the ball of every friend."""
    return ', '.join(f'{name} {ball}' for name, ball in balls.items()) + '.'


KIND = Kind(
    draw, passage, exercises=0.8, pieces=(2, 5), exercise_pieces=(1, 2))
