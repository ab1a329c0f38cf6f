"""Show a comparison of two models as text, and as one line for logs."""
from shlex import quote

from csv_plugin.core.comparison import (MEAN, Comparison, interval_of, name_of,
                                        number_of)
from csv_plugin.core.differences import LOSS_MARGIN
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import shortened
from csv_plugin.core.noise import (BETTER, ITEMS, LOSS, OBSERVED, PREDICTED,
                                   PREDICTOR, RUNS, SAME, TEXTS, UNCLEAR,
                                   WORSE, Difference)
from csv_plugin.core.text_tables import WIDTH, text_table, wrapped

#: For each verdict, the beginning of the sentence that states it.
_BEGINNINGS = {
    BETTER: 'B is better than A',
    WORSE: 'B is worse than A',
    SAME: 'B and A do not differ beyond noise',
    UNCLEAR: 'The data cannot tell B from A',
}

#: What each standard error in the tables is about.
_SOURCES = {
    PREDICTOR: 'error of the predicted difference, with the choice of texts',
    TEXTS: 'choice of texts (or columns of a table)',
    ITEMS: 'choice of items',
    RUNS: 'scatter of runs of one recipe, from seed to seed',
}


def as_text(comparison: Comparison, width: float = WIDTH) -> str:
    """Return the conclusion, the tables and notes, for the terminal."""
    a, b = comparison.models
    parts = [wrapped([f'A: {a}', f'B: {b}'], width)]
    parts.append(wrapped([conclusion(comparison)], width))
    for heading, rows in comparison.tables():
        parts += [heading, text_table(rows, width)]
    notes = [f'* {note}' for note in comparison.notes]
    below = [*_legend(comparison), *notes]
    parts.append(wrapped(below, width))
    return '\n\n'.join(parts)


def conclusion(comparison: Comparison) -> str:
    """Return the conclusion of a comparison, in one or two sentences.

    The first sentence states the decisive difference, and names the benchmarks
    on which observed accuracies show the opposite. If the decisive
    difference is of losses, the second sentence says so, and names the
    benchmarks on which predicted accuracies can tell. Otherwise, the second
    sentence states the difference of losses.
    """
    decisive = comparison.decisive
    level = comparison.level
    sentences = [_verdict(decisive, level, _contradicting(comparison))]
    losses = comparison.of_kind(LOSS)
    if decisive.of_losses:
        sentences += _on_predictions(comparison)
    elif losses:
        sentences.append(f'By loss: {_verdict(losses[0], level)}')
    return one_line(' '.join(sentences))


def _contradicting(comparison: Comparison) -> str:
    """Return a clause on observed accuracies that contradict the verdict.

    It names the benchmarks on which an observed accuracy is better although
    the verdict is 'worse', or the other way round. It is '' without any.
    """
    opposite = {BETTER: WORSE, WORSE: BETTER}.get(comparison.verdict)
    names = []
    for difference in comparison.of_kind(OBSERVED):
        if difference.verdict == opposite and difference.benchmark != MEAN:
            names.append(difference.benchmark)
    if not names:
        return ''
    listed = shortened(', '.join(names), 100)
    return f', although its observed accuracy is {opposite} on {listed}'


def _verdict(difference: Difference, level: float, words: str = '') -> str:
    """State a difference in a sentence, with its interval and probability.

    `level` is that of the interval. The words stand after the verdict.
    """
    of = f'accuracy on {difference.benchmark}'
    if difference.of_losses:
        of = 'mean loss'
    elif difference.benchmark == MEAN:
        of = 'mean accuracy'
    size = f'{number_of(difference, difference.value)}{_unit(difference)}'
    if difference.of_losses and difference.margin:
        # The margin is `LOSS_MARGIN` times the mean loss of A.
        share = LOSS_MARGIN * difference.value / difference.margin
        size += f', {100 * share:+.2f} %'
    beginning = f'{_BEGINNINGS[difference.verdict]}{words}'
    limits = interval_of(difference)
    return (f'{beginning}: {of} {size} ({100 * level:g}% interval {limits}), '
            f'P(B better) {difference.probability:.3f}.')


def _on_predictions(comparison: Comparison) -> list[str]:
    """Return a sentence that says where predicted accuracies can tell.

    The sentence is the only element of a list, which is empty if there are no
    predictions.
    """
    predicted = comparison.of_kind(PREDICTED)
    if not predicted:
        return []
    named = []
    for difference in predicted:
        if difference.benchmark != MEAN and difference.verdict != UNCLEAR:
            named.append(f'{difference.benchmark} ({difference.verdict})')
    on_predictions = 'cannot tell on any benchmark yet'
    if named:
        on_predictions = f'can tell on {", ".join(named)}'
    return [f'Losses decide; predicted accuracies {on_predictions}.']


