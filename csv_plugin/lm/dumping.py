"""From a causal LM and a validation set to a token-loss dump."""
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional, Union

import numpy as np
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin import __version__
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import TextLosses, TokenLosses
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.lm.engines.causal_lm import prefix_token
from csv_plugin.lm.engines.protocol import Engine
from csv_plugin.lm.engines.token_losses import as_engine, token_losses
from csv_plugin.lm.engines.windows import window_stride

#: Texts that are scored together; a run that is killed loses the losses of
#: at most that many texts.
CHUNK = 32


def dump_losses(model: Union[PreTrainedModel, Engine],
                tokenizer: PreTrainedTokenizerBase,
                texts: TextSet,
                part: Optional[Sequence[Text]] = None,
                name: Optional[str] = None,
                context: Optional[int] = None,
                progress: Progress = iter) -> TokenLossDump:
    """Score a validation set, or a part of it, for `io.dumps.write_dump`.

    Scored: as in `token_losses`; arguments that are not here are as there.
    Parts are joined by `io.dumps.merge_dumps`. `name` is that of the model, by
    default its path. Losses are in nats, one `TokenLosses` per scored text.

    Raises:
        InputError: As in `token_losses`.
    """
    engine = as_engine(model)
    facts = engine.facts
    limit = facts.context if context is None else context
    info = DumpInfo(
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
    wanted = texts.texts if part is None else part
    losses = token_losses(engine, tokenizer, wanted, context, progress)
    return TokenLossDump(info, tuple(losses))


def answers_alone(dump: TokenLossDump, texts: TextSet) -> TokenLossDump:
    """Return a dump of all texts with the losses on their answers alone.

    Scored: the tokens that touch the answer of their text; the others are
    NaN.
    """
    losses = TextLosses.of(dump.texts)
    inside = answer_mask(texts, losses.spans)
    kept = np.where(inside, losses.losses, np.nan)
    return replace(dump, texts=replace(losses, losses=kept))


def score(model: Union[PreTrainedModel, Engine],
          tokenizer: PreTrainedTokenizerBase,
          texts: TextSet,
          name: Optional[str] = None,
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
        progress (Progress): Wraps the batches.

    Returns:
        ModelLosses: Losses of this model, in nats; `|` joins those of
        several models.

    Raises:
        InputError: As in `token_losses`.
    """
    dump = dump_losses(model, tokenizer, texts, name=name, progress=progress)
    return ModelLosses(texts, {dump.info.model: dump})


def score_in_chunks(score: Callable[[Sequence[Text]], TokenLossDump],
                    texts: Sequence[Text],
                    folder: Path,
                    progress: Progress = iter) -> TokenLossDump:
    """Score texts, but read what an interrupted run has scored.

    `score` scores some texts; for no texts it returns the information about
    the scoring. The folder gets a small dump for every chunk of texts. Dumps
    that are damaged, or were made otherwise, are replaced. The caller deletes
    the folder once the losses are safe. `progress` wraps the chunks.

    Losses are in nats, in the order of the texts; the same to the last bit as
    if the run had not been interrupted.
    """
    info = score(()).info
    n_chunks = -(-len(texts) // CHUNK)
    losses: dict[str, TokenLosses] = {}
    for chunk in progress(range(n_chunks)):
        # A sample of all texts that depends on them alone, so that chunks
        # take about the same time and never change.
        part = texts[chunk::n_chunks]
        file = folder / f'{chunk}.safetensors'
        dump = _recall(file, info, part)
        if dump is None:
            scored = score(part)
            folder.mkdir(parents=True, exist_ok=True)
            write_dump(file, scored)
            # A dump rounds losses: new ones must be as rounded as old ones.
            dump = read_dump(file)
        for scored_text in dump.texts:
            losses[scored_text.text_id] = scored_text
    return TokenLossDump(info, tuple(losses[text.text_id] for text in texts))


def _recall(file: Path, info: DumpInfo,
            texts: Sequence[Text]) -> Optional[TokenLossDump]:
    """Return the dump of these texts, if this run would make it the same way.
    """
    try:
        dump = read_dump(file)
    except InputError:  # absent, or damaged by a crash of the machine
        return None
    losses = TextLosses.of(dump.texts)
    wanted = [(text.text_id, text.sha256) for text in texts]
    found = list(zip(losses.ids, losses.hashes))
    if dump.info != info or found != wanted:
        return None
    return dump
