"""A comparison of two models as tables to read, and as one line."""
from shlex import quote

from csv_plugin.core.comparing import MEAN, Comparison
from csv_plugin.core.escaping import one_line
from csv_plugin.core.noise import (BETTER, COMBINED, ITEMS, LOSS, OBSERVED,
                                   PREDICTED, PREDICTOR, RUNS, SAME, TEXTS,
                                   WORSE, Difference)
from csv_plugin.report.screen import WIDTH, text_table, wrapped

#: Beginnings of the sentence on what came out.
_SENTENCES = {
    BETTER: 'B is better than A',
    WORSE: 'B is worse than A',
    SAME: 'B and A do not differ beyond noise',
}
#: Headings of tables, and the kind of their differences.
_TABLES = (
    ('Predicted accuracy, points', PREDICTED),
    ('Observed accuracy, points', OBSERVED),
    ('Predicted and observed accuracy combined, points', COMBINED),
    ('Mean loss; lower is better', LOSS),
)
#: Further columns of the table of items, and their digits.
_OF_ITEMS = {'p_value': '.3g', 'needed': '.0f', 'worth': '.0f'}


def as_text(comparison: Comparison, width: float = WIDTH) -> str:
    """Return tables, notes and what came out, for the terminal."""
    parts = [wrapped([f'{ab}: {m}' for ab, m in zip('AB', comparison.models)])]
    for heading, kind in _TABLES:
        rows = comparison.of_kind(kind)
        if rows:
            parts += [heading, text_table(_rows(rows), width)]
    if comparison.answers:
        parts += ['Items', text_table(_answer_rows(comparison), width)]
    notes = [f'* {note}' for note in comparison.notes]
    parts += [
        wrapped([*_legend(comparison), *notes]),
        wrapped([sentence(comparison)])
    ]
    return '\n\n'.join(parts)


def sentence(comparison: Comparison) -> str:
    """Return what came out, as a sentence."""
    part = comparison.decisive
    text = _SENTENCES.get(part.verdict, 'The data cannot tell B from A')
    names = {LOSS: 'mean loss', MEAN: 'mean accuracy'}
    name = names.get(_name(part), f'accuracy on {part.benchmark}')
    return one_line(
        f'{text}: {name} {_number(part, part.value)}{_unit(part)} '
        f'({_interval(part)}), P(B better) {part.probability:.3f}.')


def as_line(comparison: Comparison) -> str:
    """Return what came out in one line of NAME=VALUE, for logs."""
    part = comparison.decisive
    fields = {
        'verdict': part.verdict.replace(' ', '_'),
        'by': quote(_name(part)),
        'kind': part.kind,
        'difference': _number(part, part.value),
        'low': _number(part, part.low),
        'high': _number(part, part.high),
        'unit': 'loss' if part.of_losses else 'points',
        'probability': f'{part.probability:.4f}',
        'noise': '+'.join(part.noises),
        **dict(zip('ab', map(quote, comparison.models)))
    }
    return one_line(' '.join(f'{name}={fields[name]}' for name in fields))


def _name(part: Difference) -> str:
    return LOSS if part.kind == LOSS else part.benchmark


def _number(part: Difference, value: float, sign: str = '+') -> str:
    """A difference or an error in its unit."""
    return (f'{value:{sign}.5f}'
            if part.of_losses else f'{100 * value:{sign}.2f}')


def _interval(part: Difference) -> str:
    return f'{_number(part, part.low)} to {_number(part, part.high)}'


def _rows(parts: list[Difference]) -> list[list[str]]:
    """A header, and a row for each difference of one table."""
    known = {origin for part in parts for origin in part.errors}
    origins = [o for o in (PREDICTOR, TEXTS, ITEMS, RUNS) if o in known]
    rows = [[
        '', 'B - A', 'interval', 'P(better)', 'verdict', 'detectable',
        *(f'SE {origin}' for origin in origins)
    ]]
    for part in parts:
        errors = [part.errors.get(origin) for origin in origins]
        rows.append([
            _name(part),
            _number(part, part.value), _interval(part),
            f'{part.probability:.3f}', part.verdict,
            'none' if part.detectable is None else _number(
                part, part.detectable, ''),
            *('-' if e is None else _number(part, e, '') for e in errors)
        ])  # yapf: disable
    return rows


def _answer_rows(comparison: Comparison) -> list[list[str]]:
    rows = [[
        '', 'items', 'A', 'B', 'only A', 'only B', 'p (McNemar)', 'needed',
        'worth'
    ]]
    for pair in comparison.items():
        accuracies = [f'{100 * share:.1f} %' for share in pair['accuracies']]
        only = [f'{items:g}' for items in pair['only']]
        others = ['-' if pair[name] is None else f'{pair[name]:{digits}}'
                  for name, digits in _OF_ITEMS.items()]  # yapf: disable
        rows.append([
            pair['benchmark'],
            str(pair['n_items']), *accuracies, *only, *others
        ])
    return rows


def _legend(comparison: Comparison) -> list[str]:
    part = comparison.decisive
    legend = [
        f'Intervals of {100 * comparison.level:g} %. Better or worse: the '
        'interval leaves 0 out. No difference: it lies within '
        f'{_number(part, part.margin, "")}{_unit(part)}, the margin. '
        'Detectable: found with a probability of 80 %. SE: standard error.'
    ]
    if any(part.detectable is None for part in comparison.differences):
        legend.append('None: no difference can be detected, as accuracies '
                      'would have to differ by more than 100 points.')
    if comparison.of_kind(PREDICTED):
        legend.append('SE predictor: error of the predicted difference, with '
                      'that of the texts.')
    if comparison.answers:
        legend.append('p: exact test. Needed: items that make the margin '
                      'detectable. Worth: items that are as exact as the '
                      'prediction.')
    return legend


def _unit(part: Difference) -> str:
    """Losses of tables may be in any unit."""
    return '' if part.of_losses else ' points'
