"""CPU seconds of option losses: shared contexts, a plain loop, the harness."""
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from csv_plugin.lm.engines.causal_lm import evaluating, prefix_token
from csv_plugin.lm.loading import load_scoring_lm
from tools.studies.real_models.choices import option_losses
from tools.studies.real_models.questions import read_questions

BENCHMARKS = ('arc_easy', 'boolq', 'hellaswag', 'csqa')
QUESTIONS = 20
Asked = list[tuple[str, list[str]]]


def plain_losses(model: torch.nn.Module, tokenizer: Callable,
                 questions: Asked) -> list[NDArray]:
    """One option at a time, from the logits of the whole text."""
    prefix, _ = prefix_token(tokenizer)
    found = []
    with evaluating(model):
        for context, options in questions:
            n_before = len(_ids(tokenizer, context))
            found.append(
                np.array([
                    _loss(model, [prefix, *_ids(tokenizer, context + option)],
                          n_before) for option in options
                ]))
    return found


def _ids(tokenizer: Callable, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)['input_ids']


def _loss(model: torch.nn.Module, ids: list[int], n_before: int) -> float:
    row = torch.tensor([ids])
    logits = model(row).logits[0, :-1].float()
    losses = torch.nn.functional.cross_entropy(
        logits, row[0, 1:], reduction='none')
    return losses[n_before:].sum().item()


def harness_losses(model: torch.nn.Module, tokenizer: Callable,
                   questions: Asked) -> list[NDArray]:
    """By lm-evaluation-harness, in batches of 8."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    runner = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=8,
                  add_bos_token=True, device='cpu')  # yapf: disable
    asked = [(context, option) for context, options in questions
             for option in options]
    found = runner.loglikelihood([
        Instance('loglikelihood', {}, pair, i) for i, pair in enumerate(asked)
    ],
                                 disable_tqdm=True)
    losses = np.array([-value for value, _ in found])
    ends = np.cumsum([len(options) for _, options in questions])
    return np.split(losses, ends[:-1])


def compare_speed(folder: Path, name: str) -> None:
    """Print CPU seconds of each way on one thread, and their differences."""
    torch.set_num_threads(1)
    model, tokenizer = load_scoring_lm(folder / 'models' / name)
    questions: Asked = [
        (question.contexts[0], question.options) for benchmark in BENCHMARKS
        for question in read_questions(folder /
                                       'requests', benchmark)[:QUESTIONS]
    ]
    ways = {'shared contexts': option_losses, 'plain loop': plain_losses}
    try:
        import lm_eval  # noqa: F401
        ways['lm-evaluation-harness'] = harness_losses
    except ImportError:
        print('lm-eval is not installed: the harness is left out.')
    _print_ways(ways, model, tokenizer, questions)


def _print_ways(ways: dict[str, Callable], model: torch.nn.Module,
                tokenizer: Callable, questions: Asked) -> None:
    n_tokens = sum(
        len(_ids(tokenizer, context + option))
        for context, options in questions for option in options)
    print(f'{len(questions)} questions, {n_tokens} tokens with contexts '
          'repeated\n\n| | CPU s | tokens / CPU s | largest difference, nats |'
          '\n|:---|---:|---:|---:|')
    first: Sequence[NDArray] | None = None
    for name, way in ways.items():
        start = time.process_time()
        found = way(model, tokenizer, questions)
        seconds = time.process_time() - start
        first = first or found
        gap = np.abs(np.concatenate(found) - np.concatenate(first)).max()
        print(f'| {name} | {seconds:.1f} | {n_tokens / seconds:.0f} | '
              f'{gap:.1g} |')
