"""Everyday scenes with four endings, one of which fits.

A scene mentions two things, and only one of them matters: the tool that was
taken, the house that was entered, the event of today. The three wrong endings
belong to the other thing and to two things that are not mentioned.
"""
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tools.demo_maker.world.items import Item, Kind, multiple_choice, split_of
from tools.demo_maker.world.places import MEN, WOMEN, pronoun

TOOLS = {
    'a needle': 'mended the torn sail',
    'a kettle': 'boiled water for tea',
    'a lantern': 'lit the dark cellar',
    'a broom': 'swept the front steps',
    'a hammer': 'drove in a loose nail',
    'a ladder': 'climbed onto the roof',
    'a bucket': 'watered the old horse',
    'an oar': 'rowed across the bay',
    'a saw': 'cut the plank in two',
    'a net': 'caught a few herrings',
    'a spade': 'dug up the potatoes',
    'a pen': 'wrote a letter home',
    'a key': 'opened the locked chest',
    'an umbrella': 'kept dry in the rain',
    'a comb': 'smoothed the pony\'s mane',
    'an axe': 'split logs for the stove',
    'a brush': 'painted the garden gate',
    'a knife': 'sliced the fresh loaf',
    'a rake': 'gathered the dry leaves',
    'a fiddle': 'played a slow dance',
    'a map': 'found the way to Fennick',
    'a spoon': 'stirred the pea soup',
    'a rope': 'tied up the rowing boat',
    'a telescope': 'watched a distant ship',
    'a basket': 'brought home the eggs',
    'a towel': 'dried the wet plates',
    'an iron': 'pressed a linen shirt',
    'a blanket': 'warmed the cold puppy',
    'a whistle': 'called the dog back',
    'a barrow': 'moved the heavy stones',
    'a razor': 'shaved off a long beard',
    'a sieve': 'sifted the barley flour',
}
HOUSES = {
    'the bakery': 'bought a warm bun',
    'the smithy': 'had the horse shod',
    'the chapel': 'sang an old hymn',
    'the school': 'learned a new poem',
    'the library': 'borrowed a novel',
    'the inn': 'drank a mug of cider',
    'the lighthouse': 'trimmed the lamp',
    'the mill': 'had some wheat ground',
    'the post office': 'sent off a parcel',
    'the tailor\'s shop': 'tried on a coat',
    'the barber\'s shop': 'got a short haircut',
    'the bathhouse': 'soaked in hot water',
    'the theatre': 'watched a comedy',
    'the orchard': 'picked some apples',
    'the dairy': 'fetched a jug of milk',
    'the pottery': 'chose a blue bowl',
    'the boatyard': 'helped tar a hull',
    'the bank': 'drew out some money',
    'the apothecary': 'asked for syrup',
    'the stables': 'saddled a grey mare',
    'the fish hall': 'weighed out some cod',
    'the court': 'ended an old quarrel',
    'the print shop': 'ordered handbills',
    'the beach': 'collected some shells',
    'the churchyard': 'laid down flowers',
    'the museum': 'admired ship models',
}
EVENTS = {
    'the harbour froze': 'no boat could leave',
    'the baker fell ill': 'nobody had any bread',
    'the bridge fell down': 'carts went by the ford',
    'the clock stopped': 'everyone came late',
    'the cow broke loose': 'the lettuces were eaten',
    'the well ran dry': 'water came in barrels',
    'the mast snapped': 'the ship drifted home',
    'fog came down': 'the horn blew all day',
    'snow fell': 'children built a fort',
    'the wind dropped': 'the mill stood still',
    'the roof leaked': 'pans stood everywhere',
    'a wheel came off': 'the cart tipped over',
    'the guard dog barked': 'the thief ran away',
    'the herring came': 'every net was full',
    'a whale was seen': 'crowds lined the cliff',
    'the bees swarmed': 'people shut windows',
    'the teacher overslept': 'pupils played outside',
    'the oil ran out': 'the streets stayed dark',
    'the river rose': 'the meadow was a lake',
    'a circus arrived': 'tents filled the green',
    'the heat came': 'the milk went sour',
    'the cat ran off': 'mice ate the cheese',
    'a chimney caught fire': 'buckets were passed on',
    'the queen visited': 'flags hung everywhere',
}


@dataclass(frozen=True)
class Family:
    """Scenes about the same sort of things.

    Args:
        endings (Mapping[str, str]): The ending that belongs to each thing.
        settings (tuple[str, ...]): Scenes about `{name}`, in which `{this}`
            matters and `{that}` does not.
        ending (str): The last sentence around `{end}`.
        lesson (str): A sentence that states which ending belongs to a thing.
    """
    endings: Mapping[str, str]
    settings: tuple[str, ...]
    ending: str
    lesson: str


FAMILIES = (
    Family(TOOLS, ('{name} put down {that} and took up {this}.',
                   '{name} left {that} on the bench and picked up {this}.',
                   '{name} wanted {this} and had no use for {that}.',
                   '{name} borrowed {this} and gave back {that}.'),
           ' {pronoun} {end}.', 'With {this}, {name} {end}.'),
    Family(HOUSES, ('{name} walked past {that} and stopped at {this}.',
                    '{name} was done at {that} and went on to {this}.',
                    '{name} came to {this} by the lane behind {that}.',
                    '{name} went to {this} and saved {that} for later.'),
           ' {pronoun} {end}.', 'At {this}, {name} {end}.'),
    Family(EVENTS, ('Last week {that}. Today {this}.',
                    '{name} only dreamed that {that}. In truth {this}.',
                    'Today {this}. It was last week that {that}.',
                    'In truth {this}. {name} only dreamed that {that}.'),
           ' So {end}.', 'When {this}, {end}.'),
)


def draw(rng: Random, split: str) -> Item:
    """A scene of a split; the two things that it mentions decide the split."""
    while True:
        family = rng.choice(FAMILIES)
        things = rng.sample(list(family.endings), 4)
        key = f'{things[0]}, not {things[1]}'
        if split_of(key) == split:
            break
    name = rng.choice(WOMEN + MEN)
    scene = rng.choice(family.settings).format(
        name=name, this=things[0], that=things[1])
    right, *wrong = (
        family.ending.format(pronoun=pronoun(name), end=family.endings[thing])
        for thing in things)
    return multiple_choice(key, scene, right, wrong, rng)


def passage(rng: Random) -> str:
    """A sentence that states which ending belongs to a thing."""
    family = rng.choice(FAMILIES)
    thing = rng.choice(list(family.endings))
    return family.lesson.format(
        this=thing, end=family.endings[thing], name=rng.choice(WOMEN + MEN))


KIND = Kind(
    draw, passage, exercises=0.8, pieces=(3, 8), exercise_pieces=(2, 6))
