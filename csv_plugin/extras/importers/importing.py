"""Losses from the outputs of other programs, by the name of the program."""
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.measured import check_measured
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lighteval_details import read_lighteval
from csv_plugin.extras.importers.lm_eval import (read_lm_eval,
                                                 read_lm_eval_items)
from csv_plugin.extras.importers.olmo_eval import read_olmo_eval
from csv_plugin.extras.importers.text_losses import (TextLoss, feature_table,
                                                     item_table)
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_paths import paths_by_model
from csv_plugin.io.tables import read_rows

#: Columns of losses, one of which a table has, and the nats of a text by the
#: number in it.
_MEASURES: dict[str, Callable[[float, str], float]] = {
    'nats': lambda loss, text: loss,
    'bits': lambda loss, text: loss * math.log(2),
    'nats_per_char': lambda loss, text: loss * len(text),
    'nats_per_byte': lambda loss, text: loss * len(text.encode()),
    'bits_per_byte':
    lambda loss, text: loss * len(text.encode()) * math.log(2),
}  # yapf: disable


def read_loss_table(path: FilePath, texts: TextSet) -> list[TextLoss]:
    """Read the losses of one model on whole texts.

    The CSV file has a column `text_id` and one of `_MEASURES`; `nats` and
    `bits` are sums over a text. Other columns are ignored.
    """
    by_id = {text.text_id: text.text for text in texts}
    file = os.fspath(path)
    rows = read_rows(file, ('text_id', ))
    present = [name for name in _MEASURES if name in rows[0].cells]
    if len(present) != 1:
        raise InputError(
            file, 'one column of losses', ' and '.join(present)
            or f'{", ".join(rows[0].cells)}',
            'Give a table with the columns text_id and one of '
            f'{", ".join(_MEASURES)}.')
    losses = []
    for row in rows:
        where, text_id = f'{file}, line {row.line}', row.cells['text_id']
        if text_id not in by_id:
            raise InputError(where, 'the id of a text', repr(text_id),
                             'Give losses on the texts of this set only.')
        text = by_id[text_id]
        nats = _MEASURES[present[0]](row.number(present[0]), text)
        losses.append(TextLoss(text_id, text, nats, where=where))
    return losses


#: Readers of the losses of one model on given texts.
_OF_TEXTS: dict[str, Callable[..., Any]] = {
    'lm-eval': read_lm_eval,
    'table': read_loss_table,
}
#: Readers of the losses of one model on benchmark items, of some tasks.
OF_ITEMS: dict[str, Callable[..., Any]] = {
    'lighteval': read_lighteval,
    'lm-eval': read_lm_eval_items,
    'olmo-eval': read_olmo_eval,
}
#: Names of the programs that `import_losses` reads.
SOURCES = tuple(sorted({**_OF_TEXTS, **OF_ITEMS}))


def import_losses(source: str,
                  paths: Mapping[str, FilePath] | Iterable[FilePath],
                  texts: Optional[TextSet] = None,
                  progress: Progress = iter,
                  tasks: Optional[Sequence[str]] = None) -> FeatureTable:
    """Read losses of models on texts or items, as other programs wrote them.

    `fit` learns from them and `Predictor.predict` predicts from them; both
    refuse to mix losses on different texts, on different parts of them, or
    from token-loss dumps. Models, items and tasks that cannot be used, or that
    some models lack, are left out; a warning lists them.

    Args:
        source (str): Which program: 'lm-eval' (output folders of
            lm-evaluation-harness), 'lighteval' (folders with its details),
            'olmo-eval' (folders with its predictions), or 'table' (CSV
            files).
        paths (Mapping | Iterable): File or folder of each of M models, by the
            name to call it, or those that are named after their models.
        texts (Optional[TextSet]): The validation set that was scored. Without
            it, losses of 'lm-eval', 'lighteval' and 'olmo-eval' are on the
            right answers of benchmark items.
        progress (Progress): Wraps the models.
        tasks (Optional[Sequence[str]]): Names or patterns such as 'arc*' of
            the tasks of items; by default all.

    Returns:
        FeatureTable: Models in the order of the paths, a column per text or
        item: nats per character that was scored.

    Raises:
        InputError: The source is unknown or does not fit the texts, no output
            can be used, or as in `check_measured` and `feature_table`.
    """
    folders = paths_by_model(paths)
    if source not in SOURCES:
        raise InputError('source of losses', f'one of {", ".join(SOURCES)}',
                         repr(source), 'Choose one of these.')
    readers = OF_ITEMS if texts is None else _OF_TEXTS
    if source not in readers:
        raise InputError(
            f'losses from {source!r}', 'no texts, as they are on items'
            if texts else 'the texts that were scored',
            repr(texts)[:80], 'Leave them out.'
            if texts else "Give --texts, or read_texts('texts.jsonl').")
    left_out = LeftOut()
    options = (tasks or (), left_out) if texts is None else (texts, )
    losses: dict[str, Any] = usable(
        lambda model: readers[source](folders[model], *options), folders,
        'model', left_out, progress)
    if texts is None:
        table = item_table(losses, left_out)
    else:
        table = feature_table(losses, texts)
    check_measured(table.measured)
    left_out.warn()
    return table
