"""From a causal LM and a validation set to a token-loss dump."""
from collections.abc import Sequence
from pathlib import Path
from typing import Optional, Union

import numpy as np
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin import __version__
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.files import FilePath
from csv_plugin.lm.engines.causal_lm import prefix_token, weights_in_memory
from csv_plugin.lm.engines.protocol import Engine
from csv_plugin.lm.engines.token_losses import as_engine, token_losses
from csv_plugin.lm.engines.windows import window_stride
from csv_plugin.lm.scoring_in_chunks import score_in_chunks


def dump_info(engine: Engine,
              tokenizer: PreTrainedTokenizerBase,
              texts: TextSet,
              name: Optional[str] = None,
              context: Optional[int] = None) -> DumpInfo:
    """How losses of a model on a validation set are computed.

    Args:
        engine (Engine): What runs the model.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (TextSet): The whole validation set.
        name (Optional[str]): Name of the model, its path by default.
        context (Optional[int]): As in `token_losses`.

    Raises:
        InputError: The tokenizer is none of `transformers`.
    """
    if not hasattr(tokenizer, 'name_or_path'):
        raise InputError(
            'tokenizer', 'a tokenizer of transformers',
            f'a {type(tokenizer).__name__}',
            'Load it by transformers.AutoTokenizer.from_pretrained(path).')
    facts = engine.facts
    limit = facts.context if context is None else context
    return DumpInfo(
        fingerprint=texts.fingerprint,
        model=facts.model if name is None else name,
        tokenizer=tokenizer.name_or_path,
        prefix=prefix_token(tokenizer)[1],
        engine=facts.engine,
        dtype=facts.dtype,
        cache_dtype=facts.cache_dtype,
        context=limit,
        stride=window_stride(limit),
        versions={
            'csv_plugin': __version__,
            'numpy': np.__version__,
            **facts.versions
        })


def dump_losses(model: Union[PreTrainedModel, Engine],
                tokenizer: PreTrainedTokenizerBase,
                texts: TextSet,
                part: Optional[Sequence[Text]] = None,
                name: Optional[str] = None,
                entropy: bool = False,
                rank: bool = False,
                context: Optional[int] = None,
                folder: Optional[FilePath] = None,
                progress: Progress = iter) -> TokenLossDump:
    """Score a validation set, or a part of it, for `io.dumps.write_dump`.

    Scored: as in `token_losses`.

    Args:
        model (PreTrainedModel | Engine): A causal LM.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (TextSet): The whole validation set.
        part (Optional[Sequence[Text]]): The texts of it to score; all by
            default. Parts are joined by `io.shards.merge_dumps`.
        name (Optional[str]): Name of the model, its path by default.
        entropy (bool): Record the entropy of each predictive distribution.
        rank (bool): Record how many tokens were more likely.
        context (Optional[int]): Longest window, prefix included; the
            model's own by default, 0 = no limit.
        folder (Optional[FilePath]): Keeps the losses of every few texts as
            soon as they are computed: a call that is repeated after an
            interruption reads them there, see `score_in_chunks`.
        progress (Progress): Wraps the batches, or with a folder the chunks.

    Returns:
        TokenLossDump: Losses in nats, one `TokenLosses` per scored text.

    Raises:
        InputError: As in `token_losses`.
    """
    engine = as_engine(model)
    wanted = texts.texts if part is None else part
    info = dump_info(engine, tokenizer, texts, name, context)

    def scored(some: Sequence[Text],
               progress: Progress = iter) -> TokenLossDump:
        losses = token_losses(engine, tokenizer, some, entropy, rank, context,
                              progress)
        return TokenLossDump(info, tuple(losses))

    if folder is None:
        return scored(wanted, progress)
    return score_in_chunks(scored, wanted, Path(folder), entropy, rank,
                           progress)


def score(model: Union[PreTrainedModel, Engine],
          tokenizer: PreTrainedTokenizerBase,
          texts: TextSet,
          name: Optional[str] = None,
          folder: Optional[FilePath] = None,
          progress: Progress = iter) -> ModelLosses:
    """Token losses of a causal LM on a validation set.

    Scored: every token of every text, behind one prefix token; see
    `token_losses`.

    Args:
        model (PreTrainedModel | Engine): A causal LM of `transformers`, or
            in another engine.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (TextSet): The validation set.
        name (Optional[str]): Name of the model, its path by default.
        folder (Optional[FilePath]): Keeps losses in case of an interruption,
            as in `dump_losses`; delete it once they are saved. A model of
            `transformers` in memory has a folder in it for each state of
            its weights, which change while its name does not.
        progress (Progress): Wraps the batches, or with a folder the chunks.

    Returns:
        ModelLosses: Of this model alone, in nats; `|` joins those of
        several models.

    Raises:
        InputError: As in `token_losses`.
    """
    if folder is not None and isinstance(model, PreTrainedModel):
        folder = Path(folder) / weights_in_memory(model)
    dump = dump_losses(
        model, tokenizer, texts, name=name, folder=folder, progress=progress)
    return ModelLosses(texts, {dump.info.model: dump})
