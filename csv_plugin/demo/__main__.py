"""`python -m csv_plugin.demo DIR`: write the simulated tables as CSV."""
import sys
from pathlib import Path

from csv_plugin.demo.simulation import simulate
from csv_plugin.io.tables import write_csv


def main(folder: Path) -> None:
    """Write losses, scores, models and benchmarks into a folder."""
    laboratory = simulate()
    features, accuracies = laboratory.features, laboratory.accuracies
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns, values in (('losses', features.units, features.values),
                                  ('scores', accuracies.benchmarks,
                                   accuracies.values)):
        write_csv(folder / f'{name}.csv', ('model', *columns),
                  ((model, *row)
                   for model, row in zip(features.models, values)))
    write_csv(
        folder / 'models.csv', ('model', 'family', 'params_b', 'split'),
        zip(features.models, laboratory.families, laboratory.sizes,
            laboratory.splits))
    write_csv(
        folder / 'benchmarks.csv', ('benchmark', 'chance', 'n_items'),
        zip(accuracies.benchmarks, accuracies.chance, accuracies.n_items))
    print(f'{len(features.models)} simulated models, {len(features.units)} '
          f'texts, {len(accuracies.benchmarks)} benchmarks: {folder}')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
