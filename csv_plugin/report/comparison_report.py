"""A comparison of two models as tables to read, and as one line."""
from shlex import quote

from csv_plugin.core.comparing import LOSS_MARGIN, MEAN, OF_RUNS, Comparison
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import shortened
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
#: Most characters of the names of benchmarks in a line of the legend.
_NAMED = 200
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
    """Return what came out, in a few sentences.

    First what decides; then the benchmarks on which a difference is predicted,
    and the losses, if they do not decide.
    """
    part = comparison.decisive
    parts = [_said(part)]
    seen = [
        other for other in comparison.of_kind(PREDICTED)
        if other.benchmark != MEAN and other.verdict in (BETTER, WORSE)
    ]
    if part.of_losses and comparison.of_kind(PREDICTED):
        named = ', '.join(f'{other.benchmark} ({other.verdict})'
                          for other in seen)
        parts.append(f'Predicted accuracies show a difference on {named}.'
                     if seen else 'On no benchmark will that be seen yet.')
    losses = comparison.of_kind(LOSS)
    if losses and not part.of_losses:
        parts.append(f'By loss: {_said(losses[0])}')
    if comparison.about == OF_RUNS:
        parts.append('This is about these two runs, not about their recipes.')
    return one_line(' '.join(parts))


def _said(part: Difference) -> str:
    """A difference as a sentence."""
    text = _SENTENCES.get(part.verdict, 'The data cannot tell B from A')
    names = {LOSS: 'mean loss', MEAN: 'mean accuracy'}
    name = names.get(_name(part), f'accuracy on {part.benchmark}')
    share = ''
    if part.of_losses and part.margin:
        # The margin is a share of the mean loss of A.
        share = f', {100 * LOSS_MARGIN * part.value / part.margin:+.2f} %'
    return (f'{text}: {name} {_number(part, part.value)}{_unit(part)}{share} '
            f'({_interval(part)}), P(B better) {part.probability:.3f}.')


def as_line(comparison: Comparison) -> str:
    """Return what came out in one line of NAME=VALUE, for logs."""
    part = comparison.decisive
    fields = {
        'verdict': part.verdict.replace(' ', '_'),
        'by': quote(_name(part)),
        'kind': part.kind,
        'about': comparison.about,
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
    by_items = any(part.by_items is not None for part in parts)
    rows = [[
        '', 'B - A', 'interval', 'P(better)', 'verdict', 'detectable',
        *['by items'] * by_items, *(f'SE {origin}' for origin in origins)
    ]]
    for part in parts:
        errors = [part.errors.get(origin) for origin in origins]
        rows.append([
            _name(part),
            _number(part, part.value), _interval(part),
            f'{part.probability:.3f}', part.verdict,
            'none' if part.detectable is None else _number(
                part, part.detectable, ''),
            *['-' if part.by_items is None else _number(
                part, part.by_items, '')] * by_items,
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
        legend += _where_to_run(comparison.of_kind(PREDICTED))
    if comparison.answers:
        legend.append('p: exact test. Needed: items that make the margin '
                      'detectable. Worth: items that are as exact as the '
                      'prediction.')
    return legend


def _where_to_run(parts: list[Difference]) -> list[str]:
    """Benchmarks whose own items tell more than losses, and others."""
    known = {
        part.benchmark: part.by_items < part.size_to_detect
        for part in parts if part.by_items is not None
    }
    if not known:
        return []
    finer = [name for name, is_finer in known.items() if is_finer]
    rest = [name for name in known if name not in finer]
    lines = [
        'By items: what both models run on the benchmark would show, if '
        'their answers are not paired.'
    ]
    if finer:
        lines.append('Running it shows smaller differences than losses do: '
                     f'{shortened(", ".join(finer), _NAMED)}.')
    if rest:
        lines.append('Losses show as small differences as running it: '
                     f'{shortened(", ".join(rest), _NAMED)}.')
    return lines


def _unit(part: Difference) -> str:
    """Losses of tables may be in any unit."""
    return '' if part.of_losses else ' points'
