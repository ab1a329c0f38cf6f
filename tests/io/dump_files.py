"""Dumps of small models in memory, in runs and in folders; forged files."""
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.containers import read_container, write_container
from csv_plugin.io.dumps import write_dump
from tests import runs

TEXTS = TextSet((Text('a', 'one', 'x'), Text('b', 'four', 'y')))
OTHER_TEXTS = TextSet((Text('a', 'two', 'x'), Text('b', 'five', 'y')))


def dump(model: str, loss: float, texts: TextSet = TEXTS) -> TokenLossDump:
    """One token of the same loss per text, texts in reverse order."""
    rows = [
        TokenLosses(
            text.text_id, [loss],
            TokenSpans.from_token_bytes([text.text.encode()], text.text),
            len(text.text),
            sha256=text.sha256) for text in reversed(texts.texts)
    ]
    return runs.dump(model, rows, texts)


def losses_in(dumps: Mapping[str, TokenLossDump]) -> dict[str, float]:
    return {model: dumps[model].texts[0].losses[0] for model in dumps}


def write_run(folder: Path,
              losses: dict[str, float],
              accuracies: Sequence[tuple[str, Sequence[str]]] = (),
              texts: TextSet = TEXTS) -> Path:
    """An OpenCompass run: dumps, and a summary of accuracies in percent."""
    for model, loss in losses.items():
        runs.write_losses(folder, model, dump(model, loss, texts).texts, texts)
    header = ['dataset', 'version', 'metric', 'mode', *losses]
    rows = [[name, '1f', 'accuracy', 'gen', *cells]
            for name, cells in accuracies]
    runs.write_summary(folder, [header, *rows])
    return folder


def write_dumps(folder: Path,
                losses: dict[str, float],
                texts: TextSet = TEXTS) -> list[Path]:
    """Files that are named after their models."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f'{model}.safetensors' for model in losses]
    for path, (model, loss) in zip(paths, losses.items()):
        write_dump(path, dump(model, loss, texts))
    return paths


def rewrite(path: Path, kind: str, change: Callable[[dict], Any],
            arrays: Mapping[str, NDArray | None]) -> None:
    """Change a header in place, and arrays of a file; None removes one.

    The file gets the digest of its new content, as a forger would give it.
    """
    header, old = read_container(path, kind, '')
    del header['format_version'], header['digest']
    change(header)
    write_container(
        path, kind, header, {
            name: array
            for name, array in {
                **old,
                **arrays
            }.items() if array is not None
        })
