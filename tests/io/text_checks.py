"""What the checks of the shipped texts may call.

Each line of `shipped_texts_checks.jsonl` names a text and gives lines of
Python, the last of which is an expression: the answer, found from what the
text says by calculation or by trying all possibilities.
"""
import calendar
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any


class NotUniqueError(Exception):
    """The rules of a puzzle leave no answer, or several."""


def _only_answer(names: Sequence[str], ways: Iterable[Sequence[Any]],
                 rules: Sequence[str], ask: str) -> Any:
    """The answer that all ways to give each name a value agree on."""
    tests = [compile(rule, rule, 'eval') for rule in rules]
    answers = set()
    for values in ways:
        place = dict(zip(names, values))
        who = dict(zip(values, names)).get
        if all(eval(test, dict(place)) for test in tests):
            answers.add(eval(ask, dict(place, who=who)))
    if len(answers) != 1:
        raise NotUniqueError(f'{ask}: {answers}')
    return answers.pop()


def ranked(names: str, *rules: str, ask: str) -> Any:
    """Names in an order, the first with the value 1."""
    parts = names.split()
    ways = itertools.permutations(range(1, len(parts) + 1))
    return _only_answer(parts, ways, rules, ask)


def placed(names: str, values: str, *rules: str, ask: str) -> Any:
    """Each name with a value of its own."""
    ways = itertools.permutations(values.split())
    return _only_answer(names.split(), ways, rules, ask)


def settled(names: str, *rules: str, ask: str) -> Any:
    """Each name true or false."""
    parts = names.split()
    ways = itertools.product((False, True), repeat=len(parts))
    return _only_answer(parts, ways, rules, ask)


def entails(names: str, premises: Sequence[str], conclusion: str) -> bool:
    """Whether a conclusion is true whenever all premises are."""
    try:
        return bool(settled(names, *premises, ask=f'bool({conclusion})'))
    except NotUniqueError:
        return False


def yes_no(value: bool) -> str:
    return 'yes' if value else 'no'


def follows(names: str, premises: Sequence[str], conclusion: str) -> str:
    return yes_no(entails(names, premises, conclusion))


def kind(is_knight: bool) -> str:
    return 'a knight' if is_knight else 'a knave'


def who_is(flags: Sequence[bool], *names: str) -> str:
    """The only name whose flag is true."""
    name, = itertools.compress(names, flags)
    return name


def swapped(held: dict[Any, Any], *pairs: Any) -> dict[Any, Any]:
    """What each holds after pairs have swapped, one after the other."""
    now = dict(held)
    for pair in pairs:
        a, b = pair.split() if isinstance(pair, str) else pair
        now[a], now[b] = now[b], now[a]
    return now


def walked(facing: str, *moves: Any) -> tuple[int, int]:
    """Steps to the east and to the north from the start."""
    heading = {'north': 1j, 'east': 1, 'south': -1j, 'west': -1}[facing]
    place = 0j
    for move in moves:
        if isinstance(move, str):
            heading *= {'right': -1j, 'left': 1j}[move]
        else:
            place += heading * move
    return int(place.real), int(place.imag)


def month_day(when: date) -> str:
    return f'{when.day} {calendar.month_name[when.month]}'


def day(when: date) -> str:
    return f'{month_day(when)} {when.year}'


def weekday(n: int) -> str:
    """The name of a day, n days after a Monday."""
    return calendar.day_name[n % 7]


def clock(minutes: int) -> str:
    return f'{minutes // 60}:{minutes % 60:02}'


def 星期(when: date) -> str:
    return '星期' + '一二三四五六日'[when.weekday()]


def 月日(when: date) -> str:
    return f'{when.month}月{when.day}日'


_NAMES: tuple[Callable[..., Any],
              ...] = (ranked, placed, settled, entails, yes_no, follows, kind,
                      who_is, swapped, walked, month_day, day, weekday, clock,
                      星期, 月日, date, datetime, timedelta, Fraction)


def answer_of(lines: Sequence[str]) -> str:
    """The answer that the lines of a check find."""
    known: dict[str, Any] = {f.__name__: f for f in _NAMES}
    known |= {'calendar': calendar, 'math': math}
    exec('\n'.join(lines[:-1]), known)
    return str(eval(lines[-1], known))
