"""A comparison of two models as tables to read, and as one line."""
from shlex import quote

from csv_plugin.core.comparison import (MEAN, OF_RUNS, Comparison, interval_of,
                                        name_of, number_of)
from csv_plugin.core.differences import LOSS_MARGIN
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import shortened
from csv_plugin.core.noise import (BETTER, LOSS, PREDICTED, SAME, UNCLEAR,
                                   WORSE, Difference)
from csv_plugin.core.text_tables import WIDTH, text_table, wrapped

#: Beginnings of the sentence on what came out, by verdict.
_BEGINNINGS = {
    BETTER: 'B is better than A',
    WORSE: 'B is worse than A',
    SAME: 'B and A do not differ beyond noise',
    UNCLEAR: 'The data cannot tell B from A',
}


def as_text(comparison: Comparison, width: float = WIDTH) -> str:
    """Return tables, notes and what came out, for the terminal."""
    a, b = comparison.models
    parts = [wrapped([f'A: {a}', f'B: {b}'])]
    for heading, rows in comparison.tables():
        parts += [heading, text_table(rows, width)]
    notes = [f'* {note}' for note in comparison.notes]
    parts.append(wrapped([*_legend(comparison), *notes]))
    parts.append(wrapped([conclusion(comparison)]))
    return '\n\n'.join(parts)


def conclusion(comparison: Comparison) -> str:
    """Return what came out, in a few sentences.

    The first says what the decisive difference is. If it is that of the
    losses, the second names the benchmarks with a predicted difference; if
    not, the second says what the losses show. The last says whether the
    verdict is about runs.
    """
    decisive = comparison.decisive
    sentences = [_verdict(decisive)]
    losses = comparison.of_kind(LOSS)
    if decisive.of_losses:
        sentences += _on_predictions(comparison)
    elif losses:
        sentences.append(f'By loss: {_verdict(losses[0])}')
    if comparison.about == OF_RUNS:
        sentences.append(
            'This is about these two runs, not about their recipes.')
    return one_line(' '.join(sentences))


def _verdict(part: Difference) -> str:
    """A difference as a sentence, with its interval and probability."""
    of = f'accuracy on {part.benchmark}'
    if part.of_losses:
        of = 'mean loss'
    elif part.benchmark == MEAN:
        of = 'mean accuracy'
    size = f'{number_of(part, part.value)}{_unit(part)}'
    if part.of_losses and part.margin:
        # The margin is a share of the mean loss of A.
        share = LOSS_MARGIN * part.value / part.margin
        size += f', {100 * share:+.2f} %'
    return (f'{_BEGINNINGS[part.verdict]}: {of} {size} ({interval_of(part)}), '
            f'P(B better) {part.probability:.3f}.')


def _on_predictions(comparison: Comparison) -> list[str]:
    """A sentence on the benchmarks that are predicted to differ.

    There is none if nothing is predicted.
    """
    predicted = comparison.of_kind(PREDICTED)
    if not predicted:
        return []
    named = []
    for part in predicted:
        if part.benchmark != MEAN and part.verdict in (BETTER, WORSE):
            named.append(f'{part.benchmark} ({part.verdict})')
    if not named:
        return ['No benchmark shows a predicted difference yet.']
    return [f'Predicted accuracies show a difference on {", ".join(named)}.']


def as_line(comparison: Comparison) -> str:
    """Return what came out in one line of NAME=VALUE, for logs."""
    part = comparison.decisive
    a, b = comparison.models
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
        'a': quote(a),
        'b': quote(b)
    }
    pairs = [f'{name}={value}' for name, value in fields.items()]
    return one_line(' '.join(pairs))


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
    detectable = [part.detectable for part in comparison.differences]
    if None in detectable:
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
    finer: list[str] = []
    rest: list[str] = []
    for part in parts:
        if part.by_items is not None:
            is_finer = part.by_items < part.size_to_detect
            names = finer if is_finer else rest
            names.append(part.benchmark)
    if not finer and not rest:
        return []
    lines = [
        'By items: the smallest difference that running both models on the '
        'benchmark would show, if their answers are not paired.'
    ]
    # Most characters of the names of benchmarks in a line of the legend.
    n_characters = 200
    if finer:
        lines.append('Running these benchmarks would resolve smaller '
                     'differences than losses do: '
                     f'{shortened(", ".join(finer), n_characters)}.')
    if rest:
        lines.append('Losses resolve differences at least as small as running '
                     'these benchmarks would: '
                     f'{shortened(", ".join(rest), n_characters)}.')
    return lines


def _unit(part: Difference) -> str:
    """The unit behind a number; none for losses, which may be in any unit."""
    return '' if part.of_losses else ' points'
