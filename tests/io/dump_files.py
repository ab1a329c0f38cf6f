"""Dumps of small models in memory, in runs and in folders."""
from collections.abc import Mapping, Sequence
from pathlib import Path

from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.runs.run_dumps import dataset_abbr
from tests.runs import write_summary

TEXTS = TextSet((Text('a', 'one', 'x'), Text('b', 'four', 'y')))
OTHER_TEXTS = TextSet((Text('a', 'two', 'x'), Text('b', 'five', 'y')))


def dump(model: str, loss: float, texts: TextSet = TEXTS) -> TokenLossDump:
    """One token of the same loss per text, texts in reverse order."""
    info = DumpInfo(texts.fingerprint, model, 't', 'none', 'float32', 0, 0, {})
    return TokenLossDump(
        info,
        tuple(
            TokenLosses(
                text.text_id, [loss],
                TokenSpans.from_token_bytes([text.text.encode()], text.text),
                len(text.text),
                sha256=text.sha256) for text in reversed(texts.texts)))


def losses_in(dumps: Mapping[str, TokenLossDump]) -> dict[str, float]:
    """The loss that `dump` was given, by model."""
    return {model: dumps[model].texts[0].losses[0] for model in dumps}


def write_run(folder: Path,
              losses: dict[str, float],
              accuracies: Sequence[tuple[str, Sequence[str]]] = (),
              texts: TextSet = TEXTS) -> Path:
    """An OpenCompass run: dumps of models, and a summary of accuracies.

    Args:
        folder (Path): The run to create.
        losses (dict[str, float]): By model.
        accuracies (Sequence): Benchmarks with the accuracies of the models
            in percent.
        texts (TextSet): The validation set.
    """
    for model, loss in losses.items():
        path = folder / 'predictions' / model
        path.mkdir(parents=True)
        write_dump(path / f'{dataset_abbr(texts.fingerprint)}.safetensors',
                   dump(model, loss, texts))
    header = ['dataset', 'version', 'metric', 'mode', *losses]
    write_summary(folder, [header] + [[name, '1f', 'accuracy', 'gen', *cells]
                                      for name, cells in accuracies])
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
