"""Sums told as stories, with every step written out and no total above 9."""
from random import Random

from tools.demo_maker.world.items import Item, Kind, split_of
from tools.demo_maker.world.places import MEN, WOMEN, pronoun

#: Largest total: numbers have one digit.
LARGEST = 9
_THINGS = ('pears', 'shells', 'eggs', 'buns', 'corks', 'hooks', 'plums',
           'coins', 'buttons', 'herrings')
_STARTS = ('{name} has {n} {things}.', '{name} starts with {n} {things}.',
           '{name} carries {n} {things} to market.')
_MORE = ('{pronoun} finds {n} more.', '{pronoun} buys {n} more.',
         '{pronoun} is given {n} more.')
_FEWER = ('{pronoun} gives {n} away.', '{pronoun} sells {n}.',
          '{pronoun} loses {n}.')
_END = 'How many {things} does {name} have now?'


def draw(rng: Random, split: str) -> Item:
    """A story of two or three steps; its numbers decide the split."""
    while True:
        numbers = _numbers(rng)
        key = str(numbers[0]) + ''.join(f'{n:+d}' for n in numbers[1:])
        if split_of(key) == split:
            break
    total = sum(numbers)
    steps = _steps(numbers)
    return Item(key, f'Question: {_story(numbers, rng)}\nAnswer:', (),
                f' {steps} The answer is {total}.', str(total))


def passage(rng: Random) -> str:
    """The slate of a pupil: a few single steps."""
    return 'Slate: ' + ' '.join(
        _steps(_numbers(rng)[:2]) for _ in range(rng.randint(2, 5)))


def _numbers(rng: Random) -> list[int]:
    """A number and the changes to it; every total is in 0 to `LARGEST`."""
    numbers = [rng.randint(2, LARGEST)]
    for _ in range(rng.randint(2, 3)):
        total = sum(numbers)
        low, high = max(-9, -total), min(9, LARGEST - total)
        numbers.append(rng.choice([n for n in range(low, high + 1) if n != 0]))
    return numbers


def _steps(numbers: list[int]) -> str:
    """The calculation, such as '3 + 4 = 7. 7 - 4 = 3.'"""
    totals = [sum(numbers[:i + 1]) for i in range(len(numbers))]
    return ' '.join(
        f'{before} {"-+"[change > 0]} {abs(change)} = {after}.'
        for before, change, after in zip(totals, numbers[1:], totals[1:]))


def _story(numbers: list[int], rng: Random) -> str:
    """The story in which the numbers occur, and the question."""
    name, things = rng.choice(WOMEN + MEN), rng.choice(_THINGS)
    sentences = [
        rng.choice(_STARTS), *(rng.choice(_MORE if change > 0 else _FEWER)
                               for change in numbers[1:]), _END
    ]
    return ' '.join(
        sentence.format(
            name=name, things=things, pronoun=pronoun(name), n=abs(number))
        for sentence, number in zip(sentences, [*numbers, 0]))


KIND = Kind(
    draw, passage, exercises=0.8, pieces=(2, 6), exercise_pieces=(1, 4))
