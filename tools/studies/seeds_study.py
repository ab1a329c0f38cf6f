"""Compare runs of one recipe that differ in their seed alone.

    OMP_NUM_THREADS=1 python -m tools.studies.seeds_study --out outputs/seeds

Twenty tiny models of series d, on which the shipped predictor was not fitted,
have the same texts and tokenizer; weights and the order of the batches are
from their seed. None is better as a recipe: the table has per cent of pairs
with the verdict better or worse. Compared are all pairs of runs, alone and
with the noise of runs from five others (`--others`), with the 90 % interval
from draws of whole runs; and `SPLITS` random pairs of three runs against three
others, and of five against five. Models that are complete are kept; `--first
20` takes the next twenty seeds.

A second table counts pairs that the mean loss tells apart: the package's
final models of one size and two series, whose recipes differ, with noise from
drawn runs; and second seeds, with noise from the other series' two.
"""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm
from transformers import AutoTokenizer

from csv_plugin.cli.options import add_shared, whole_number
from csv_plugin.core.comparing import Losses, compare
from csv_plugin.core.comparison import Comparison
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.noise import BETTER, WORSE
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.dumping import dump_losses
from tools.studies.options import parser_of
from tools.demo_maker import corpus
from tools.demo_maker.recipes import SIZES, TrainingRecipe, series_named
from tools.demo_maker.files import tokenizer_folder
from tools.demo_maker.training import (make_tokenizer, new_model,
                                            training_steps, use_one_core)

SERIES, SIZE = 'd', 's'
DRAWS, ENDS = 2000, (.05, .95)
HEADER = 'told apart by', 'alone', 'with noise of runs'
#: Numbers of runs of A and of B, and random pairs of each.
N_RUNS, SPLITS = (3, 5), 200

#: Models A and B, and the runs of a recipe.
ZooPair = tuple[TokenLossDump, TokenLossDump, Sequence[TokenLossDump]]


def train(out: Path, seeds: Sequence[int],
          recipe: TrainingRecipe) -> list[TokenLossDump]:
    """Losses of runs of one recipe, which are trained unless they exist."""
    use_one_core()
    series, texts = series_named(SERIES), read_texts(shipped.TEXTS)
    make_tokenizer(out, SERIES, recipe)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder(out, SERIES))
    rows = corpus.training_rows(series, tokenizer, recipe.tokens, recipe.seed)
    places = {seed: out / f'seed{seed}.safetensors' for seed in seeds}
    for seed in tqdm(seeds, desc='runs'):
        if places[seed].exists():
            continue
        model = new_model(SIZES[SIZE], tokenizer, seed)
        batches = corpus.batches(rows, recipe.batch_tokens,
                                 np.random.default_rng(seed))
        for _ in training_steps(model, batches, recipe):
            pass
        write_dump(places[seed],
                   dump_losses(model, tokenizer, texts, name=f'seed{seed}'))
    return [read_dump(place) for place in places.values()]


def decided(models: Sequence[Losses], predictor: Predictor,
            n_others: int) -> dict[str, NDArray[np.bool_]]:
    """Pairs that are told apart, `(2, n, n)`, by what is compared.

    Alone, and with the noise of runs. A pair is on both sides of the diagonal.
    """
    n, rng = len(models), np.random.default_rng(0)
    found: dict[str, NDArray[np.bool_]] = {}
    for i, j in tqdm([*combinations(range(n), 2)], desc='pairs'):
        others = rng.permutation([k for k in range(n) if k not in (i, j)])
        runs = [models[k] for k in others[:n_others]]
        for way, recipe in enumerate(([], runs)):
            comparison = compare(
                models[i], models[j], predictor, same_recipe=recipe)
            for name, told in _told(comparison).items():
                apart = found.setdefault(name, np.zeros((2, n, n), bool))
                apart[way, i, j] = apart[way, j, i] = told
    return found


