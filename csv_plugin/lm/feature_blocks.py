"""The feature columns that a validation set and a scoring LM offer."""
from typing import TYPE_CHECKING, Optional

import numpy as np

from csv_plugin.core.features import text_columns
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.salience import Ridge
from csv_plugin.core.texts import TextSet
from csv_plugin.core.training import (Block, answer_block, answers_by_source,
                                      loss_blocks)

if TYPE_CHECKING:
    from torch import Tensor


def feature_blocks(table: LossTable,
                   texts: TextSet,
                   targets: TargetTokens,
                   states: Optional['Tensor'] = None) -> list[Block]:
    """What `Auto` chooses among, coarse columns first.

    Args:
        table (LossTable): Losses of M models on T tokens.
        texts (TextSet): The S texts.
        targets (TargetTokens): Their tokens.
        states (Optional[Tensor]): Hidden states of a scoring LM at them,
            `(T, H)`.

    Returns:
        list[Block]: One mean loss per (source, answer or not); one per text;
        of each source with answers, columns of these alone, which are
        shrunk toward the source's label-token loss; and, given states, Phi
        over all tokens and over all answers. The columns of a source are
        Phi if there are states, else one per text.
    """
    blocks = loss_blocks(table, texts, targets)
    answers = answers_by_source(table, texts, targets)
    if states is None:
        return blocks + [
            answer_block(source, text_columns(table, part=part))
            for source, part in answers.items()
        ]
    # Not at the top: it loads torch.
    from csv_plugin.lm.states.state_columns import StateColumns
    blocks += [
        answer_block(source, StateColumns.of(states, table, part))
        for source, part in answers.items()
    ]
    blocks.append(Block('states', StateColumns.of(states, table), (Ridge(), )))
    if len(answers) > 1:
        tokens = np.any(list(answers.values()), axis=0)
        columns = StateColumns.of(states, table, tokens)
        blocks.append(Block('answer states', columns, (Ridge(), )))
    return blocks
