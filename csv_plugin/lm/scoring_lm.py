"""The scoring LM: the causal LM whose tokens and states carry the weights."""
from typing import Any, Optional

import torch
from transformers import (AutoTokenizer, PreTrainedModel,
                          PreTrainedTokenizerBase)

from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.texts import TextSet
from csv_plugin.io.files import FilePath
from csv_plugin.lm.loading import loading, whole_causal_lm
from csv_plugin.lm.tokens.tokenization import tokenize_all


def load_scoring_lm(
    path: FilePath,
    tokenizer: Optional[FilePath] = None,
    trust_remote_code: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A causal LM and its tokenizer: bf16 on a GPU, else fp32 on the CPU.

    Args:
        path (FilePath): Folder, or name on the hub.
        tokenizer (Optional[FilePath]): Folder or name of the tokenizer, if
            it is not that of the model.
        trust_remote_code (bool): Run code that comes with the model.

    Raises:
        InputError: If there is no such model, it cannot be loaded, or it
            comes with code that may not run.
    """
    with loading('scoring LM', path, trust_remote_code):
        loaded_tokenizer = AutoTokenizer.from_pretrained(
            tokenizer or path, trust_remote_code=trust_remote_code)
        model: Any = whole_causal_lm(path, trust_remote_code=trust_remote_code)
    if torch.cuda.is_available():
        return model.to('cuda', torch.bfloat16), loaded_tokenizer
    return model.float(), loaded_tokenizer


def target_tokens(tokenizer: PreTrainedTokenizerBase,
                  texts: TextSet) -> TargetTokens:
    """A validation set in the tokens of a scoring LM.

    Raises:
        InputError: If a text cannot be reproduced from its tokens.
    """
    return TargetTokens.of(
        texts,
        [tokens.spans for tokens in tokenize_all(tokenizer, texts.texts)])