def decided_of_several(models: Sequence[Losses], predictor: Predictor,
                       n_runs: int) -> dict[str, float]:
    """Per cent of random pairs of n runs that are told apart, by difference.
    """
    rng = np.random.default_rng(0)
    apart: dict[str, list[bool]] = {}
    for _ in tqdm(range(SPLITS), desc=f'{n_runs} against {n_runs}'):
        drawn = rng.permutation(len(models))[:2 * n_runs]
        a, b = ([models[k] for k in part] for part in np.split(drawn, 2))
        for name, told in _told(compare(a, b, predictor)).items():
            apart.setdefault(name, []).append(told)
    return {name: 100 * np.mean(found) for name, found in apart.items()}


def _told(comparison: Comparison) -> dict[str, bool]:
    """Whether models are told apart by each difference, and by the verdict."""
    found = {
        f'{part.kind} {part.benchmark}'.strip(): part.verdict
        for part in comparison.differences
    }
    found['verdict'] = comparison.verdict
    return {
        name: verdict in (BETTER, WORSE)
        for name, verdict in found.items()
    }


def share(apart: NDArray[np.bool_]) -> str:
    """Per cent of pairs that are told apart, and its 90 % interval."""
    n = len(apart)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), DRAWS)
    both = np.concatenate([np.ones((1, n)), times])
    pairs = 1. - np.eye(n)
    # A run that was drawn twice makes no pair with itself.
    shares = 100 * (
        np.einsum('di,ij,dj->d', both, apart, both) /
        np.einsum('di,ij,dj->d', both, pairs, both))
    low, high = np.quantile(shares[1:], ENDS)
    return f'{shares[0]:.1f} ({low:.1f} - {high:.1f})'


def of_zoo(dumps: Sequence[TokenLossDump],
           n_others: int) -> Iterator[tuple[str, ZooPair]]:
    """Pairs of models of other recipes, and of second seeds."""
    zoo, rng = read_collection(
        shipped.COLLECTION).losses, np.random.default_rng(0)
    for a, b in combinations(zoo, 2):
        if a[1:] == b[1:] and a.endswith('@100'):
            drawn = rng.permutation(len(dumps))[:n_others]
            yield 'recipes', (zoo[a], zoo[b], [dumps[k] for k in drawn])
    for name in zoo:
        series, _, rest = name.partition('2-')
        if rest:
            other = {'a': 'c', 'c': 'a'}[series]
            yield 'second seeds', (zoo[f'{series}-{rest}'], zoo[name], [
                zoo[f'{other}-{rest}'], zoo[f'{other}2-{rest}']
            ])


def told_apart(pairs: Iterable[tuple[str, ZooPair]]) -> str:
    """How many pairs differ in mean loss, alone and with noise of runs."""
    found: dict[str, list[list[bool]]] = {}
    for kind, (a, b, runs) in pairs:
        verdicts = [
            compare(a, b, same_recipe=recipe).verdict for recipe in ([], runs)
        ]
        found.setdefault(kind, []).append(
            [verdict in (BETTER, WORSE) for verdict in verdicts])
    return tabulate([[kind, len(told), *np.sum(told, axis=0)]
                     for kind, told in found.items()],
                    ('models of the package', 'pairs', *HEADER[1:]), 'pipe')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--runs', type=whole_number, default=20)
    parser.add_argument('--first', type=int, default=0, metavar='SEED')
    parser.add_argument('--tokens', type=whole_number, default=800_000)
    parser.add_argument('--others', type=whole_number, default=5)
    add_shared(parser, '--out')
    args = parser.parse_args()
    recipe = replace(TrainingRecipe(), tokens=args.tokens)
    seeds = range(args.first, args.first + args.runs)
    dumps = train(args.out, seeds, recipe)
    predictor = load_predictor(shipped.PREDICTOR)
    # Tokens are mapped once.
    table = predictor.features({dump.info.model: dump for dump in dumps})
    runs = [table.select([model]) for model in table.models]
    found = decided(runs, predictor, args.others)
    several = [decided_of_several(runs, predictor, n) for n in N_RUNS]
    rows = [[
        name, *map(share, ways), *(f'{part[name]:.1f}' for part in several)
    ] for name, ways in found.items()]
    header = *HEADER, *(f'{n} against {n}' for n in N_RUNS)
    print(tabulate(rows, header, 'pipe', disable_numparse=True))
    print(f'\n{told_apart(of_zoo(dumps, args.others))}')


if __name__ == '__main__':
    main()
