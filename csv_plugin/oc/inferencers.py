"""Scoring in place of answering: token losses as OpenCompass predictions."""
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from opencompass.openicl.icl_inferencer import BaseInferencer
from opencompass.registry import ICL_INFERENCERS
from tqdm import tqdm

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import TokenLossDump, write_dump
from csv_plugin.io.files import atomic_path
from csv_plugin.io.runs.run_dumps import reason_kept
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.oc.datasets import texts_of
from csv_plugin.oc.journal import Journal
from csv_plugin.oc.labels import label_texts
from csv_plugin.oc.models import get_token_loss, weights_of

#: Texts that are scored, and lost by a kill, together.
CHUNK = 32


@ICL_INFERENCERS.register_module()
class TokenLossInferencer(BaseInferencer):
    """Token losses of a model on a validation set.

    Writes `<dataset abbr>.parquet`, a token-loss dump, and then the JSON by
    which OpenCompass knows that the dataset is done, with one entry per
    text that names its row. Scored: as in `lm.token_losses.token_losses`.

    Args:
        model (Any): What `models.get_token_loss` takes.
        entropy (bool): Record the entropy of each predictive distribution.
        rank (bool): Record how many tokens were more likely.
        context (Optional[int]): Longest window in tokens, the model's own by
            default.
        unused (Any): What OpenCompass hands to every inferencer.
    """

    def __init__(self,
                 model: Any,
                 entropy: bool = False,
                 rank: bool = False,
                 context: Optional[int] = None,
                 **unused: Any) -> None:
        # Not the base class's, which makes a folder where the run started.
        self.model = model
        self.settings: dict[str, Any] = dict(
            entropy=entropy, rank=rank, context=context)

    def inference(self,
                  retriever: Any,
                  ice_template: Any = None,
                  prompt_template: Any = None,
                  output_json_filepath: str = '',
                  output_json_filename: str = '') -> list[dict[str, Any]]:
        """Score the test split of a `SalienceTextDataset`.

        Args:
            retriever (Any): Holds the whole set as `index_ds`, and as
                `test_ds` the part of it to score.
            ice_template (Any): Unused, and so are prompt templates: they
                would fill in braces inside a text.
            prompt_template (Any): See above.
            output_json_filepath (str): Folder to write to.
            output_json_filename (str): Name of the JSON file.

        Returns:
            list[dict[str, Any]]: What the JSON says of each text.

        Raises:
            InputError: As in `models.get_token_loss`.
        """
        if not is_first_process():
            return []
        path = Path(output_json_filepath, output_json_filename)
        file = path.with_name(f'{_stem(path)}.parquet')
        with reason_kept(file):
            part = texts_of(retriever.test_ds).texts
            dump = self._score(texts_of(retriever.index_ds), part, path)
            write_dump(file, dump)
        rows = [
            dict(
                text_id=text.text_id,
                sha256=text.sha256,
                dump=file.name,
                row=row,
                n_tokens=len(text.losses),
                n_scored=text.n_scored) for row, text in enumerate(dump.texts)
        ]
        write_predictions(path, rows)
        self._journal(path, dump.info).remove()
        return rows

    def _score(self, texts: TextSet, part: Sequence[Text],
               path: Path) -> TokenLossDump:
        """Chunk by chunk, those of an interrupted run from its journal."""
        info = get_token_loss(self.model, texts, (), **self.settings).info
        journal = self._journal(path, info)
        n_chunks = -(-len(part) // CHUNK)
        scored = {}
        with tqdm(total=len(part), unit='text', desc=_stem(path)) as bar:
            for chunk in range(n_chunks):
                # Every chunk is a sample of the whole: the same chunks and
                # so the same last bits, whenever a run was killed.
                mine = part[chunk::n_chunks]
                dump = journal.recall(chunk, mine)
                if dump is None:
                    dump = get_token_loss(self.model, texts, mine,
                                          **self.settings)
                    journal.keep(chunk, dump)
                scored.update({text.text_id: text for text in dump.texts})
                bar.update(len(mine))
        return TokenLossDump(info,
                             tuple(scored[text.text_id] for text in part))

    def _journal(self, path: Path, info: Any) -> Journal:
        return Journal(
            path.with_name(f'tmp_{_stem(path)}'), info,
            self.settings['entropy'], self.settings['rank'])


@ICL_INFERENCERS.register_module()
class LabelLossInferencer(BaseInferencer):
    """Loss of the right answer behind a benchmark's own prompt.

    Writes one entry per item: `label_loss` in nats, summed over the tokens
    that touch the label, `label_tokens` and `label_bytes`. Scored: as in
    `lm.token_losses.token_losses`; see `labels` for what a label is.

    Args:
        model (Any): An OpenCompass model with weights at hand.
        max_seq_len (Optional[int]): Tokens above which examples are dropped
            from the prompt, as OpenCompass does.
        unused (Any): Settings of the inferencer that this one replaces.
    """

    def __init__(self,
                 model: Any,
                 max_seq_len: Optional[int] = None,
                 **unused: Any) -> None:
        self.model = model
        self.max_seq_len = max_seq_len

    def inference(self,
                  retriever: Any,
                  ice_template: Any = None,
                  prompt_template: Any = None,
                  output_json_filepath: str = '',
                  output_json_filename: str = '') -> list[dict[str, Any]]:
        """Score the right answers of a benchmark's test split.

        Args as OpenCompass gives them; returns what the JSON says.

        Raises:
            InputError: As in `label_texts` and `token_losses`.
        """
        if not is_first_process():
            return []
        weights = weights_of(self.model)
        texts = label_texts(self.model, retriever, ice_template,
                            prompt_template, self.max_seq_len)
        losses = token_losses(*weights, texts, progress=tqdm)
        rows = [_label_row(*pair) for pair in zip(texts, losses)]
        path = Path(output_json_filepath, output_json_filename)
        write_predictions(path, rows)
        return rows


def _label_row(text: Text, losses: TokenLosses) -> dict[str, Any]:
    label = answer_mask([text], [losses.spans])
    start, end = text.answer or (0, 0)
    nats = float(losses.losses[label].sum())
    if np.isnan(nats):
        raise InputError(
            f'label of item {text.text_id}', 'a token in front of it',
            'neither a prompt nor a BOS or EOS token',
            'Give the benchmark a prompt, or the tokenizer a BOS token.')
    return dict(
        label_loss=nats,
        label_tokens=int(label.sum()),
        label_bytes=len(text.text[start:end].encode()),
        origin_prompt=text.text)


def is_first_process() -> bool:
    """Whether this is the one of torchrun's processes that writes files.

    OpenCompass takes every one for the main process.
    """
    return os.environ.get('RANK', '0') == '0'


def write_predictions(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """The file by which OpenCompass knows that a dataset is done."""
    entries = {str(index): row for index, row in enumerate(rows)}
    with atomic_path(path) as temporary:
        temporary.write_text(
            json.dumps(entries, indent=4, ensure_ascii=False),
            encoding='utf-8')


def _stem(path: Path) -> str:
    # Not Path.stem's idea of a suffix: an abbr may hold dots.
    return path.name.removesuffix('.json')
