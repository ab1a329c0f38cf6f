"""Trains the zoo's models: small Llamas, each on one thread."""
import copy
import ctypes
import functools
import math
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm
from transformers import (AutoTokenizer, LlamaConfig, LlamaForCausalLM,
                          PreTrainedTokenizerBase)

from csv_plugin import __version__
from tools.demo_maker import corpus, world
from tools.demo_maker.files import (Manifest, checkpoint_folder, model_folder,
                                    tokenizer_folder)
from tools.demo_maker.recipes import (CHECKPOINTS, CONTEXT, SERIES, Size,
                                      TrainingRecipe, recipe_of)
from tools.demo_maker.tokenizers import train_tokenizer

# Options of mallopt, from malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
# Width of an attention head: every width of the small models is a multiple.
_HEAD_WIDTH = 16
# The training loss is a mean over this share of the steps, the last ones.
_FINAL = .05
_PACKAGES = ('numpy', 'safetensors', 'tokenizers', 'torch', 'transformers')


def use_one_core() -> None:
    """Let this process train on one thread, and keep its freed memory.

    With glibc, freed memory stays with the process: returning and requesting
    the memory of large tensors took up to a third of the training time of the
    smallest models.
    """
    torch.set_num_threads(1)
    set_option = getattr(ctypes.CDLL(None), 'mallopt', None)
    if set_option is not None:
        set_option(_M_MMAP_MAX, 0)
        set_option(_M_TRIM_THRESHOLD, 2**31 - 1)


