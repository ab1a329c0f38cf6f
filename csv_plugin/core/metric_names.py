"""Which metrics are accuracies, by the names that programs give them.

Accuracies are shares of items, or marks for them, from 0 to 1 or in percent,
that rise with the quality of a model. Perplexities, toxicity, lengths, times,
counts and errors may lie in the same range, and are none.
"""
import re
from collections.abc import Iterable
from typing import Optional

#: Parts of a name: words, numbers, and the letters of 'AverageAccuracy'.
_PARTS = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')
#: Words for accuracies, joined by blanks.
_ACCURACIES = re.compile(
    r'\b(?:acc|accuracy|accuracies|em|f 1|pass \d+|pass k|pass rate|'
    r'maj \d+|(?:exact|prefix|extractive) match|correctness|cot correct|'
    r'math verify|success rate|solve rate)\b')
#: Names that are accuracies as a whole; many evaluators say nothing else.
_WHOLE = re.compile(r'(?:(?:total|overall|final) )?score|'
                    r'(?:naive|weighted|macro|micro) average|harmonic mean')
#: Words for losses, and for what is made of them.
LOSSES = frozenset(
    'ppl perplexity perplexities loss losses nll logprob logprobs likelihood '
    'entropy bits bpb bpc mink logits'.split())
#: A word of a name that is of no accuracy, whatever else is in it.
_OTHERS = LOSSES | frozenset(
    # Harm, of which less is better, or nothing is known.
    'toxic toxicity bias stereotype hallucination hallucinations refusal '
    # Costs.
    'time times latency second seconds sec ms duration speed throughput '
    'tokens tps cost costs memory flops '
    # Lengths, counts and places.
    'length lengths len count counts num number sum rank elo '
    # Errors and distances.
    'error errors wer cer ter mae mse rmse nmse rms mad brier ece '
    'calibration distance dist diff difference invalid miss missing wrong '
    'incorrect failed failure failures empty timeout '
    # Spread.
    'std stdev stderr deviation variance'.split())


def is_accuracy(metric: str) -> bool:
    """Return whether a name is known to be that of an accuracy.

    >>> [is_accuracy(name) for name in ('humaneval_pass@1', 'acc_norm,none')]
    [True, True]
    >>> [is_accuracy(name) for name in ('average_ppl', 'rouge1', 'acc_diff')]
    [False, False, False]
    """
    name = ' '.join(_words(metric))
    known = _ACCURACIES.search(name) or _WHOLE.fullmatch(name)
    return known is not None and not is_no_accuracy(metric)


def is_no_accuracy(metric: str) -> bool:
    """Return whether a name is known to be that of no accuracy.

    Users may still declare a metric that is known as neither.
    """
    return not _OTHERS.isdisjoint(_words(metric))


def first_accuracy(metrics: Iterable[str]) -> Optional[str]:
    """Return the first metric that is known to be an accuracy, if any."""
    return next(filter(is_accuracy, metrics), None)


def why_no_accuracy(metrics: str) -> str:
    """Return why a benchmark with these metrics has no accuracy."""
    return f'its metric, {metrics}, is not known to be an accuracy'


def _words(metric: str) -> list[str]:
    """The words and numbers of a name, in lower case."""
    return [part.lower() for part in _PARTS.findall(metric)]
