"""Compute token losses of texts, in any engine."""
from collections.abc import Sequence
from contextlib import closing
from typing import Optional

import numpy as np
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.causal_lm import prefix_token
from csv_plugin.lm.engines.protocol import Engine, check_finite
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from csv_plugin.lm.engines.windows import Window, by_window, cut_windows
from csv_plugin.lm.newer_files import check_read
from csv_plugin.lm.tokens.tokenization import check_unknown_share, tokenize_all


def as_engine(model: PreTrainedModel | Engine) -> Engine:
    """Return an engine that runs a model of `transformers`.

    If `model` is an engine, return it. An `InputError` if it is neither, or if
    `newer_files.check_read` refuses its config.
    """
    if isinstance(model, PreTrainedModel):
        check_read(model.config)
        return TransformersEngine(model)
    if not hasattr(model, 'facts'):
        raise InputError(
            'model', 'a causal LM of transformers, or an engine',
            f'a {type(model).__name__}',
            'Give a loaded model. If another program computed the losses, '
            'write them into a table (docs/formats.md).')
    return model


def token_losses(model: PreTrainedModel | Engine,
                 tokenizer: PreTrainedTokenizerBase,
                 texts: Sequence[Text],
                 context: Optional[int] = None,
                 progress: Progress = iter) -> list[TokenLosses]:
    """Return the losses of a causal LM on every token of every text.

    Each token of a text is scored once, given the tokens to its left and, in
    front of them, one prefix token (BOS, else EOS). If the tokenizer has
    neither token, the first token of a text is unscored (NaN). The tokenizer
    adds no special tokens; special tokens are scored only where the text
    itself spells them. A text longer than the context is cut into windows that
    overlap by half; each token is scored in the first window that contains it.

    The tokenizer's settings for padding, truncation and special tokens are not
    used. `context` is the length of the longest window in tokens, prefix
    included. The default is the context of the model; 0 means no limit.
    `progress` wraps the batches, as `tqdm.tqdm` does. Losses are in nats, in
    the order of the texts.

    Raises:
        InputError: A text cannot be reproduced from its tokens; more than
            1 % of the tokens are unknown to the tokenizer; the model does not
            know a token id; a loss is not finite; the engine returns too many
            or too few losses; or `Engine.score` fails.
    """
    tokenized = tokenize_all(tokenizer, texts)
    check_unknown_share(tokenized, tokenizer)
    prefix, _ = prefix_token(tokenizer)
    engine = as_engine(model)
    facts = engine.facts
    limit = facts.context if context is None else context
    windows: list[Window] = []
    losses = []
    for index, tokens in enumerate(tokenized):
        n_tokens = len(tokens.ids)
        windows += cut_windows(index, tokens.ids, prefix, limit)
        losses.append(np.full(n_tokens, np.nan))
    # `closing` ends the generator at once if an error occurs here, so that the
    # model gets back its former mode.
    with closing(engine.score(windows, progress)) as batches:
        for batch, batch_losses in batches:
            n_targets = sum(len(window.targets) for window in batch)
            if len(batch_losses) != n_targets:
                raise InputError(f'engine {facts.engine!r}',
                                 f'losses of {n_targets} tokens',
                                 str(len(batch_losses)),
                                 'Update the engine, or use another one.')
            by_text = by_window(batch, batch_losses)
            for window, window_losses in zip(batch, by_text):
                text = texts[window.text]
                check_finite('losses', facts.model, text, window_losses)
                end = window.first + len(window_losses)
                of_text = losses[window.text]
                of_text[window.first:end] = window_losses
    scored = []
    for text, tokens, values in zip(texts, tokenized, losses):
        n_chars = len(text.text)
        scored.append(
            TokenLosses(text.text_id, values, tokens.spans, n_chars,
                        text.sha256))
    return scored
