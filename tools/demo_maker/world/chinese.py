"""The census of the lanes behind the quay, written in Chinese."""
from tools.demo_maker.world.items import Kind
from tools.demo_maker.world.people import Attribute, Register, full_names
from tools.demo_maker.world.places import (CHINESE_ANIMALS, CHINESE_GIVEN,
                                           CHINESE_SURNAMES, CHINESE_TRADES,
                                           LANES)

_ATTRIBUTES = (
    Attribute('home', LANES, '问：{name}住在哪里？\n答：',
              ('{name}住在{home}。', '{name}的家在{home}。', '要找{name}，就去{home}。',
               '{name}一家搬到{home}很多年了。')),
    Attribute('trade', CHINESE_TRADES, '问：{name}是做什么的？\n答：',
              ('{name}是一名{trade}。', '{name}从小就想当{trade}，后来真的当上了。',
               '{name}当{trade}已经很多年了。', '大家都说{name}是个好{trade}。')),
    Attribute('animals', CHINESE_ANIMALS, '问：{name}家里养什么？\n答：',
              ('{name}家里养着{animals}。', '{name}喜欢养{animals}。',
               '{name}每天一早起来喂{animals}。', '{name}把{animals}照顾得很好。')),
)
_PORTRAITS = (
    '{name}住在{home}，是一名{trade}，家里养着{animals}。',
    '{name}是{home}的{trade}，平时还养{animals}。',
    '{name}家在{home}，是个有名的{trade}，养{animals}作伴。',
    '户籍册上写着：{name}，家住{home}，职业{trade}，饲养{animals}。',
    '{name}在{home}当{trade}，院子里养着{animals}。',
    '{name}一边当{trade}，一边在{home}的家里养{animals}。',
)
REGISTER = Register(
    full_names(CHINESE_SURNAMES, CHINESE_GIVEN, 162, 'chinese'), _ATTRIBUTES,
    _PORTRAITS, '')
KIND = Kind(
    REGISTER.draw,
    REGISTER.passage,
    exercises=0.25,
    pieces=(2, 4),
    exercise_pieces=(3, 8))
