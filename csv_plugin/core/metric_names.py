"""Recognise metrics that are accuracies by the names that programs give them.

An accuracy is the fraction of items that a model answers correctly, or the
mean of grades of its answers. It lies between 0 and 1, or 0 and 100 percent,
and better models have higher values. Perplexities, toxicity, lengths, times,
counts and errors may lie in the same range, but are not accuracies.
"""
import re
from collections.abc import Iterable
from typing import Optional

#: A word or a number in a name. 'AverageAccuracy' has two words.
_PARTS = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')
#: Words that show that a metric is an accuracy. The words of a name are joined
#: by blanks before they are compared.
_ACCURACIES = re.compile(
    r'\b(?:acc|accuracy|accuracies|em|f 1|pass \d+|pass k|pass rate|'
    r'maj \d+|(?:exact|prefix|extractive) match|correctness|cot correct|'
    r'math verify|success rate|solve rate)\b')
#: Whole names that count as accuracies. Many evaluators give no other name.
_WHOLE = re.compile(r'(?:(?:total|overall|final) )?score|'
                    r'(?:naive|weighted|macro|micro) average|harmonic mean')
#: Words for losses, and for metrics that are computed from losses.
LOSSES = frozenset(
    'ppl perplexity perplexities loss losses nll logprob logprobs likelihood '
    'entropy bits bpb bpc mink logits'.split())
#: A metric with one of these words in its name is not an accuracy, whatever
#: the other words are.
_NO_ACCURACIES = LOSSES | frozenset(
    # Harm: lower values are better, or it is unclear which values are better.
    'toxic toxicity bias stereotype hallucination hallucinations refusal '
    # Costs.
    'time times latency second seconds sec ms duration speed throughput '
    'tokens tps cost costs memory flops '
    # Lengths, counts and ranks.
    'length lengths len count counts num number sum rank elo '
    # Errors and distances.
    'error errors wer cer ter mae mse rmse nmse rms mad brier ece '
    'calibration distance dist diff difference invalid miss missing wrong '
    'incorrect failed failure failures empty timeout '
    # Spread.
    'std stdev stderr deviation variance'.split())


def is_accuracy(metric: str) -> bool:
    """Return True if a metric of this name is known to be an accuracy.

    >>> [is_accuracy(name) for name in ('humaneval_pass@1', 'acc_norm,none')]
    [True, True]
    >>> [is_accuracy(name) for name in ('average_ppl', 'rouge1', 'acc_diff')]
    [False, False, False]
    """
    name = ' '.join(_words(metric))
    known = _ACCURACIES.search(name) or _WHOLE.fullmatch(name)
    return known is not None and not is_no_accuracy(metric)


def is_no_accuracy(metric: str) -> bool:
    """Return True if a metric of this name is known not to be an accuracy.

    If both `is_accuracy` and this function return False, the metric is
    unknown, and users may still declare it to be an accuracy.
    """
    return not _NO_ACCURACIES.isdisjoint(_words(metric))


def first_accuracy(metrics: Iterable[str]) -> Optional[str]:
    """Return the first metric that is known to be an accuracy, or None."""
    return next(filter(is_accuracy, metrics), None)


def why_no_accuracy(metrics: str) -> str:
    """Return the reason why a benchmark with these metrics has no accuracy.

    `metrics` are one or more names, as text.
    """
    return f'its metric, {metrics}, is not known to be an accuracy'


def _words(metric: str) -> list[str]:
    """Return the words and numbers of a metric's name, in lower case."""
    return [part.lower() for part in _PARTS.findall(metric)]
