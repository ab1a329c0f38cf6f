"""A comparison of two models as tables to read, and as one line."""
from shlex import quote

from csv_plugin.core.comparing import LOSS_MARGIN
from csv_plugin.core.comparison import (MEAN, OF_RUNS, Comparison, interval_of,
                                        name_of, number_of)
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import shortened
from csv_plugin.core.noise import (BETTER, LOSS, PREDICTED, SAME, WORSE,
                                   Difference)
from csv_plugin.core.text_tables import WIDTH, text_table, wrapped

#: Beginnings of the sentence on what came out.
_SENTENCES = {
    BETTER: 'B is better than A',
    WORSE: 'B is worse than A',
    SAME: 'B and A do not differ beyond noise',
}


def as_text(comparison: Comparison, width: float = WIDTH) -> str:
    """Return tables, notes and what came out, for the terminal."""
    parts = [wrapped([f'{ab}: {m}' for ab, m in zip('AB', comparison.models)])]
    for heading, rows in comparison.tables():
        parts += [heading, text_table(rows, width)]
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
        parts.append(
            f'Predicted accuracies show a difference on {named}.'
            if seen else 'No benchmark shows a predicted difference yet.')
    losses = comparison.of_kind(LOSS)
    if losses and not part.of_losses:
        parts.append(f'By loss: {_said(losses[0])}')
    if comparison.about == OF_RUNS:
        parts.append('This is about these two runs, not about their recipes.')
    return one_line(' '.join(parts))


def _said(part: Difference) -> str:
    """A difference as a sentence, with its interval and probability."""
    text = _SENTENCES.get(part.verdict, 'The data cannot tell B from A')
    names = {LOSS: 'mean loss', MEAN: 'mean accuracy'}
    name = names.get(name_of(part), f'accuracy on {part.benchmark}')
    share = ''
    if part.of_losses and part.margin:
        # The margin is a share of the mean loss of A.
        share = f', {100 * LOSS_MARGIN * part.value / part.margin:+.2f} %'
    return (
        f'{text}: {name} {number_of(part, part.value)}{_unit(part)}{share} '
        f'({interval_of(part)}), P(B better) {part.probability:.3f}.')


def as_line(comparison: Comparison) -> str:
    """Return what came out in one line of NAME=VALUE, for logs."""
    part = comparison.decisive
    fields = {
        'verdict': part.verdict.replace(' ', '_'),
        'by': quote(name_of(part)),
        'kind': part.kind,
        'about': comparison.about,
        'difference': number_of(part, part.value),
        'low': number_of(part, part.low),
        'high': number_of(part, part.high),
        'unit': 'loss' if part.of_losses else 'points',
        'probability': f'{part.probability:.4f}',
        'noise': '+'.join(part.noises),
        **dict(zip('ab', map(quote, comparison.models)))
    }
    return one_line(' '.join(f'{name}={fields[name]}' for name in fields))


def _legend(comparison: Comparison) -> list[str]:
    """Lines on the meaning of columns and verdicts."""
    part = comparison.decisive
    legend = [
        f'Intervals of {100 * comparison.level:g} %. Better or worse: the '
        'interval leaves 0 out. No difference: it lies within '
        f'the margin, {number_of(part, part.margin, "")}{_unit(part)} for '
        'what decides. '
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
    """Lines on the benchmarks where running them tells more than losses do.

    There are none if it is not known how many items benchmarks have.
    """
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
    # Most characters of the names of benchmarks in a line of the legend.
    n_characters = 200
    if finer:
        lines.append('Running it shows smaller differences than losses do: '
                     f'{shortened(", ".join(finer), n_characters)}.')
    if rest:
        lines.append('Losses show as small differences as running it: '
                     f'{shortened(", ".join(rest), n_characters)}.')
    return lines


def _unit(part: Difference) -> str:
    """The unit behind a number; none for losses, which may be in any unit."""
    return '' if part.of_losses else ' points'
