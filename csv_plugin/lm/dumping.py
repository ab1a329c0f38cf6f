"""Score a validation set by a causal LM, and keep the losses in a dump."""
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional

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

#: Number of texts that are scored together. A run that is killed loses the
#: losses of at most this many texts.
CHUNK = 32


def dump_losses(model: PreTrainedModel | Engine,
                tokenizer: PreTrainedTokenizerBase,
                texts: TextSet,
                part: Optional[Sequence[Text]] = None,
                name: Optional[str] = None,
                context: Optional[int] = None,
                progress: Progress = iter) -> TokenLossDump:
    """Score a validation set, or a part of it, for `io.dumps.write_dump`.

    The function `token_losses` scores the texts; its docstring says which
    tokens are scored. `part` contains the texts to
    score, by default all texts; `io.dumps.merge_dumps` joins the dumps of
    parts. `name` is the name of the model in the dump, by default its path.
    The remaining arguments are explained in `token_losses`. The returned dump
    has one `TokenLosses` per scored text, in nats.

    Raises:
        InputError: The model, the tokenizer or a text cannot be used, as in
            `token_losses`.
    """
    engine = as_engine(model)
    facts = engine.facts
    limit = facts.context if context is None else context
    _, prefix_name = prefix_token(tokenizer)
    info = DumpInfo(
        fingerprint=texts.fingerprint,
        model=facts.model if name is None else name,
        tokenizer=tokenizer.name_or_path,
        prefix=prefix_name,
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
    """Return a dump of all texts in which only answers have losses.

    The tokens that overlap the answer of their text keep their losses. The
    losses of all other tokens are NaN.
    """
    losses = TextLosses.of(dump.texts)
    inside = answer_mask(texts, losses.spans)
    of_answers = np.where(inside, losses.losses, np.nan)
    texts_left = replace(losses, losses=of_answers)
    return replace(dump, texts=texts_left)


def score(model: PreTrainedModel | Engine,
          tokenizer: PreTrainedTokenizerBase,
          texts: TextSet,
          name: Optional[str] = None,
          progress: Progress = iter) -> ModelLosses:
    """Return the token losses of a causal LM on a validation set.

    Every token of every text is scored, given one prefix token (BOS or EOS)
    and the tokens before it in the text; see `token_losses`.

    Args:
        model (PreTrainedModel | Engine): A causal LM of `transformers`, or
            an engine that runs one.
        tokenizer (PreTrainedTokenizerBase): The tokenizer of the model.
        texts (TextSet): The validation set.
        name (Optional[str]): Name of the model in the losses, its path by
            default.
        progress (Progress): Wraps the batches, as `tqdm.tqdm` does.

    Returns:
        ModelLosses: The losses of this model, in nats. The operator `|` joins
        the `ModelLosses` of several models.

    Raises:
        InputError: `token_losses` refuses the model, the tokenizer or a text.
    """
    dump = dump_losses(model, tokenizer, texts, name=name, progress=progress)
    return ModelLosses(texts, {dump.info.model: dump})


def score_in_chunks(score_texts: Callable[[Sequence[Text]], TokenLossDump],
                    texts: Sequence[Text],
                    folder: Path,
                    progress: Progress = iter) -> TokenLossDump:
    """Score texts, and use the losses that an interrupted run has written.

    `score_texts` takes some texts and returns their dump; for an empty
    sequence it returns a dump with its `info` only. A small dump of every
    chunk of texts is written to `folder`. If `folder` already has the dump of
    a chunk, the chunk is not scored again, unless this dump is damaged or its
    model, texts or settings differ. The caller deletes the folder after saving
    the losses. `progress` wraps the chunks.

    Return a dump of all texts in their order. Its losses, in nats, are the
    same to the last bit whether or not the run was interrupted.
    """
    info = score_texts(()).info
    n_chunks = -(-len(texts) // CHUNK)
    losses: dict[str, TokenLosses] = {}
    for chunk in progress(range(n_chunks)):
        # A chunk is every `n_chunks`-th text. Chunks then take about the same
        # time, and are the same in every run on these texts.
        part = texts[chunk::n_chunks]
        file = folder / f'{chunk}.safetensors'
        dump = _recall(file, info, part)
        if dump is None:
            scored = score_texts(part)
            folder.mkdir(parents=True, exist_ok=True)
            write_dump(file, scored)
            # Writing rounds losses. New losses are read back, so that they are
            # rounded like the losses of an earlier run.
            dump = read_dump(file)
        for scored_text in dump.texts:
            losses[scored_text.text_id] = scored_text
    in_order = [losses[text.text_id] for text in texts]
    return TokenLossDump(info, tuple(in_order))


def _recall(file: Path, info: DumpInfo,
            texts: Sequence[Text]) -> Optional[TokenLossDump]:
    """Return the dump in a file, if it has this `info` and these texts.

    The result is None if the file is missing or damaged, or if anything
    differs.
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
