"""Accuracies in cells of tables: percent, intervals from low to high."""
import math

#: Marks behind a prediction, in their order, by the part of `Predictions`.
MARKS = {'in_sample': '*', 'extrapolated': '>', 'alarm': '!',
         'with_scores': '+'}  # yapf: disable
#: Stands for an interval that leaves no accuracy out but those below chance.
ANY = 'any'
#: The meaning of the mark of predictions that known scores helped to make.
WITH_SCORES = ('+ made from the losses and the known scores of the model on '
               'other benchmarks.')
#: The meaning of the mark of predictions that a witness contradicts.
ALARM = (
    '! the mean loss or the label-token loss contradicts the learned score '
    'more than is usual on held-out families; the interval reaches around '
    'both.')


def percent(fraction: float) -> float:
    """A fraction in percent, to 15 significant digits.

    These are as many as float64 keeps, so that a number in percent that was
    divided by 100 is restored.

    >>> percent(0.29), 100 * 0.29
    (29.0, 28.999999999999996)
    """
    return float(f'{100 * fraction:.15g}')


def interval(low: float, high: float, chance: float = 0.0) -> str:
    """An interval in whole percent, rounded outward.

    Args:
        low (float): Lower end, a fraction.
        high (float): Upper end, a fraction.
        chance (float): Accuracy at random guessing, a fraction.

    Returns:
        str: The ends; `ANY` if it reaches from chance, or below, to 100, so
        that it says nothing; '?' for NaN.

    >>> interval(0.245, 0.453), interval(0.2, 1, chance=0.25), interval(0.2, 1)
    ('24-46', 'any', '20-100')
    """
    if math.isnan(low):
        return '?'
    if math.floor(percent(low)) <= percent(chance) and percent(high) > 99:
        return ANY
    return whole_percents(low, high)


def whole_percents(low: float, high: float) -> str:
    """A range of fractions in whole percent, rounded outward.

    >>> whole_percents(0.245, 0.453), whole_percents(0, 1)
    ('24-46', '0-100')
    """
    return f'{math.floor(percent(low))}-{math.ceil(percent(high))}'


def explain_marks(level: float) -> str:
    """The meaning of the cells of `Predictions.cells`, one line."""
    share = '' if math.isnan(level) else f'{level:.0%} '
    return (f'Percent ({share}interval); ({ANY}): it holds all from '
            'guessing to 100 and says nothing; * the real score was fitted '
            'on; > outside the range fitted on.')


def predicted_cell(value: float,
                   low: float,
                   high: float,
                   chance: float = 0.0,
                   marks: str = '') -> str:
    """A prediction in percent, its interval and marks; '-' for NaN.

    Args:
        value (float): The prediction, a fraction.
        low (float): As in `interval`.
        high (float): As in `interval`.
        chance (float): As in `interval`.
        marks (str): What to write behind it.

    >>> predicted_cell(0.612, 0.43, 0.785, marks='*')
    '61.2 (43-79)*'
    """
    if math.isnan(value):
        return '-'
    return f'{100 * value:.1f} ({interval(low, high, chance)}){marks}'


def number(value: float, digits: str = '.1f') -> str:
    """A number as a format says; '-' for NaN.

    >>> number(61.66), number(-3, '+.1f'), number(float('nan'))
    ('61.7', '-3.0', '-')
    """
    return '-' if math.isnan(value) else f'{value:{digits}}'


def counted(number: int, noun: str) -> str:
    """A number of things, whose plural ends with s.

    >>> counted(1, 'run'), counted(2, 'run')
    ('1 run', '2 runs')
    """
    return f'{number} {noun}{"s" * (number != 1)}'