def make_tokenizer(zoo: Path, series: str, recipe: TrainingRecipe) -> None:
    """Train the tokenizer of a series, unless the zoo has it."""
    folder = tokenizer_folder(zoo, series)
    if not folder.exists():
        made = SERIES[series]
        texts = corpus.mixed_texts(made, recipe.tokenizer_chars,
                                   recipe.seed_of(series, 'tokenizer'))
        tokenizer = train_tokenizer(made.tokenizer, texts)
        with atomic_folder(folder) as path:
            tokenizer.save_pretrained(path)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder, which becomes the folder once it is filled."""
    temporary = folder.with_name(f'.tmp_{token_hex(8)}')
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def train_models(zoo: Path, models: Sequence[str],
                 recipe: TrainingRecipe) -> None:
    """Train the models that a zoo lacks, on one core.

    A model whose training was interrupted is trained from the beginning.
    """
    use_one_core()
    zoo.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(zoo, recipe)
    complete = manifest.models
    for model in models:
        if model not in complete:
            shutil.rmtree(model_folder(zoo, model), ignore_errors=True)
            make_tokenizer(zoo, recipe_of(model)[0].name, recipe)
            manifest.add(model, train_model(zoo, model, recipe))


def train_model(zoo: Path, model: str,
                recipe: TrainingRecipe) -> dict[str, Any]:
    """Train one model and write its checkpoints.

    On a CPU with one thread the same recipe gives the same weights.

    Returns:
        dict[str, Any]: The record for the manifest. The training loss is in
        nats per token, a mean over the last 5 % of the steps. The validation
        losses, by per cent of the training, are in nats per character.
    """
    began, seed = time.process_time(), recipe.seed_of(model)
    series, size = recipe_of(model)
    tokenizer, rows = _tokenizer_and_rows(zoo, series.name, recipe)
    batches = corpus.batches(rows, recipe.batch_tokens,
                             np.random.default_rng(seed))
    llama = new_model(size, tokenizer, seed)
    losses: list[float] = []
    validation_losses: dict[int, float] = {}
    n_tokens = sum(len(row) - 1 for row in rows)
    due = _due(len(batches))
    with tqdm(
            total=n_tokens, desc=f'{model:4}', unit='tok',
            unit_scale=True) as bar:
        for n_new, loss in training_steps(llama, batches, recipe):
            losses.append(loss)
            bar.set_postfix(loss=f'{np.mean(losses[-50:]):.3f}', refresh=False)
            bar.update(n_new)
            if percent := due.get(len(losses)):
                _save(llama, checkpoint_folder(zoo, model, percent))
                validation_losses[percent] = validation_loss(llama, tokenizer)
    final = losses[-math.ceil(_FINAL * len(losses)):]
    return {
        'seed': seed,
        'parameters': llama.num_parameters(),
        'tokens': n_tokens,
        'steps': len(losses),
        'training_loss': float(np.mean(final)),
        'validation_loss': validation_losses,
        'cpu_seconds': round(time.process_time() - began),
        'versions': _versions(),
    }


def _due(n_steps: int) -> dict[int, int]:
    """Per cent of the training by the step after which they are reached."""
    return {
        math.ceil(n_steps * percent / 100): percent
        for percent in CHECKPOINTS
    }


def new_model(size: Size, tokenizer: PreTrainedTokenizerBase,
              seed: int) -> LlamaForCausalLM:
    """An untrained model, the same for the same seed.

    Args:
        size (Size): Shape of the model.
    """
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.width,
        intermediate_size=size.inner_width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.width // _HEAD_WIDTH,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def training_steps(llama: LlamaForCausalLM,
                   batches: Sequence[NDArray[np.int64]],
                   recipe: TrainingRecipe) -> Iterator[tuple[int, float]]:
    """Train on every batch once.

    Yields:
        tuple[int, float]: After each step, the number of predicted tokens of
        the batch and their mean loss in nats before the step.
    """
    matrices = [p for p in llama.model.layers.parameters() if p.ndim == 2]
    matrix_set = set(matrices)
    other_parameters = [p for p in llama.parameters() if p not in matrix_set]
    optimisers = [
        torch.optim.Muon(matrices, lr=recipe.matrix_lr, weight_decay=0),
        torch.optim.AdamW(
            other_parameters,
            lr=recipe.other_lr,
            betas=(.9, .95),
            weight_decay=0)
    ]

    def rate(step: int) -> float:
        warm = min(1, (step + 1) / recipe.warm_up_steps)
        return warm * (1 - step / len(batches))

    schedules = [LambdaLR(optimiser, rate) for optimiser in optimisers]
    for batch in batches:
        losses = token_losses(llama, batch)
        losses.mean().backward()
        for optimiser, schedule in zip(optimisers, schedules):
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
        yield len(losses), losses.mean().item()


def token_losses(llama: LlamaForCausalLM, batch: NDArray[np.int64]) -> Tensor:
    """Losses of a batch of token rows.

    Scored: all tokens but the first of each row.

    Args:
        batch (NDArray[np.int64]): Tokens, with `corpus.NO_TOKEN` behind
            shorter rows. Shape `(rows, longest)`.

    Returns:
        Tensor: Float32, in nats, row by row without the places of padding.
    """
    ids = torch.from_numpy(batch)
    inputs = ids[:, :-1].clamp(min=0)
    # With a mask of ones the model takes the fast causal attention. Padding
    # does not matter: it is behind all tokens of its row.
    logits = llama(
        input_ids=inputs,
        attention_mask=torch.ones_like(inputs),
        use_cache=False).logits
    targets = ids[:, 1:].flatten()
    losses = cross_entropy(
        logits.float().flatten(0, 1), targets, reduction='none')
    return losses[targets != corpus.NO_TOKEN]


@torch.no_grad()
def validation_loss(llama: LlamaForCausalLM,
                    tokenizer: PreTrainedTokenizerBase) -> float:
    """Mean loss of `world.validation_texts()` in nats per character.

    Scored: all tokens of the texts; before the first token stands BOS.
    """
    texts = [text.text for text in world.validation_texts()]
    rows = [
        row for ids in corpus.encoded(tokenizer, texts)
        for row in corpus.windows(ids)
    ]
    batches = corpus.batches(rows, 4096, np.random.default_rng(0))
    total = sum(token_losses(llama, b).double().sum().item() for b in batches)
    return total / sum(map(len, texts))


@functools.lru_cache(maxsize=1)
def _tokenizer_and_rows(
        zoo: Path, series: str,
        recipe: TrainingRecipe) -> tuple[PreTrainedTokenizerBase, corpus.Rows]:
    """Tokenizer and training rows of a series, kept for its next model."""
    tokenizer = AutoTokenizer.from_pretrained(
        tokenizer_folder(zoo, series), trust_remote_code=False)
    rows = corpus.training_rows(SERIES[series], tokenizer, recipe.tokens,
                                recipe.seed_of(series, 'texts'))
    return tokenizer, rows


def _save(llama: LlamaForCausalLM, folder: Path) -> None:
    """Write a checkpoint in half precision, whole or not at all."""
    with atomic_folder(folder) as path:
        copy.deepcopy(llama).half().save_pretrained(path)


def _versions() -> dict[str, str]:
    versions = {package: metadata.version(package) for package in _PACKAGES}
    return {
        'python': platform.python_version(),
        'csv_plugin': __version__,
        **versions
    }
