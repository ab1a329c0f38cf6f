"""Losses from the outputs of other programs, by the name of the program."""
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.measured import check_measured
from csv_plugin.core.plugins import IMPORTERS, load_plugin
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lm_eval import read_lm_eval
from csv_plugin.extras.importers.text_losses import feature_table, item_table
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_paths import paths_by_model


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
            'olmo-eval' (folders with its predictions), or one that another
            package declares.
        paths (Mapping | Iterable): File or folder of each of M models, by the
            name to call it, or those that are named after their models.
        texts (Optional[TextSet]): The validation set that 'lm-eval' scored.
            Without it, losses are on the right answers of benchmark items.
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
    read_items = load_plugin(IMPORTERS, source)
    if texts is not None and source != 'lm-eval':
        raise InputError(f'losses from {source!r}',
                         'no texts, as they are on items',
                         repr(texts)[:80], 'Leave them out.')
    left_out = LeftOut()

    def read(model: str) -> Any:
        if texts is not None:
            return read_lm_eval(folders[model], texts)
        return read_items(folders[model], tasks or (), left_out)

    losses = usable(read, folders, 'model', left_out, progress)
    if texts is None:
        table = item_table(losses, left_out)
    else:
        table = feature_table(losses, texts)
    check_measured(table.measured)
    left_out.warn()
    return table
