"""Compare runs of one recipe that differ in their seed alone.

    OMP_NUM_THREADS=1 python -m tools.studies.seeds_study --out outputs/seeds

Twenty tiny models of series d, on which the shipped predictor was not fitted,
have the same texts and tokenizer; weights and the order of the batches are
from their seed. None is better as a recipe: the table has per cent of pairs
with the verdict better or worse. Compared are all pairs of runs, alone and
with the noise of runs from five others, with the 90 % interval from draws of
whole runs; and `SPLITS` random pairs of three runs against three others, and
of five against five. Models that are complete are kept.
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

from csv_plugin.cli.options import add_shared, whole_number
from csv_plugin.core.compared_losses import RunLosses
from csv_plugin.core.comparing import compare
from csv_plugin.core.comparison import Comparison
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.noise import BETTER, WORSE
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.dumping import dump_losses
from tools.demo_maker import corpus
from tools.demo_maker.files import tokenizer_folder
from tools.demo_maker.recipes import SERIES, SIZES, TrainingRecipe
from tools.demo_maker.training import (make_tokenizer, new_model,
                                       training_steps, use_one_core)
from tools.studies.common import parser_of

NAME, SIZE = 'd', 's'
#: Number of other runs that show the noise of runs; draws of runs, and the
#: quantiles of these draws, for the 90 % intervals.
N_OTHERS, DRAWS, ENDS = 5, 2000, (.05, .95)
#: Numbers of runs of A and of B, and random pairs of each.
N_RUNS, SPLITS = (3, 5), 200


def train(out: Path, seeds: Sequence[int],
          recipe: TrainingRecipe) -> list[TokenLossDump]:
    """Losses of runs of one recipe, which are trained unless they exist."""
    use_one_core()
    texts = read_texts(shipped.TEXTS)
    make_tokenizer(out, NAME, recipe)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder(out, NAME))
    rows = corpus.training_rows(SERIES[NAME], tokenizer, recipe.tokens,
                                recipe.seed)
    dumps = []
    for seed in tqdm(seeds, desc='runs'):
        place = out / f'seed{seed}.safetensors'
        if not place.exists():
            model = new_model(SIZES[SIZE], tokenizer, seed)
            batches = corpus.batches(rows, recipe.batch_tokens,
                                     np.random.default_rng(seed))
            for _ in training_steps(model, batches, recipe):
                pass
            write_dump(
                place,
                dump_losses(model, tokenizer, texts, name=f'seed{seed}'))
        dumps.append(read_dump(place))
    return dumps


def decided(models: Sequence[RunLosses],
            predictor: Predictor) -> dict[str, NDArray[np.bool_]]:
    """Pairs that are told apart, `(2, n, n)`, by what is compared.

    Alone, and with the noise of runs. A pair is on both sides of the diagonal.
    """
    n, rng = len(models), np.random.default_rng(0)
    found: dict[str, NDArray[np.bool_]] = {}
    for i, j in tqdm([*combinations(range(n), 2)], desc='pairs'):
        others = rng.permutation([k for k in range(n) if k not in (i, j)])
        runs = [models[k] for k in others[:N_OTHERS]]
        for way, recipe in enumerate(([], runs)):
            comparison = compare(
                models[i], models[j], predictor, same_recipe=recipe)
            for name, told in _told(comparison).items():
                apart = found.setdefault(name, np.zeros((2, n, n), bool))
                apart[way, i, j] = apart[way, j, i] = told
    return found


def decided_of_several(models: Sequence[RunLosses], predictor: Predictor,
                       n_runs: int) -> dict[str, float]:
    """Per cent of random pairs of n runs that are told apart, by difference.
    """
    rng = np.random.default_rng(0)
    apart: dict[str, list[bool]] = {}
    for _ in tqdm(range(SPLITS), desc=f'{n_runs} against {n_runs}'):
        drawn = rng.permutation(len(models))[:2 * n_runs]
        a = [models[k] for k in drawn[:n_runs]]
        b = [models[k] for k in drawn[n_runs:]]
        for name, told in _told(compare(a, b, predictor)).items():
            apart.setdefault(name, []).append(told)
    return {name: 100 * np.mean(found) for name, found in apart.items()}


def _told(comparison: Comparison) -> dict[str, bool]:
    """Whether models are told apart by each difference, and by the verdict."""
    found = {}
    for part in comparison.differences:
        name = f'{part.kind} {part.benchmark}'.strip()
        found[name] = part.verdict in (BETTER, WORSE)
    found['verdict'] = comparison.verdict in (BETTER, WORSE)
    return found


def share(apart: NDArray[np.bool_]) -> str:
    """Per cent of pairs that are told apart, and its 90 % interval."""
    n = len(apart)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), DRAWS)
    both = np.concatenate([np.ones((1, n)), times])
    # A run that was drawn twice makes no pair with itself.
    pairs = 1. - np.eye(n)
    shares = 100 * (
        np.einsum('di,ij,dj->d', both, apart, both) /
        np.einsum('di,ij,dj->d', both, pairs, both))
    low, high = np.quantile(shares[1:], ENDS)
    return f'{shares[0]:.1f} ({low:.1f} - {high:.1f})'


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--runs', type=whole_number, default=20)
    parser.add_argument('--tokens', type=whole_number, default=100_000)
    add_shared(parser, '--out')
    args = parser.parse_args()
    recipe = replace(TrainingRecipe(), tokens=args.tokens)
    dumps = train(args.out, range(args.runs), recipe)
    predictor = load_predictor(shipped.PREDICTOR)
    # Tokens are mapped once.
    table = predictor.features({dump.info.model: dump for dump in dumps})
    runs = [table.select([model]) for model in table.models]
    several = [decided_of_several(runs, predictor, n) for n in N_RUNS]
    rows = []
    for name, (alone, with_noise) in decided(runs, predictor).items():
        of_several = [f'{part[name]:.1f}' for part in several]
        rows.append([name, share(alone), share(with_noise), *of_several])
    header = ['told apart by', 'alone', 'with noise of runs']
    header += [f'{n} against {n}' for n in N_RUNS]
    print(tabulate(rows, header, 'pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
