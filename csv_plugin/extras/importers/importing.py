"""Read losses from the outputs of other programs, which the user names."""
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
    """Read losses of models on texts or items that another program wrote.

    `fit` learns from the returned table, and `Predictor.predict` predicts from
    it. Both refuse tables with losses on different texts or on different parts
    of the texts, and mixtures of such tables with token-loss dumps. Models
    that cannot be used are left out, and so are items and tasks that cannot be
    used or that some models lack. A warning lists what is left out.

    Args:
        source (str): The program that wrote the losses: 'lm-eval' (output
            folders of lm-evaluation-harness), 'lighteval' (folders with its
            details), 'olmo-eval' (folders with its predictions), or a name
            that another package declares as a plugin.
        paths (Mapping | Iterable): File or folder of each of M models, by
            the name of the model; or only the files or folders, whose names
            are then the names of the models.
        texts (Optional[TextSet]): The validation set that 'lm-eval' scored.
            Without it, losses are on the right answers of benchmark items.
        progress (Progress): Wraps the iteration over the models.
        tasks (Optional[Sequence[str]]): Names or patterns, such as 'arc*', of
            the tasks whose items are read; by default all tasks.

    Returns:
        FeatureTable: Losses in nats per scored character, `(M, K)`. Models
        are in the order of the paths; each of the K columns is a text or an
        item.

    Raises:
        InputError: The source is unknown, texts were given with a source
            other than 'lm-eval', no output can be used, or `check_measured`
            or `feature_table` refuses the losses.
    """
    folders = paths_by_model(paths)
    read_items = load_plugin(IMPORTERS, source)
    if texts is not None and source != 'lm-eval':
        raise InputError(f'losses from {source!r}',
                         'no texts, as these losses are on items',
                         repr(texts)[:80], 'Leave the texts out.')
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
