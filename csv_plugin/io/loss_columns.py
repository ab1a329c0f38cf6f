"""Find columns of a table that are neither losses nor accuracies.

Tables that training programs write often have columns of steps, learning rates
and so on beside the losses or accuracies.
"""
import re
from collections.abc import Sequence
from itertools import compress

import numpy as np

from csv_plugin.core.arrays import Floats
from csv_plugin.core.metric_names import LOSSES, is_accuracy

#: Words for counts and settings of a training. The name of a column of counts
#: or settings contains at least one of them.
_COUNTS = frozenset(
    'step steps iter iters iteration iterations epoch epochs update updates '
    'token tokens flop flops flos param params parameters lr learningrate '
    'batchsize gradnorm walltime wallclock runtime elapsed seconds timestamp '
    'time dt tok mem memory hours index idx samples globalstep unnamed'.split(
    ))
#: Other words that the name of such a column may contain.
_BESIDE = frozenset(
    'global total num n number of train training trainer eval val valid '
    'validation optimizer optim input seen consumed current max count per '
    'sec second minute hour device throughput s b m k t billion '
    'billions million millions learning rate batch size grad norm wall clock '
    'gpu model non embedding taken ms mb gb x e 0'.split())
#: Last words of the names of scores that are neither losses nor accuracies.
_SCORES = frozenset(['bleu', 'rouge', 'auroc'])
#: Last words of the names of measures that are not accuracies. Words that also
#: end names of benchmarks, such as `passage_count`, are not among them.
_MEASURES = LOSSES | {'byte', 'loglikelihood', 'toxicity'}
#: Words for a mean over benchmarks. The name of a column of means contains at
#: least one of them.
_MEANS = frozenset('mean average avg overall'.split())
#: Other words that the name of such a column may contain.
_BESIDE_MEANS = frozenset('acc accuracy score macro micro total of'.split())
#: The values of fewer models are not judged: by chance they may look like no
#: losses.
_LEAST_MODELS = 4


def _words(name: str) -> list[str]:
    """Return the words and numbers in a name, in lower case."""
    return re.findall(r'[^\W\d_]+|\d+', name.lower())


def _is_count(name: str) -> bool:
    """Return whether a name consists of words for a count or a setting.

    >>> [*map(_is_count, ('train/global_step', 'lr-AdamW', 'steps_corpus'))]
    [True, True, False]
    """
    words = _words(name)
    is_setting = words[:1] in (['lr'], ['timer'])
    if is_setting or words[:2] == ['learning', 'rate']:
        return True
    # `_COUNTS` contains pairs of words as one word, such as 'batchsize'.
    pairs = [first + second for first, second in zip(words, words[1:])]
    if _COUNTS.isdisjoint([*words, *pairs]):
        return False
    known_words = _COUNTS | _BESIDE
    return known_words.issuperset(words)


def _counts(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns whose names mean counts or settings, with a reason.
    """
    found = {}
    for name in columns:
        if _is_count(name):
            found[name] = 'counts or settings'
    return found


def no_losses(columns: Sequence[str], values: Floats) -> dict[str, str]:
    """Return the columns that cannot be losses, with the reason for each.

    `values` are the values of M models in K columns, `(M, K)`, NaN where a
    cell is empty. Some columns are found by their names, such as `step` or
    `train/lr`, others by their values.
    """
    found = _counts(columns)
    for name, column in zip(columns, values.T):
        last_word = _words(name)[-1:]
        is_score = is_accuracy(name) or _SCORES.intersection(last_word)
        if is_score and (column <= 1).all():
            found[name] = 'accuracies'
    if len(values) < _LEAST_MODELS:
        return found
    usable = np.isfinite(values).all(axis=0)
    for find, reason in _REASONS.items():
        rest = []
        for k, name in enumerate(columns):
            if usable[k] and name not in found:
                rest.append(k)
        for index in find(values[:, rest]):
            name = columns[rest[index]]
            found[name] = reason
    return found


def zero_losses(columns: Sequence[str], values: Floats) -> list[str]:
    """Return the columns whose values are 0 for all models, `(M, K)`.

    They may be losses: in a table of rounded numbers, an item that all models
    know has the loss 0. The values of few models are not judged.
    """
    if len(values) < _LEAST_MODELS:
        return []
    has_losses = values.any(axis=0)
    return list(compress(columns, ~has_losses))


def _whole(values: Floats) -> list[int]:
    """Return indices of columns that contain only whole numbers.

    The result is empty if there are no other columns, or if more than a few of
    the numbers in the other columns are whole, too. A column of zeros is not
    in the result.
    """
    is_whole = values == np.round(values)
    share = is_whole.mean(axis=0)
    beside = share[share < 1]
    # At most this share of the values in other columns are whole numbers.
    few = 0.1
    if not len(beside) or beside.mean() > few:
        return []
    found = (share == 1) & values.any(axis=0)
    return np.flatnonzero(found).tolist()


def _constant(values: Floats) -> list[int]:
    """Return indices of columns with the same number above 0 in all rows.

    `zero_losses` finds the columns of zeros.
    """
    first = values[0]
    is_same = (values == first).all(axis=0)
    found = is_same & (first > 0)
    return np.flatnonzero(found).tolist()


def _far(values: Floats) -> list[int]:
    """Return indices of columns whose values are far from most other columns.
    """
    # Losses in the same unit, of any columns, differ by less than this factor.
    far_factor = 300
    medians = np.median(values, axis=0)
    order = np.argsort(medians)
    rising = values[:, order]
    # For each column, the largest value in it and the columns before it, and
    # the least value in it and the columns after it.
    largest = np.maximum.accumulate(rising.max(axis=0))
    last_first = rising.min(axis=0)[::-1]
    least = np.minimum.accumulate(last_first)[::-1]
    largest_below = largest[:-1]
    least_above = least[1:]
    is_far = least_above >= far_factor * largest_below
    is_gap = (largest_below > 0) & is_far
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


#: Functions that find columns which cannot be losses, with the reason.
_REASONS = {
    _whole: 'whole numbers',
    _constant: 'the same for all models',
    _far: 'far from the values of other columns, as in another unit',
}


def no_accuracies(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns whose names show that they are no accuracies.

    The values of the result are the reasons. If there are two benchmarks or
    more, a mean over benchmarks is among these columns, because it would count
    the benchmarks twice.
    """
    found = _counts(columns)
    means = {}
    for name in columns:
        words = _words(name)
        if _MEASURES.intersection(words[-1:]):
            found[name] = 'no accuracies'
        elif _is_mean(words):
            means[name] = 'means over other columns'
    n_benchmarks = len(columns) - len(found) - len(means)
    if n_benchmarks > 1:
        found |= means
    return found


def _is_mean(words: Sequence[str]) -> bool:
    """Return whether a name with these words means a mean over benchmarks.

    >>> names = 'Avg. score', 'mean of 5', 'mmlu average'
    >>> [_is_mean(_words(name)) for name in names]
    [True, True, False]
    """
    words = [word for word in words if not word.isdecimal()]
    known_words = _MEANS | _BESIDE_MEANS
    return not _MEANS.isdisjoint(words) and known_words.issuperset(words)
