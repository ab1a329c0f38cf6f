"""What a scoring LM contributes: hidden states, and Phi made of them.

Eq. 3 gives token t the weight `act(theta . h_t + b)`, `h_t` the last hidden
state of a frozen causal LM at token t. Without the activation, the
capability score of model m is `theta . phi_m + b * loss_m` with `phi_m =
sum_t loss_{m,t} h_t / N_c`: a sum over texts, so the states of all tokens
are never needed at once.
"""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable, counted_losses
from csv_plugin.core.losses import LossTable
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.causal_lm import (body_states, context_length,
                                             evaluating, input_device,
                                             prefix_token)
from csv_plugin.lm.engines.windows import (cut_windows, default_max_tokens,
                                           group_batches, pad, target_rows)
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


def hidden_states(model: Any,
                  tokenizer: Any,
                  texts: Sequence[Text],
                  context: Optional[int] = None,
                  progress: Progress = iter) -> Iterator[StateChunk]:
    """Final hidden states of a causal LM at every token of every text.

    The state *at* a token has read that token and those to its left, behind
    the prefix token (`prefix_token`). Texts longer than the context are cut
    into windows as in `token_losses`.

    Args:
        model (Any): A `transformers` causal LM.
        tokenizer (Any): Its tokenizer.
        texts (Sequence[Text]): What to read.
        context (Optional[int]): Longest window, prefix included; the
            model's own by default, 0 = no limit.
        progress (Progress): Wraps the batches, as `tqdm.tqdm` does.

    Yields:
        StateChunk: Every token in one chunk, the longest texts first.

    Raises:
        InputError: If a text cannot be reproduced from its tokens, a state
            is not finite, or the model is wrapped by an adapter.
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
    device = input_device(model)
    size = default_max_tokens(device)
    for batch in progress(list(group_batches(windows, size))):
        with evaluating(model):
            states = body_states(model, pad(batch).to(device)).flatten(0, 1)
            _check_width(model, states.shape[1])
            rows = target_rows(batch).to(states.device)
            states = states[rows].float().cpu().numpy()
        bounds = np.cumsum([len(window.targets) for window in batch])[:-1]
        for window, part in zip(batch, np.split(states, bounds)):
            # Target t stands behind token t - 1; the first, behind the prefix.
            skip = int(window.first == 0)
            chunk = StateChunk(window.text, window.first + skip - 1,
                               part[skip:])
            _check_finite(model, texts[window.text], chunk)
            yield chunk


def _check_width(model: Any, width: int) -> None:
    """Refuse wrappers whose inner model is the whole one, head included."""
    expected = getattr(model.get_output_embeddings(), 'in_features', width)
    if width != expected:
        raise InputError(f'hidden states of {model.name_or_path!r}',
                         f'the {expected} numbers that its head takes',
                         str(width), 'Merge adapters into the model first.')


def _check_finite(model: Any, text: Text, chunk: StateChunk) -> None:
    finite = np.isfinite(chunk.states).all(axis=1)
    if not finite.all():
        raise InputError(
            f'hidden states of {model.name_or_path!r}', 'finite numbers',
            f'NaN or infinity at token {chunk.first + int(finite.argmin())} '
            f'of text {text.text_id!r}',
            'If the model runs in float16, which overflows, load it in '
            'bfloat16 or float32.')


@dataclass(frozen=True, eq=False)
class StateScale:
    """Mean and spread of hidden states over the tokens of the texts.

    Args:
        mean (NDArray): Shape `(H,)`.
        spread (NDArray): Standard deviation, 1 where it is 0. `(H,)`.
    """
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, states: NDArray[np.float64]) -> 'StateScale':
        """Of states of n tokens, shape `(n, H)`."""
        return cls.of_moments(states.mean(axis=0), (states**2).mean(axis=0))

    @classmethod
    def of_moments(cls, mean: NDArray[np.float64],
                   mean_square: NDArray[np.float64]) -> 'StateScale':
        """Of the mean state and the mean of the squares, `(H,)`."""
        variance = mean_square - mean**2
        return cls(mean,
                   np.sqrt(np.where(variance > 1e-12 * mean**2, variance, 1)))

    def apply(self, states: NDArray) -> NDArray[np.float64]:
        """Standardised states, shape `(n, H)`."""
        return (states - self.mean) / self.spread

    def token_weights(self, coefficients: NDArray,
                      states: NDArray) -> NDArray[np.float64]:
        """Salience weights of tokens, shape `(n,)` (Eq. 3, linear).

        Args:
            coefficients (NDArray): Of the columns of `accumulate_phi`, such
                as `SalienceModel.coefficients`. Shape `(1 + H,)`.
            states (NDArray): At the tokens, shape `(n, H)`.
        """
        return coefficients[0] + self.apply(states) @ coefficients[1:]


def accumulate_phi(
        chunks: Iterable[StateChunk],
        table: LossTable,
        scored: Optional[NDArray] = None) -> tuple[FeatureTable, StateScale]:
    """Feature columns of a scoring LM: the mean loss, then Phi.

    Hidden states are standardised over the tokens, or a few huge directions
    would be all that a penalty sees. With coefficients `c` of the columns,
    the weight of token t is `c[0] + h_t . c[1:]`, `h_t` standardised.

    Scored: the tokens that every model scored (`LossTable.scored`), or
    those given.

    Args:
        chunks (Iterable[StateChunk]): From `hidden_states`, of the texts of
            the table under its tokenization.
        table (LossTable): Losses of M models on those tokens.
        scored (Optional[NDArray]): As in `features.text_features`.

    Returns:
        tuple[FeatureTable, StateScale]: `values` of shape `(M, 1 + H)`, nats
        per character; `uniform` is 1 for the mean loss and 0 elsewhere.

    Raises:
        InputError: If the chunks do not cover the table's tokens exactly.
    """
    losses, counted = counted_losses(table, scored)
    seen = np.zeros(losses.shape[1], dtype=bool)
    phi = total = squares = np.zeros(1)
    for chunk in chunks:
        start = table.token_offsets[chunk.text] + chunk.first
        stop = start + len(chunk.states)
        if stop > table.token_offsets[chunk.text + 1] \
                or seen[start:stop].any():
            raise _other_tokens(table, chunk.text)
        seen[start:stop] = True
        states = chunk.states.astype(np.float64)
        phi = phi + losses[:, start:stop] @ states
        total = total + states.sum(axis=0)
        squares = squares + (states**2).sum(axis=0)
    if not seen.all():
        raise _other_tokens(table, int(table.text_of_token()[seen.argmin()]))
    scale = StateScale.of_moments(total / len(seen), squares / len(seen))
    n_chars = table.n_chars.sum()
    mean_loss = losses.sum(axis=1, keepdims=True) / n_chars
    columns = (phi / n_chars - mean_loss * scale.mean) / scale.spread
    values = np.hstack([mean_loss, columns])
    units = ('loss', *(f'h{i}' for i in range(columns.shape[1])))
    uniform = np.zeros(values.shape[1])
    uniform[0] = 1
    features = FeatureTable(table.models, units, values, uniform, counted)
    return features, scale


def _other_tokens(table: LossTable, text: int) -> InputError:
    return InputError(f'hidden states of text {table.text_ids[text]!r}',
                      'one state for each token of the loss table',
                      'another number',
                      "Map the losses onto the scoring LM's own tokens.")
