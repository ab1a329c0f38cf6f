"""People and their facts: what the census and its Chinese twin share.

Prose tells of everybody, whereas exercises, exams and validation texts ask
about different people.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from csv_plugin.demo.world.items import Item, multiple_choice


@dataclass(frozen=True)
class Attribute:
    """Something that is known about everybody.

    Args:
        name (str): The field of the phrasings that it fills.
        values (tuple[str, ...]): What it can be.
        question (str): How an exam asks for it; holds `{name}`.
        phrasings (tuple[str, ...]): Sentences that state it of `{name}`.
    """
    name: str
    values: tuple[str, ...]
    question: str
    phrasings: tuple[str, ...]


@dataclass(frozen=True)
class Person:
    """Somebody's name and facts (attribute to value)."""
    name: str
    facts: dict[str, str]


class Register:
    """Everybody of one place, and how their facts are told and asked.

    Args:
        names (Sequence[str]): Whom it lists, in random order: half for the
            exam, a ninth for validation, the others for training.
        attributes (tuple[Attribute, ...]): What is known of everybody.
        portraits (tuple[str, ...]): Phrasings that state all attributes.
        gap (str): What stands between two sentences, and before an answer.
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
        """All facts of one person, in one sentence or in several."""
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
        """One person's attribute, with three wrong values of the same."""
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
    """Different pairs of the parts of a name, in random order."""
    pairs = [a + b for a, b in product(first, last)]
    return Random(seed).sample(pairs, n_names)


def _dealt(names: Sequence[str]) -> dict[str, Sequence[str]]:
    exam, train = len(names) // 2, len(names) - len(names) // 9
    return {
        'exam': names[:exam],
        'train': names[exam:train],
        'validation': names[train:]
    }


def _settle(names: Sequence[str], attributes: Sequence[Attribute],
            rng: Random) -> tuple[Person, ...]:
    # Within a split every value is as common as any other (give or take
    # one), so that guessing the commonest value gains nothing.
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
