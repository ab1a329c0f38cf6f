"""The feature columns that a validation set and a scoring LM offer."""
import os
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array
from transformers import AutoModelForCausalLM, AutoTokenizer

from csv_plugin.core.blocks import Block
from csv_plugin.core.errors import InputError
from csv_plugin.core.features import (TokenColumns, answer_groups, answer_mask,
                                      counted_losses, group_columns,
                                      text_columns)
from csv_plugin.core.losses import LossTable
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import NonNegative, Ridge
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import TextSet
from csv_plugin.lm.hidden_states import StateScale, hidden_states
from csv_plugin.lm.tokenization import tokenize_all


def load_scoring_lm(path: str | os.PathLike[str],
                    tokenizer: Optional[str | os.PathLike[str]] = None,
                    trust_remote_code: bool = False) -> tuple[Any, Any]:
    """A causal LM and its tokenizer: bf16 on a GPU, else fp32 on the CPU.

    Args:
        path (str | os.PathLike[str]): Folder, or name on the hub.
        tokenizer (Optional): The same of the tokenizer, if it is elsewhere.
        trust_remote_code (bool): Run code that comes with the model.

    Raises:
        OSError: If there is no such model.
    """
    made = AutoTokenizer.from_pretrained(
        tokenizer or path, trust_remote_code=trust_remote_code)
    model = AutoModelForCausalLM.from_pretrained(
        path, trust_remote_code=trust_remote_code)
    if torch.cuda.is_available():
        return model.to('cuda', torch.bfloat16), made
    return model.float(), made


def target_tokens(tokenizer: Any, texts: TextSet) -> TargetTokens:
    """A validation set in the tokens of a scoring LM.

    Raises:
        InputError: If a text cannot be reproduced from its tokens.
    """
    return TargetTokens.of(
        texts,
        [tokens.spans for tokens in tokenize_all(tokenizer, texts.texts)])


def token_states(model: Any,
                 tokenizer: Any,
                 texts: TextSet,
                 progress: Progress = iter) -> NDArray[np.float32]:
    """Final hidden states of a scoring LM at all tokens, in memory.

    Args and errors as in `hidden_states`.

    Returns:
        NDArray: Shape `(T, H)`, tokens of all texts in order.
    """
    chunks = list(
        hidden_states(model, tokenizer, texts.texts, progress=progress))
    chunks.sort(key=lambda chunk: (chunk.text, chunk.first))
    return np.concatenate([chunk.states for chunk in chunks])


def state_columns(states: NDArray,
                  table: LossTable,
                  part: Optional[NDArray[np.bool_]] = None) -> TokenColumns:
    """Phi of a scoring LM (Eq. 3 without activation) as columns.

    The loss per character, then the products of losses with hidden states
    that are standardised over the tokens which count. With coefficients `c`
    the weight of token t is `c[0] + h_t . c[1:]`. `accumulate_phi` makes
    such columns without holding the states, but no weights of tokens.

    Args:
        states (NDArray): At all tokens, shape `(T, H)`.
        table (LossTable): Losses of M models on those tokens.
        part (Optional[NDArray]): Tokens that get a weight, bool, `(T,)`;
            the others get none. By default all that every model scored.

    Raises:
        InputError: If there is not one state per token, or as in
            `counted_losses`.
    """
    _, counted = counted_losses(table)
    if len(states) != len(counted):
        raise InputError('hidden states', f'{len(counted)}, one a token',
                         str(len(states)),
                         "Map the losses onto the scoring LM's own tokens.")
    kept = np.flatnonzero(counted if part is None else counted & part)
    scale = StateScale.of(states[kept].astype(np.float64))
    dense = np.zeros((len(counted), 1 + states.shape[1]))
    dense[kept, 0] = 1
    dense[kept, 1:] = scale.apply(states[kept])
    units = ('loss', *(f'h{i}' for i in range(states.shape[1])))
    uniform = np.zeros(len(units))
    uniform[0] = 1
    return TokenColumns(units, csc_array(dense / table.n_chars.sum()), uniform,
                        counted)


def feature_blocks(table: LossTable,
                   texts: TextSet,
                   targets: TargetTokens,
                   states: Optional[NDArray] = None) -> list[Block]:
    """What `Auto` chooses among, coarse columns first.

    Args:
        table (LossTable): Losses of M models on T tokens.
        texts (TextSet): The S texts.
        targets (TargetTokens): Their tokens.
        states (Optional[NDArray]): Hidden states of a scoring LM at them,
            `(T, H)`.

    Returns:
        list[Block]: One mean loss per (source, answer or not); one per text;
        of each source with answers, columns of these alone, which are
        shrunk toward the source's label-token loss; and, given states, Phi
        over all tokens and over all answers. The columns of a source are
        Phi if there are states, else one per text.
    """
    groups = group_columns(table, answer_groups(texts.texts, targets.spans))
    blocks = [
        Block('groups', groups, (NonNegative(), Ridge())),
        Block('texts', text_columns(table), (Ridge(), ))
    ]
    sources = np.repeat([text.source for text in texts],
                        [len(spans) for spans in targets.spans])
    answers = answer_mask(texts, targets.spans) & table.scored
    for source in np.unique(sources[answers]):
        part = answers & (sources == source)
        columns = text_columns(table, part=part) if states is None else \
            state_columns(states, table, part)
        blocks.append(Block(f'answers of {source}', columns, (Ridge(), )))
    if states is None:
        return blocks
    blocks.append(Block('states', state_columns(states, table), (Ridge(), )))
    if answers.any():
        columns = state_columns(states, table, answers)
        blocks.append(Block('answer states', columns, (Ridge(), )))
    return blocks
