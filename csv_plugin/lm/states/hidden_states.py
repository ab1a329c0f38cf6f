"""Hidden states of a scoring LM at the tokens of the texts.

They are the last hidden states of a frozen causal LM, of which Eq. 3 makes
the salience weights.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.causal_lm import (body_states, context_length,
                                             evaluating, input_device,
                                             prefix_token)
from csv_plugin.lm.engines.halving import in_halves
from csv_plugin.lm.engines.windows import (Window, cut_windows,
                                           default_max_tokens, group_batches,
                                           pad, target_rows)
from csv_plugin.lm.tokens.tokenization import tokenize_all


@dataclass(frozen=True, eq=False)
class StateChunk:
    """Hidden states at some tokens of one text.

    Args:
        text (int): Index of the text.
        first (int): Index in the text of the first of the tokens.
        states (NDArray): float32, shape `(n, H)`.
    """
    text: int
    first: int
    states: NDArray[np.float32]


def hidden_states(model: PreTrainedModel,
                  tokenizer: PreTrainedTokenizerBase,
                  texts: Sequence[Text],
                  context: Optional[int] = None,
                  progress: Progress = iter) -> Iterator[StateChunk]:
    """Final hidden states of a causal LM at every token of every text.

    The state *at* a token has read that token and those to its left, behind
    the prefix token (`prefix_token`). Texts longer than the context are cut
    into windows as in `token_losses`.

    Args:
        model (PreTrainedModel): A causal LM.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (Sequence[Text]): What to read.
        context (Optional[int]): Longest window, prefix included; the
            model's own by default, 0 = no limit.
        progress (Progress): Wraps the batches, as `tqdm.tqdm` does.

    Yields:
        StateChunk: Chunks that hold every token once, the longest texts
        first.

    Raises:
        InputError: If a text cannot be reproduced from its tokens, a state
            is not finite, the model is wrapped by an adapter, or a GPU has
            no room for one window.
    """
    prefix, _ = prefix_token(tokenizer)
    limit = context_length(model) if context is None else context
    # The state at a token is where the next one is predicted from, so the
    # last token gets a follower.
    windows = [
        window for index, tokens in enumerate(tokenize_all(tokenizer, texts))
        for window in cut_windows(index, np.append(
            tokens.ids, tokens.ids[-1:]), prefix, limit)
    ]
    size = default_max_tokens(input_device(model))
    for batch in progress(list(group_batches(windows, size))):
        for part, states in in_halves(model, batch, partial(_states, model)):
            yield from _chunks(model, texts, part, states)


def _states(model: PreTrainedModel,
            batch: Sequence[Window]) -> NDArray[np.float32]:
    """States where the targets are predicted, window by window, `(n, H)`."""
    with evaluating(model):
        inputs = pad(batch).to(input_device(model))
        body = body_states(model, inputs).flatten(0, 1)
        _check_width(model, body.shape[1])
        rows = target_rows(batch).to(body.device)
        return body[rows].float().cpu().numpy()


def _chunks(model: PreTrainedModel, texts: Sequence[Text],
            batch: Sequence[Window],
            states: NDArray[np.float32]) -> Iterator[StateChunk]:
    """The states of each window, at the tokens of its text alone."""
    bounds = np.cumsum([len(window.targets) for window in batch])[:-1]
    for window, part in zip(batch, np.split(states, bounds)):
        # Target t stands behind token t - 1; the first, behind the prefix.
        skip = int(window.first == 0)
        chunk = StateChunk(window.text, window.first + skip - 1, part[skip:])
        _check_finite(model, texts[window.text], chunk)
        yield chunk


def _check_width(model: PreTrainedModel, width: int) -> None:
    """Refuse wrappers whose inner model is the whole model with its head."""
    expected = getattr(model.get_output_embeddings(), 'in_features', width)
    if width != expected:
        raise InputError(f'hidden states of {model.name_or_path!r}',
                         f'the {expected} numbers that its head takes',
                         str(width), 'Merge adapters into the model first.')


def _check_finite(model: PreTrainedModel, text: Text,
                  chunk: StateChunk) -> None:
    finite = np.isfinite(chunk.states).all(axis=1)
    if not finite.all():
        raise InputError(
            f'hidden states of {model.name_or_path!r}', 'finite numbers',
            f'NaN or infinity at token {chunk.first + int(finite.argmin())} '
            f'of text {text.text_id!r}',
            'If the model runs in float16, which overflows, load it in '
            'bfloat16 or float32.')
