"""People and their facts, for the census and the Chinese census.

Prose tells of everybody, whereas exercises, exams and validation texts ask
about different people.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from tools.demo_maker.world.items import Item, multiple_choice


@dataclass(frozen=True)
class Attribute:
    """An attribute that every person has, such as a home.

    Args:
        name (str): The field of the phrasings that it fills.
        values (tuple[str, ...]): The values it can have.
        question (str): How an exam asks for it; holds `{name}`.
        phrasings (tuple[str, ...]): Sentences that state it of `{name}`.
    """
    name: str
    values: tuple[str, ...]
    question: str
    phrasings: tuple[str, ...]


@dataclass(frozen=True)
class Person:
    """A person of a census.

    Args:
        name (str): The full name.
        facts (dict[str, str]): Values by name of the attribute.
    """
    name: str
    facts: dict[str, str]


class Register:
    """The people of a place, and how their facts are told and asked for.

    Args:
        names (Sequence[str]): Names of the people, in random order: half of
            them for the exam, a ninth for validation, the rest for training.
        attributes (tuple[Attribute, ...]): The attributes of every person.
        portraits (tuple[str, ...]): Phrasings that state all attributes.
        gap (str): Stands between two sentences and before an answer.
    """

    def __init__(self, names: Sequence[str], attributes: tuple[Attribute, ...],
                 portraits: tuple[str, ...], gap: str) -> None:
        self.attributes = attributes
        self.portraits = portraits
        self.gap = gap
        rng = Random(' '.join(names))
        self.people = {
            split: _settle(part, attributes, rng)
            for split, part in _dealt(names).items()
        }
        self.everybody = sum(self.people.values(), ())

    def passage(self, rng: Random) -> str:
        """Prose with all facts of a person, in one sentence or in several."""
        person = rng.choice(self.everybody)
        if rng.random() < 0.5:
            phrasings = [rng.choice(self.portraits)]
        else:
            phrasings = [
                rng.choice(attribute.phrasings) for attribute in rng.sample(
                    self.attributes, len(self.attributes))
            ]
        return self.gap.join(phrasings).format(
            name=person.name, **person.facts)

    def draw(self, rng: Random, split: str) -> Item:
        """A question for an attribute of a person, with four options."""
        person = rng.choice(self.people[split])
        attribute = rng.choice(self.attributes)
        right = person.facts[attribute.name]
        wrong = rng.sample(
            [value for value in attribute.values if value != right], 3)
        return multiple_choice(f'{person.name}/{attribute.name}',
                               attribute.question.format(name=person.name),
                               self.gap + right,
                               [self.gap + value for value in wrong], rng)


def full_names(first: Sequence[str], last: Sequence[str], n_names: int,
               seed: str) -> list[str]:
    """Draw different full names."""
    pairs = [a + b for a, b in product(first, last)]
    return Random(seed).sample(pairs, n_names)


def _dealt(names: Sequence[str]) -> dict[str, Sequence[str]]:
    """Names by split."""
    exam, train = len(names) // 2, len(names) - len(names) // 9
    return {
        'exam': names[:exam],
        'train': names[exam:train],
        'validation': names[train:]
    }


def _settle(names: Sequence[str], attributes: Sequence[Attribute],
            rng: Random) -> tuple[Person, ...]:
    """The people of a split, with their facts."""
    # Within a split every value is as common as any other value (give or
    # take one person), so that guessing the commonest value gains nothing.
    columns = []
    for attribute in attributes:
        column: list[str] = []
        while len(column) < len(names):
            column += rng.sample(attribute.values, len(attribute.values))
        columns.append(column)
    labels = [attribute.name for attribute in attributes]
    return tuple(
        Person(name, dict(zip(labels, facts)))
        for name, facts in zip(names, zip(*columns)))
