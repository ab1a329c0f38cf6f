"""Numbers as texts in cells of tables: percents, intervals, counts."""
import math

#: Stands for an interval that leaves no accuracy out but those below chance.
ANY = 'any'


def percent(fraction: float) -> float:
    """Return a fraction in percent, to 15 significant digits.

    A percentage that was divided by 100 is restored exactly.
    """
    return float(f'{100 * fraction:.15g}')


def interval(low: float, high: float, chance: float = 0.0) -> str:
    """Return an interval of fractions in whole percent, rounded outward.

    `ANY` if it contains all from the chance level to 100 %; '?' for NaN.

    >>> interval(0.245, 0.453), interval(0.2, 1, chance=0.25), interval(0.2, 1)
    ('24-46', 'any', '20-100')
    """
    if math.isnan(low):
        return '?'
    if math.floor(percent(low)) <= percent(chance) and percent(high) > 99:
        return ANY
    return whole_percents(low, high)


def whole_percents(low: float, high: float) -> str:
    """Return a range of fractions in whole percent, rounded outward."""
    return f'{math.floor(percent(low))}-{math.ceil(percent(high))}'


def predicted_cell(value: float,
                   low: float,
                   high: float,
                   chance: float = 0.0,
                   marks: str = '') -> str:
    """Return a prediction in percent with interval and marks: '61.2 (43-79)*'.

    '-' for NaN.
    """
    if math.isnan(value):
        return '-'
    return f'{100 * value:.1f} ({interval(low, high, chance)}){marks}'


def number(value: float, digits: str = '.1f') -> str:
    """Return a number in a format of Python; '-' for NaN."""
    return '-' if math.isnan(value) else f'{value:{digits}}'


def counted(number: int, noun: str) -> str:
    """Return a number of things, such as '2 runs'."""
    return f'{number} {noun}{"s" * (number != 1)}'
