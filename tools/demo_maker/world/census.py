"""The parish book of the valley: its people's homes, trades and animals."""
from tools.demo_maker.world.items import Kind
from tools.demo_maker.world.people import Attribute, Register, full_names
from tools.demo_maker.world.places import (ANIMALS, MEN, SURNAMES, TRADES,
                                           VILLAGES, WOMEN)

_ATTRIBUTES = (
    Attribute('home', VILLAGES, 'Question: Where does {name} live?\nAnswer:',
              ('{name} lives in {home}.', '{name} has a house in {home}.',
               'You will find {name} in {home}.',
               '{name} was born in {home} and never left.')),
    Attribute('trade', TRADES,
              'Question: What is the trade of {name}?\nAnswer:',
              ('{name} is a {trade}.', '{name} works as a {trade}.',
               '{name} earns a living as a {trade}.',
               'The valley calls {name} a good {trade}.')),
    Attribute('animals', ANIMALS, 'Question: What does {name} keep?\nAnswer:',
              ('{name} keeps {animals}.', '{name} looks after {animals}.',
               '{name} is up early for the {animals}.',
               'On Sundays {name} sits among the {animals}.')),
)
_PORTRAITS = (
    '{name} lives in {home}, works as a {trade} and keeps {animals}.',
    '{name}, a {trade}, lives in {home} and keeps {animals}.',
    '{name} of {home} is a {trade} who keeps {animals}.',
    '{name} keeps {animals} behind a house in {home} and is a {trade}.',
    'The parish book lists {name}: home {home}, trade {trade}, animals '
    '{animals}.',
    'Ask for {name} in {home} if you need a {trade}; you will know the house '
    'by its {animals}.',
    '{name} came to {home} as a young {trade} and now keeps {animals} too.',
)
REGISTER = Register(
    full_names([f'{name} ' for name in WOMEN + MEN], SURNAMES, 162, 'census'),
    _ATTRIBUTES, _PORTRAITS, ' ')
KIND = Kind(
    REGISTER.draw,
    REGISTER.passage,
    exercises=0.25,
    pieces=(2, 4),
    exercise_pieces=(3, 7))
