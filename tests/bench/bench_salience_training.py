"""CPU time and memory of a fit to token losses, at the paper's size.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_salience_training [--help]

Simulated losses, and `cp.fit` on them: columns are the texts, and the tokens
of the answers of every benchmark that a source of texts is named after.
"""
import numpy as np

import csv_plugin as cp
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from tests.bench.common import make_parser, measure

#: Sources of texts, which benchmarks are named after.
SOURCES = ('mmlu', 'bbh', 'gsm8k', 'hellaswag', 'ceval', 'cmmlu')
TOKEN = 'ab '
#: Tokens of the answer of a text.
ANSWER = 30


def simulate(n_tokens, n_texts, n_models, n_benchmarks):
    """Token losses, accuracies and families.

    Losses fall, and accuracies rise, with a model's skill.
    """
    rng = np.random.default_rng(0)
    length = n_tokens // n_texts
    end = len(TOKEN) * length
    answer = (max(end - len(TOKEN) * ANSWER, 0), end)
    texts = TextSet(
        tuple(
            Text(f'text {i}', TOKEN * length, SOURCES[i %
                                                      len(SOURCES)], answer)
            for i in range(n_texts)))
    starts = len(TOKEN) * np.arange(length)
    spans = TokenSpans(starts, starts + len(TOKEN), end)
    skills = rng.normal(size=n_models)
    dumps = {}
    for m, skill in enumerate(skills):
        name = f'model {m}'
        losses = [
            TokenLosses(
                text.text_id,
                np.exp(.5 - .2 * skill + .3 * rng.normal(size=length)),
                spans,
                end,
                sha256=text.sha256) for text in texts
        ]
        info = DumpInfo(texts.fingerprint, name, 'simulated', 'none',
                        'float32', 0, 0, {})
        dumps[name] = TokenLossDump(info, losses)
    noise = .2 * rng.normal(size=(n_models, n_benchmarks))
    values = .25 + .75 / (1 + np.exp(noise - skills[:, None]))
    accuracies = AccuracyTable(
        tuple(dumps), SOURCES[:n_benchmarks], values,
        np.full(n_benchmarks, .25), np.zeros(n_benchmarks, int))
    families = {model: f'family {m % 10}' for m, model in enumerate(dumps)}
    return ModelLosses(texts, dumps), accuracies, families


def main():
    options = make_parser(
        __doc__, tokens=180_000, texts=550, models=48,
        benchmarks=len(SOURCES)).parse_args()
    losses, accuracies, families = simulate(options.tokens, options.texts,
                                            options.models, options.benchmarks)
    predictor, seconds, memory = measure(cp.fit, losses, accuracies, families)
    print(f'T={predictor.targets.n_tokens} K={len(predictor.columns.units)} '
          f'M={options.models} B={options.benchmarks}: {seconds:.1f} CPU s, '
          f'{memory:.0f} MB beyond the losses')


if __name__ == '__main__':
    main()
