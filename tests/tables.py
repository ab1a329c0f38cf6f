"""Small worlds of models: losses, accuracies and the files that hold them."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.io.tables import write_csv

#: Chance level of every benchmark of `small_tables`.
CHANCE = 0.25
#: Fingerprint of the texts of `small_tables`.
FINGERPRINT = 'texts'


@dataclass(frozen=True, eq=False)
class Tables:
    """What `fit_predictor` and the studies take."""
    features: FeatureTable
    accuracies: AccuracyTable
    families: dict[str, str]

    @property
    def models(self) -> tuple[str, ...]:
        return self.features.models

    @property
    def groups(self) -> list[str]:
        """Family of each model, in the order of the accuracies."""
        return [self.families[model] for model in self.accuracies.models]

    def only(self, *benchmarks: str) -> 'Tables':
        return Tables(self.features,
                      self.accuracies.select(benchmarks=benchmarks),
                      self.families)


def small_tables(n_models: int = 15,
                 n_units: int = 4,
                 n_families: int = 5,
                 seed: int = 0) -> Tables:
    """Models whose accuracies follow a curve on the first half of the units.

    The benchmarks are 'easy' and 'hard' (curves with noise), and those
    on which nothing can be learned: 'chance' (no model is above it), 'same'
    (one accuracy), 'pair' (two models were run) and 'none' (no model was).
    """
    rng = np.random.default_rng(seed)
    skill = rng.permutation(np.linspace(0, 1, n_models))
    values = 2 - skill[:, None] + 0.1 * rng.normal(size=(n_models, n_units))
    score = values[:, :n_units // 2].mean(axis=1)
    models = tuple(f'org/model-{m}' for m in range(n_models))
    accuracies = {
        'easy': _accuracy(score, 1.6) + 0.01 * rng.normal(size=n_models),
        'hard': _accuracy(score, 1.3) + 0.01 * rng.normal(size=n_models),
        'chance': CHANCE + 0.01 * rng.uniform(-1, 1, n_models),
        'same': np.full(n_models, 0.5),
        'pair': np.where(np.arange(n_models) < 2, 0.75, np.nan),
        'none': np.full(n_models, np.nan),
    }
    n_benchmarks = len(accuracies)
    columns = Columns(
        tuple(f't{k}' for k in range(n_units)), np.full(n_units, 1 / n_units),
        FINGERPRINT)
    return Tables(
        FeatureTable(models, columns, values),
        AccuracyTable(models, tuple(accuracies),
                      np.stack(list(accuracies.values()), axis=1),
                      np.full(n_benchmarks, CHANCE),
                      np.array([1000, 0, 200, 200, 200, 200])),
        {model: f'family-{m % n_families}'
         for m, model in enumerate(models)})  # yapf: disable


def with_outlier() -> tuple[Tables, str]:
    """Models of which one has losses that are far too low, and its name."""
    tables = small_tables(24, n_families=6).only('easy', 'hard')
    values = tables.features.values.copy()
    worst = int(np.argmax(values.mean(axis=1)))
    values[worst] = values.min(axis=0)
    features = FeatureTable(tables.models, tables.features.columns, values)
    return (Tables(features, tables.accuracies,
                   tables.families), tables.models[worst])


def _accuracy(score: NDArray, middle: float) -> NDArray:
    return CHANCE + (1 - CHANCE) / (1 + np.exp(4 * (score - middle)))


def write_tables(folder: Path, tables: Tables, splits: dict[str,
                                                            str]) -> list[str]:
    """Write the files of a study, with main benchmarks 'easy' and 'hard'.

    The arguments of the command line that name them.
    """
    features, accuracies = tables.features, tables.accuracies
    files = {
        'losses': (('model', *features.columns.units),
                   zip(features.models, features.values)),
        'scores': (('model', *accuracies.benchmarks),
                   zip(accuracies.models, accuracies.values)),
    }
    for name, (header, rows) in files.items():
        write_csv(folder / f'{name}.csv', header,
                  ([model, *numbers] for model, numbers in rows))
    write_csv(folder / 'models.csv', ('model', 'family', 'split'),
              ([m, tables.families[m], splits[m]] for m in tables.models))
    write_csv(folder / 'benchmarks.csv',
              ('benchmark', 'chance', 'n_items', 'main'), ([
                  name, accuracies.chance[b], accuracies.n_items[b],
                  int(name in ('easy', 'hard'))
              ] for b, name in enumerate(accuracies.benchmarks)))
    return [
        argument for name in ('losses', 'scores', 'models', 'benchmarks')
        for argument in (f'--{name}', str(folder / f'{name}.csv'))
    ]
