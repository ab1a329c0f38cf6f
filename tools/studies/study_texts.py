"""Errors on the zoo of the package by number of texts and of their sources.

The table of docs/appendix/zoo.md:

    python -m tools.studies.study_texts --draws 5

Predictors are fitted to the zoo on draws of the validation set: more and more
texts of all sources, or `FIXED` texts of more and more sources.
"""
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core.study import geometric_mean
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from tools.studies.options import add_number, parser_of
from tools.studies.zoo_study import (BASELINE, FIRST_SERIES, OURS, TRAIN,
                                     VALIDATION, ZooStudy)

#: Numbers of texts of all sources.
NUMBERS = (10, 25, 50, 100, 250)
#: Number of texts of 1 to 5 sources: as many as each source has.
FIXED = 50
#: Methods, and whether they are the baseline.
METHODS = {OURS: False, BASELINE: True}


class Draw(NamedTuple):
    """Texts that a predictor is fitted on, and from how many sources."""
    texts: tuple[Text, ...]
    n_sources: int


def draw(texts: TextSet, n_texts: int, n_sources: int,
         seed: int) -> tuple[Text, ...]:
    """Random texts of random sources, about as many of each source.

    Draws with the same seed are nested: a larger one contains the smaller.
    Texts stay in the order of the set.
    """
    by_source: dict[str, list[Text]] = {}
    for text in texts:
        by_source.setdefault(text.source, []).append(text)
    rng = Random(seed)
    shuffled = [rng.sample(part, len(part)) for part in by_source.values()]
    chosen = rng.sample(shuffled, len(shuffled))[:n_sources]
    share, rest = divmod(n_texts, n_sources)
    counts = [share + (place < rest) for place in range(n_sources)]
    drawn = {
        text.text_id
        for count, source in zip(counts, chosen)
        for text in source[:count]
    }
    return tuple(text for text in texts if text.text_id in drawn)


def draws(texts: TextSet, numbers: Sequence[int], n_fixed: int,
          n_draws: int) -> Iterator[list[Draw]]:
    """Draws of each number of texts, and of each number of sources.

    All texts are drawn once.
    """
    n_all = len({text.source for text in texts})
    sizes = [(number, n_all) for number in numbers]
    sizes += [(n_fixed, n) for n in range(1, n_all + 1)]
    for n_texts, n_sources in sizes:
        seeds = range(1 if n_texts == len(texts) else n_draws)
        yield [
            Draw(draw(texts, n_texts, n_sources, seed), n_sources)
            for seed in seeds
        ]


def errors(study: ZooStudy, texts: tuple[Text, ...],
           method: str) -> dict[str, float]:
    """Geometric means of the exams' MSE by kind of test models."""
    part = study.of_texts(texts)
    fitted = part.models_in(TRAIN, VALIDATION)
    predictor = part.fit(fitted, baseline=METHODS[method])
    squares = (part.predicted(predictor) -
               part.collection.accuracies.values)**2
    return {
        kind: geometric_mean(squares[rows].mean(axis=0))
        for kind, rows in part.test_models().items()
    }


def row(study: ZooStudy, drawn: Sequence[Draw]) -> dict[str, object]:
    """Errors x 1e-3 of draws: geometric means (and ranges) by method."""
    found = [{
        method: errors(study, part.texts, method)
        for method in METHODS
    } for part in drawn]
    return {
        'texts': len(drawn[0].texts),
        'sources': drawn[0].n_sources
    } | {
        f'{kind}: {method}': _cell([1e3 * one[method][kind] for one in found])
        for kind in study.test_models()
        for method in METHODS
    }


def _cell(values: Sequence[float]) -> str:
    spread = f' ({min(values):.1f}-{max(values):.1f})' if values[1:] else ''
    return f'{geometric_mean(values):.1f}{spread}'


def main(argv: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    add_number(parser, '--texts', NUMBERS, 'how many texts of all sources')
    add_number(parser, '--draws', 10, 'draws of each number of texts')
    args = parser.parse_args(argv)
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER).of_series(FIRST_SERIES)
    drawn = [*draws(study.collection.texts, args.texts, FIXED, args.draws)]
    rows = [row(study, part) for part in tqdm(drawn, desc='numbers')]
    print(tabulate(rows, 'keys', 'pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