def as_line(comparison: Comparison) -> str:
    """Return the difference that decides the verdict, as one line for logs.

    The line has fields of the form NAME=VALUE.
    """
    decisive = comparison.decisive
    a, b = comparison.models
    fields = {
        'verdict': decisive.verdict.replace(' ', '_'),
        'by': quote(name_of(decisive)),
        'kind': decisive.kind,
        'about': comparison.about,
        'difference': number_of(decisive, decisive.value),
        'low': number_of(decisive, decisive.low),
        'high': number_of(decisive, decisive.high),
        'level': f'{100 * comparison.level:g}',
        'unit': 'loss' if decisive.of_losses else 'points',
        'probability': f'{decisive.probability:.4f}',
        'noise': '+'.join(decisive.noises),
        'a': quote(a),
        'b': quote(b)
    }
    pairs = [f'{name}={value}' for name, value in fields.items()]
    return one_line(' '.join(pairs))


def _legend(comparison: Comparison) -> list[str]:
    """Return lines that explain columns and verdicts."""
    decisive = comparison.decisive
    margin = number_of(decisive, decisive.margin, '')
    legend = [
        'Better or worse: the interval does not contain 0. No difference: it '
        f'contains 0 and lies within the margin, {margin}{_unit(decisive)} '
        'for the difference that decides. Detectable: the smallest '
        'difference that is found with a probability of 80 %.'
    ]
    legend += _on_noise(comparison)
    detectable = [each.detectable for each in comparison.differences]
    if None in detectable:
        legend.append('None: no difference can be detected, as accuracies '
                      'would have to differ by more than 100 points.')
    if comparison.of_kind(PREDICTED):
        legend += _where_to_run(comparison)
    if comparison.answers:
        legend.append('p: two-sided p-value of the observed difference, from '
                      'the same noise as its interval. Needed: '
                      'number of items that would make the margin detectable. '
                      'Worth: number of items with an error as small as that '
                      'of the prediction.')
    return legend


def _on_noise(comparison: Comparison) -> list[str]:
    """Return lines on the standard errors that the tables have."""
    origins: set[str] = set()
    for difference in comparison.differences:
        origins.update(difference.noises)
    named = []
    for origin, source in _SOURCES.items():
        if origin in origins:
            named.append(f'SE {origin}: {source}')
    lines = [f'Standard errors. {"; ".join(named)}.']
    if RUNS in comparison.decisive.noises:
        lines.append('The verdict is about the recipes of A and B, as the '
                     'scatter of runs is in the interval.')
    for difference in comparison.of_kind(OBSERVED):
        if ITEMS not in difference.noises:
            lines.append('Observed accuracies of several runs are on the same '
                         'items: the choice of items is not in their '
                         'intervals.')
            break
    return lines


def _where_to_run(comparison: Comparison) -> list[str]:
    """Return lines that say on which benchmarks to run both models.

    The lines group the benchmarks: predicted accuracies can tell there, a run
    would probably decide, or a run would show no difference as small as the
    predicted one.
    Benchmarks with observed accuracies are in no group. There are no lines if
    the numbers of items of the benchmarks are unknown.
    """
    predicted = comparison.of_kind(PREDICTED)
    if all(difference.by_items is None for difference in predicted):
        return []
    observed = [part.benchmark for part in comparison.of_kind(OBSERVED)]
    decided: list[str] = []
    worth_running: list[str] = []
    too_small: list[str] = []
    for difference in predicted:
        if difference.by_items is None or difference.benchmark in observed:
            continue
        if difference.verdict != UNCLEAR:
            decided.append(difference.benchmark)
        elif abs(difference.value) >= difference.by_items:
            worth_running.append(difference.benchmark)
        else:
            too_small.append(difference.benchmark)
    lines = [
        'By items: the smallest difference that running both models on the '
        'benchmark would show, if their answers are not paired.'
    ]
    predictions = 'Predicted accuracies'
    groups = [
        (f'{predictions} can tell on', decided),
        (f'{predictions} cannot tell, but a run would show the predicted '
         'difference, on', worth_running),
        (f'{predictions} cannot tell, and a run would show no difference as '
         'small as predicted, on', too_small),
    ]
    # Maximum number of characters for names of benchmarks in a line.
    n_characters = 200
    for words, benchmarks in groups:
        if benchmarks:
            names = shortened(', '.join(benchmarks), n_characters)
            lines.append(f'{words}: {names}.')
    return lines


def _unit(difference: Difference) -> str:
    """Return the unit to show after a number.

    It is empty for losses, whose unit is not known.
    """
    return '' if difference.of_losses else ' points'
