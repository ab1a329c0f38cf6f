"""What is kept of a run: losses of texts, accuracies, no text, no weight.

The tables have the format of `salience fit`. A unit such as
`answers: boolq/3` is a text's loss in nats a byte, of the whole text
(`losses`) or of its answer (`answers`).
"""
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

import csv_plugin as cp
from csv_plugin.core.features import answer_mask
from csv_plugin.io.runs.run_dumps import TEXTS
from csv_plugin.io.tables import write_csv
from tools.studies.real_models import RUN
from tools.studies.real_models.models import VERSIONS
from tools.studies.real_models.questions import BENCHMARKS

#: Where the tables of the run in the documentation lie.
KEPT = Path(__file__).with_name('kept')
LOSSES, ANSWERS = 'losses', 'answers'
#: Sources of texts.
SHIPPED, WIKIPEDIA = 'csv_plugin', 'wikipedia'


@dataclass(frozen=True, eq=False)
class RealModels:
    """Losses of M models on texts, and their accuracies on B benchmarks.

    `kinds` are degradations without their strength, '' for a model itself.
    """
    losses: cp.FeatureTable
    accuracies: cp.AccuracyTable
    families: tuple[str, ...]
    kinds: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path = KEPT) -> 'RealModels':
        """Read the tables of a folder."""
        tables = cp.read_model_tables(folder / 'losses.safetensors',
                                      folder / 'scores.csv',
                                      folder / 'models.csv',
                                      folder / 'benchmarks.csv')
        models = tables.accuracies.models
        return cls(tables.features, tables.accuracies,
                   tuple(tables.families[model] for model in models),
                   tuple(VERSIONS[model].kind for model in models))

    @property
    def models(self) -> tuple[str, ...]:
        """M names."""
        return self.accuracies.models

    def part(self, kind: str, source: str = '') -> cp.FeatureTable:
        """The units of a kind, such as `answers`, perhaps of one source."""
        start = f'{kind}: {source}/' if source else f'{kind}: '
        chosen = [
            i for i, unit in enumerate(self.losses.columns.units)
            if unit.startswith(start)
        ]
        return cp.FeatureTable.of_losses(
            self.models, [self.losses.columns.units[i] for i in chosen],
            self.losses.values[:, chosen])


def mean_of(features: cp.FeatureTable) -> cp.FeatureTable:
    """A single column, the mean over the units."""
    return cp.FeatureTable.of_losses(features.models, ['mean'],
                                     features.mean_loss[:, None])


def read_losses(run: Path) -> cp.ModelLosses:
    """Token losses that `collect` wrote, of the models that are complete."""
    dumps = {
        name: found
        for name in VERSIONS if not missing(run / RUN / 'results' / name)
        for found in (run / RUN / 'predictions' / name).glob('*.safetensors')
    }
    return cp.read_dumps(dumps, cp.read_texts(run / 'texts.jsonl'))


def write_tables(run: Path, folder: Path = KEPT) -> None:
    """Write the tables of a run of `collect`, and when its steps ended."""
    losses = read_losses(run)
    models = tuple(losses)
    numbers = np.array([[
        numbers_of(text, found)
        for text, found in zip(losses.texts, dump.texts)
    ] for dump in losses.values()])
    units = [(kind, k, text) for k, kind in enumerate((LOSSES, ANSWERS))
             for text in range(len(losses.texts))]
    ids = losses.texts.ids
    kept = [
        unit for unit in units
        if not np.isnan(numbers[:, unit[2], unit[1]]).any()
    ]
    _write_losses(folder, [f'{kind}: {ids[s]}' for kind, _, s in kept],
                  np.stack([numbers[:, s, k] for _, k, s in kept], axis=1))
    _write_accuracies(run / RUN, models, folder)
    shutil.copy(run / 'state.json', folder)


def _write_losses(folder: Path, units: Sequence[str],
                  values: NDArray[np.float64]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_file({'losses': values.astype(np.float16)},
              folder / 'losses.safetensors')
    (folder / 'units.txt').write_text('\n'.join(units), 'utf-8')


def missing(folder: Path) -> list[str]:
    """Datasets that have no file in the folder of a model in a run."""
    return [
        name for name in (*BENCHMARKS, f'{TEXTS}*')
        if not any(folder.glob(f'{name}.json'))
    ]


def _write_accuracies(run: Path, models: Sequence[str], folder: Path) -> None:
    names = list(BENCHMARKS)
    write_csv(folder / 'scores.csv', ['model', *names],
              [[m, *(_accuracy(run, m, b) for b in names)] for m in models])
    write_csv(folder / 'models.csv', ['model', 'family', 'split'],
              [[m, VERSIONS[m].family, VERSIONS[m].kind or 'as it is']
               for m in models])
    options = {b: _options(run, models[0], b) for b in names}
    write_csv(folder / 'benchmarks.csv', ['benchmark', 'chance', 'n_items'],
              [[b, round(float(np.mean(1 / n)), 6),
                len(n)] for b, n in options.items()])


def _accuracy(run: Path, model: str, benchmark: str) -> float:
    """By the host, in 0..1."""
    file = run / 'results' / model / f'{benchmark}.json'
    return round(json.loads(file.read_text())['accuracy'] / 100, 6)


def _options(run: Path, model: str, benchmark: str) -> NDArray[np.int64]:
    """Number of options of each question."""
    file = run / 'predictions' / model / f'{benchmark}.json'
    rows = json.loads(file.read_text()).values()
    return np.array([len(row['losses']) for row in rows])


def numbers_of(text: cp.Text, found: cp.TokenLosses) -> tuple[float, float]:
    """Nats a byte: loss of a text, and of its answer, NaN without one.

    Scored: all tokens, and those that overlap the answer.
    """
    whole = found.losses.sum() / len(text.text.encode())
    if text.answer is None:
        return whole, np.nan
    start, end = text.answer
    inside = answer_mask([text], [found.spans])
    n_bytes = len(text.text[start:end].encode())
    return whole, found.losses[inside].sum() / n_bytes
