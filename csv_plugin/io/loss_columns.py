"""Columns that stand beside losses or accuracies and are none."""
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.metric_names import LOSSES, is_accuracy

#: Words that name counts and settings of a training, and words beside them.
_COUNTS = frozenset(
    'step steps iter iters iteration iterations epoch epochs update updates '
    'token tokens flop flops flos param params parameters lr learningrate '
    'batchsize gradnorm walltime wallclock runtime elapsed seconds timestamp '
    'time dt tok mem memory hours index idx samples globalstep unnamed'.split(
    ))
_BESIDE = frozenset(
    'global total num n number of train training trainer eval val valid '
    'validation optimizer optim input seen consumed current max count per '
    'sec second minute hour device throughput s b m k t billion '
    'billions million millions learning rate batch size grad norm wall clock '
    'gpu model non embedding taken ms mb gb x e 0'.split())
#: Last words of names of scores, beside those of accuracies.
_SCORES = frozenset(['bleu', 'rouge', 'auroc'])
#: Last words of names of measures. Other words for what is no accuracy, such
#: as that of `passage_count`, are in names of benchmarks, too.
_MEASURES = LOSSES | {'byte', 'loglikelihood', 'toxicity'}


def _words(name: str) -> list[str]:
    return re.findall(r'[^\W\d_]+|\d+', name.lower())


def _is_count(name: str) -> bool:
    """Return whether all words of a name mean a count or a setting.

    >>> [*map(_is_count, ('train/global_step', 'lr-AdamW', 'steps_corpus'))]
    [True, True, False]
    """
    words = _words(name)
    if words[:1] in (['lr'], ['timer']) or words[:2] == ['learning', 'rate']:
        return True
    # Such as 'batch size', which is written as one word, too.
    pairs = [first + second for first, second in zip(words, words[1:])]
    if _COUNTS.isdisjoint(words) and _COUNTS.isdisjoint(pairs):
        return False
    return _COUNTS.union(_BESIDE).issuperset(words)


def _counts(columns: Sequence[str]) -> dict[str, str]:
    """Return columns whose names tell that they hold no measure, and why."""
    found = {}
    for name in columns:
        if _is_count(name):
            found[name] = 'counts or settings'
    return found


def no_losses(columns: Sequence[str],
              values: NDArray[np.float64]) -> dict[str, str]:
    """Return why some columns cannot be losses, by name.

    Values are of M models and K columns, `(M, K)`; NaN stands for none. Some
    columns tell by their names what they count, such as `step` or
    `train/lr`; others by their values.
    """
    found = _counts(columns)
    for name, column in zip(columns, values.T):
        last_word = _words(name)[-1:]
        is_score = is_accuracy(name) or _SCORES.intersection(last_word)
        if is_score and (column <= 1).all():
            found[name] = 'accuracies'
    # Values of fewer models say nothing.
    least = 4
    if len(values) < least:
        return found
    usable = np.isfinite(values).all(axis=0)
    for find in (_whole, _constant, _far):
        is_new = np.array([name not in found for name in columns], bool)
        rest = np.flatnonzero(is_new & usable)
        for k in rest[find(values[:, rest])]:
            found[columns[k]] = _REASONS[find]
    return found


def _whole(values: NDArray[np.float64]) -> list[int]:
    """Return columns of whole numbers if other columns have hardly any."""
    is_whole = values == np.round(values)
    share = is_whole.mean(axis=0)
    beside = share[share < 1]
    # So few losses are whole numbers, as a share.
    few = 0.1
    if not len(beside) or beside.mean() > few:
        return []
    found = (share == 1) & values.any(axis=0)
    return np.flatnonzero(found).tolist()


def _constant(values: NDArray[np.float64]) -> list[int]:
    """Return columns that have one number above 0 for all models."""
    is_same = (values == values[:1]).all(axis=0)
    found = is_same & (values[0] > 0)
    return np.flatnonzero(found).tolist()


def _far(values: NDArray[np.float64]) -> list[int]:
    """Return columns whose values are all far from those of most others."""
    # Losses in one unit differ by less than this factor between all columns.
    far_factor = 300
    order = np.argsort(np.median(values, axis=0))
    rising = values[:, order]
    # The largest value up to each column, and the least from there on.
    largest = np.maximum.accumulate(rising.max(axis=0))
    from_last = np.minimum.accumulate(rising.min(axis=0)[::-1])
    least = from_last[::-1]
    is_gap = (largest[:-1] > 0) & (least[1:] >= far_factor * largest[:-1])
    far: set[int] = set()
    for last_low in np.flatnonzero(is_gap).tolist():
        first_high = last_low + 1
        low = order[:first_high].tolist()
        high = order[first_high:].tolist()
        if len(low) < len(high):
            far.update(low)
        elif len(low) > len(high) or least[first_high] >= far_factor:
            far.update(high)
    return sorted(far)


_REASONS = {
    _whole: 'whole numbers',
    _constant: 'the same for all models',
    _far: 'far from the others, as in another unit',
}


def no_accuracies(columns: Sequence[str]) -> dict[str, str]:
    """Return why some columns cannot be accuracies, by name."""
    found = _counts(columns)
    for name in columns:
        last_word = _words(name)[-1:]
        if _MEASURES.intersection(last_word):
            found[name] = 'no accuracies'
    return found
