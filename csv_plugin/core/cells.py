"""Numbers as texts in cells of tables: percents, intervals, counts."""
import math

#: Stands for an interval that leaves no accuracy out but those below chance.
ANY = 'any'


def percent(fraction: float) -> float:
    """A fraction in percent, to 15 significant digits.

    So a percentage that was divided by 100 is restored.

    >>> percent(0.29), 100 * 0.29
    (29.0, 28.999999999999996)
    """
    return float(f'{100 * fraction:.15g}')


def interval(low: float, high: float, chance: float = 0.0) -> str:
    """An interval of fractions in whole percent, rounded outward.

    Returns:
        str: The ends; `ANY` if it reaches from the accuracy at random
        guessing, `chance`, or below, to 100; '?' for NaN.

    >>> interval(0.245, 0.453), interval(0.2, 1, chance=0.25), interval(0.2, 1)
    ('24-46', 'any', '20-100')
    """
    if math.isnan(low):
        return '?'
    if math.floor(percent(low)) <= percent(chance) and percent(high) > 99:
        return ANY
    return whole_percents(low, high)


def whole_percents(low: float, high: float) -> str:
    """A range of fractions in whole percent, rounded outward."""
    return f'{math.floor(percent(low))}-{math.ceil(percent(high))}'


def predicted_cell(value: float,
                   low: float,
                   high: float,
                   chance: float = 0.0,
                   marks: str = '') -> str:
    """A prediction in percent, its interval and marks; '-' for NaN.

    >>> predicted_cell(0.612, 0.43, 0.785, marks='*')
    '61.2 (43-79)*'
    """
    if math.isnan(value):
        return '-'
    return f'{100 * value:.1f} ({interval(low, high, chance)}){marks}'


def number(value: float, digits: str = '.1f') -> str:
    """A number in a format of Python; '-' for NaN."""
    return '-' if math.isnan(value) else f'{value:{digits}}'


def counted(number: int, noun: str) -> str:
    """A number of things, such as '2 runs'; the plural ends with s."""
    return f'{number} {noun}{"s" * (number != 1)}'
