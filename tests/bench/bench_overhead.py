"""What recording token losses adds to a standard OpenCompass evaluation.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_overhead [ROUNDS]

Two models of the demonstration on its five exams, with the 250 texts and
without them, in turns; wall and CPU seconds of the whole command.
"""
import sys
import tempfile
from pathlib import Path

from tests.bench.host_runs import IMPORTS, STAGES, run_config

CONFIG = f'''{IMPORTS}
with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.models.tidewell_zoo import held_out_models

models = held_out_models[:2]
datasets = [*tidewell_exams_datasets, *salience_texts_datasets[:WITH]]
{STAGES}'''


def main(rounds):
    for with_losses in (False, True) * rounds:
        with tempfile.TemporaryDirectory() as folder:
            config = CONFIG.replace('WITH', str(int(with_losses)))
            _, cpu, wall = run_config(Path(folder), config)
        print(f'{"with" if with_losses else "without":8} {wall:6.1f} s wall, '
              f'{cpu:6.1f} s CPU', flush=True)  # yapf: disable


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
