"""CPU time and memory of the default training, at the paper's size.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_salience_training [--help]

Simulated losses and hidden states, and `train_auto` on them: Phi over all
tokens, over all answers and over those of every source, all candidates
cross-validated for every benchmark, intervals.
"""
import numpy as np
import torch

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import TargetTokens, TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.core.training import Training
from csv_plugin.lm.methods import train_auto
from tests.bench.common import make_parser, measure

SOURCES = ('mmlu', 'bbh', 'gsm8k', 'hellaswag', 'ceval', 'bbh_cot')
TOKEN = 'ab '


def simulate(n_tokens, n_texts, n_models, n_benchmarks):
    """A training: losses fall, and accuracies rise, with a model's skill."""
    rng = np.random.default_rng(0)
    length = n_tokens // n_texts
    end = len(TOKEN) * length
    texts = TextSet(
        tuple(
            Text(f'text {i}', TOKEN *
                 length, SOURCES[i % len(SOURCES)], (end - min(90, end), end))
            for i in range(n_texts)))
    starts = len(TOKEN) * np.arange(length)
    spans = TokenSpans(starts, starts + len(TOKEN), end)
    skills = rng.normal(size=n_models)
    losses = {
        f'model {m}': tuple(
            TokenLosses(text.text_id,
                        np.exp(.5 - .2 * skill + .3 * rng.normal(size=length)),
                        spans, end, sha256=text.sha256) for text in texts)
        for m, skill in enumerate(skills)
    }  # yapf: disable
    noise = .2 * rng.normal(size=(n_models, n_benchmarks))
    values = .25 + .75 / (1 + np.exp(noise - skills[:, None]))
    accuracies = AccuracyTable(
        tuple(losses), tuple(f'benchmark {b}' for b in range(n_benchmarks)),
        values, np.full(n_benchmarks, .25), np.zeros(n_benchmarks, int))
    families = {model: f'family {m % 10}' for m, model in enumerate(losses)}
    targets = TargetTokens.of(texts, [spans] * n_texts)
    return Training(
        targets.table(losses), texts, accuracies, families, targets)


def main():
    options = make_parser(
        __doc__,
        tokens=180_000,
        texts=550,
        width=2048,
        models=48,
        benchmarks=6).parse_args()
    torch.set_num_threads(1)
    training = simulate(options.tokens, options.texts, options.models,
                        options.benchmarks)
    n_tokens = training.targets.n_tokens
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(
        n_tokens, options.width, generator=generator).bfloat16()
    predictor, seconds, memory = measure(train_auto, training, states)
    print(f'T={n_tokens} H={options.width} M={options.models} '
          f'B={options.benchmarks}, one thread: {seconds:.1f} CPU s, '
          f'{memory:.0f} MB beyond losses and states; the predictor has '
          f'{predictor.matrix.nnz} entries')


if __name__ == '__main__':
    main()
