"""Define inferencers, which compute losses instead of answers."""
import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np
from opencompass.openicl.icl_inferencer import BaseInferencer
from opencompass.registry import ICL_INFERENCERS
from tqdm import tqdm

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import one_line
from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.texts import Text
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.json_files import write_json
from csv_plugin.io.runs.run_failures import failure_recorded
from csv_plugin.lm.dumping import score_in_chunks
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.oc.datasets import texts_of_rows
from csv_plugin.oc.labels import label_texts
from csv_plugin.oc.models import engine_of, get_token_loss

#: Entries of the JSON file of a dataset, one per text or item.
Entries = list[dict[str, Any]]
#: Arguments that OpenCompass passes to every inferencer, beside the model.
_HOST_ARGUMENTS = {
    'batch_size', 'dump_only_message_path', 'dump_res_length', 'max_out_len',
    'max_seq_len', 'min_out_len'
}


class _LossInferencer(BaseInferencer, ABC):
    """An inferencer that writes one entry per item, in the first process only.

    Subclasses do not call `BaseInferencer.__init__`, which would make a folder
    where the run started.
    """

    def inference(self,
                  retriever: Any,
                  ice_template: Any = None,
                  prompt_template: Any = None,
                  output_json_filepath: str = '',
                  output_json_filename: str = '') -> Entries:
        """Write the JSON file that marks a dataset as done for OpenCompass.

        Return the entries of the file. All processes but the first write
        nothing and return no entries. `output_json_filepath` is the folder of
        the file.
        """
        # OpenCompass takes all processes of torchrun for the main process.
        if os.environ.get('RANK', '0') != '0':
            return []
        path = Path(output_json_filepath, output_json_filename)
        rows = self._rows(path, retriever, ice_template, prompt_template)
        by_number = {}
        for number, row in enumerate(rows):
            by_number[str(number)] = row
        write_json(path, by_number)
        shutil.rmtree(_chunks(path), ignore_errors=True)
        return rows

    @abstractmethod
    def _rows(self, path: Path, retriever: Any, ice_template: Any,
              prompt_template: Any) -> Entries:
        """Return the entries of the JSON file that is written to `path`."""


@ICL_INFERENCERS.register_module()
class TokenLossInferencer(_LossInferencer):
    """Measure the token losses of a model on a validation set.

    The inferencer writes the token-loss dump `<dataset abbr>.safetensors`, and
    then the JSON file, in which the entry of each text names the dump. The
    docstring of `models.get_token_loss` says which tokens are scored and which
    models are accepted.

    `context` is the length of the longest window in tokens, by default the
    context of the model. The other arguments that OpenCompass passes to every
    inferencer are not used; any further argument is an `InputError`.
    """

    def __init__(self,
                 model: Any,
                 context: Optional[int] = None,
                 **unused: Any) -> None:
        unknown = sorted(unused.keys() - _HOST_ARGUMENTS)
        if unknown:
            raise InputError('TokenLossInferencer', 'no setting but context',
                             ', '.join(unknown), 'Remove it from the config.')
        self.model = model
        self.context = context

    def _rows(self, path: Path, retriever: Any, *_: Any) -> Entries:
        # The texts are scored as they are. Templates are not used, because
        # they would fill in braces inside a text.
        file = path.with_name(f'{_stem(path)}.safetensors')
        with failure_recorded(file):
            texts = texts_of_rows(retriever.index_ds)
            part = texts_of_rows(retriever.test_ds)
            score = partial(
                get_token_loss, self.model, texts, context=self.context)
            chunks = _chunks(path)
            title = one_line(chunks.name)
            progress = partial(tqdm, unit='chunk', desc=title)
            dump = score_in_chunks(score, part.texts, chunks, progress)
            info = replace(dump.info, folder=path.parent.name)
            dump = replace(dump, info=info)
            write_dump(file, dump)
        rows = []
        for text in dump.texts:
            rows.append(dict(text_id=text.text_id, dump=file.name))
        return rows


@ICL_INFERENCERS.register_module()
class LabelLossInferencer(_LossInferencer):
    """Measure the loss of the right answer after a benchmark's own prompt.

    The right answer is called the label; the module `labels` says where it
    begins. This inferencer writes one entry per item, with three numbers:
    `label_loss` is the summed loss in nats of the tokens that overlap the
    label, `label_tokens` is the number of these tokens, and `label_bytes` is
    the length of the label in UTF-8 bytes. Only these tokens are scored, each
    given all text before it. The docstring of `models.engine_of` says which
    models are accepted.

    In-context examples are dropped until the prompt and its label together
    have at most `max_seq_len` tokens. Other settings, which the benchmark's
    original inferencer needs, are not used.
    """

    def __init__(self,
                 model: Any,
                 max_seq_len: Optional[int] = None,
                 **unused: Any) -> None:
        self.model = model
        self.max_seq_len = max_seq_len

    def _rows(self, path: Path, retriever: Any, ice_template: Any,
              prompt_template: Any) -> Entries:
        engine = engine_of(self.model)
        texts = label_texts(self.model, retriever, ice_template,
                            prompt_template, self.max_seq_len)
        losses = token_losses(*engine, texts, progress=tqdm)
        rows = []
        for text, of_text in zip(texts, losses):
            rows.append(_label_row(text, of_text))
        return rows


def _label_row(text: Text, losses: TokenLosses) -> dict[str, Any]:
    """Return the entry of an item from the token losses of its text."""
    label = answer_mask([text], [losses.spans])
    assert text.answer is not None
    start, end = text.answer
    answer = text.text[start:end]
    nats = float(losses.losses[label].sum())
    if np.isnan(nats):
        raise InputError(
            f'label of item {text.text_id}', 'a token in front of the label',
            'neither a prompt nor a BOS or EOS token',
            'Give the benchmark a prompt, or the tokenizer a BOS token.')
    return dict(
        label_loss=nats,
        label_tokens=int(label.sum()),
        label_bytes=len(answer.encode()),
        origin_prompt=text.text)


def _stem(path: Path) -> str:
    # Path.stem would cut off what follows the last dot of an abbreviation.
    return path.name.removesuffix('.json')


def _chunks(path: Path) -> Path:
    """Return the folder that keeps losses until all texts are scored."""
    return path.with_name(f'tmp_{_stem(path)}')
