"""Compare runs of one recipe that differ in their seed alone.

    OMP_NUM_THREADS=1 python -m tools.studies.seeds_study --out outputs/seeds

Twenty tiny models of series d, on which the shipped predictor was not fitted,
have the same texts and tokenizer; weights and the order of the batches are
from their seed. All pairs of them are compared, without and with the noise of
runs, which is from five others (`--others`). None is better as a recipe: the
table has the share of pairs with the verdict better or worse, and its 90 %
interval from draws of whole runs. Models that are complete are kept.
"""
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm
from transformers import AutoTokenizer

from csv_plugin.cli.arguments import add_out, whole_number
from csv_plugin.core.comparing import compare
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.paired import BETTER, WORSE
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.dumping import dump_losses
from tools.studies.options import parser_of
from tools.studies.zoo import corpus
from tools.studies.zoo.recipes import SIZES, TrainingRecipe, series_named
from tools.studies.zoo.zoo_files import tokenizer_folder
from tools.studies.zoo.zoo_training import (make_tokenizer, new_model,
                                            training_steps, use_one_core)

SERIES, SIZE = 'd', 's'
DRAWS, ENDS = 2000, (.05, .95)
HEADER = 'told apart by', 'alone, %', 'with noise of runs, %'


def train(out: Path, n: int, recipe: TrainingRecipe) -> list[TokenLossDump]:
    """Losses of n runs of one recipe, which are trained unless they exist."""
    use_one_core()
    series, texts = series_named(SERIES), read_texts(shipped.TEXTS)
    make_tokenizer(out, SERIES, recipe)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder(out, SERIES))
    rows = corpus.training_rows(series, tokenizer, recipe.tokens, recipe.seed)
    places = [out / f'seed{i}.safetensors' for i in range(n)]
    for seed in tqdm(range(n), desc='runs'):
        if places[seed].exists():
            continue
        model = new_model(SIZES[SIZE], tokenizer, seed)
        batches = corpus.batches(rows, recipe.batch_tokens,
                                 np.random.default_rng(seed))
        for _ in training_steps(model, batches, recipe):
            pass
        write_dump(places[seed],
                   dump_losses(model, tokenizer, texts, name=f'seed{seed}'))
    return [read_dump(place) for place in places]


def decided(dumps: Sequence[TokenLossDump], predictor: Predictor,
            n_others: int) -> dict[str, NDArray[np.bool_]]:
    """Pairs that are told apart, `(2, n, n)`, by what is compared.

    Alone, and with the noise of runs. A pair is on both sides of the diagonal.
    """
    n, rng = len(dumps), np.random.default_rng(0)
    found: dict[str, NDArray[np.bool_]] = {}
    for i, j in tqdm([*combinations(range(n), 2)], desc='pairs'):
        others = rng.permutation([k for k in range(n) if k not in (i, j)])
        runs = [dumps[k] for k in others[:n_others]]
        for way, recipe in enumerate(([], runs)):
            comparison = compare(
                dumps[i], dumps[j], predictor, same_recipe=recipe)
            for part in comparison.differences:
                name = f'{part.kind} {part.benchmark}'.strip()
                apart = found.setdefault(name, np.zeros((2, n, n), bool))
                apart[way, i, j] = apart[way, j,
                                         i] = part.verdict in (BETTER, WORSE)
    return found


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


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--runs', type=whole_number, default=20)
    parser.add_argument('--tokens', type=whole_number, default=800_000)
    parser.add_argument('--others', type=whole_number, default=5)
    add_out(parser, 'losses of the runs')
    args = parser.parse_args()
    recipe = replace(TrainingRecipe(), tokens=args.tokens)
    dumps = train(args.out, args.runs, recipe)
    found = decided(dumps, load_predictor(shipped.PREDICTOR), args.others)
    rows = [[name, *map(share, ways)] for name, ways in found.items()]
    print(tabulate(rows, HEADER, 'pipe'))


if __name__ == '__main__':
    main()
