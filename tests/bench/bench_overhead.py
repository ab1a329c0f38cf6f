"""What recording token losses adds to a standard OpenCompass evaluation.

    OMP_NUM_THREADS=1 python tests/bench/bench_overhead.py [ROUNDS]

Two models of the demonstration on its five exams, with the 250 texts and
without them, in turns; wall and CPU seconds of the whole command.
"""
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = '''
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.models.tidewell_zoo import held_out_models

models = held_out_models[:2]
datasets = [*tidewell_exams_datasets, *salience_texts_datasets[:WITH]]
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner,
        max_num_workers=2,
        task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLEvalTask)))
'''


def measure(folder, with_losses):
    """Wall and CPU seconds of one run."""
    (folder / 'eval.py').write_text(
        CONFIG.replace('WITH', str(int(with_losses))))
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run([sys.executable, '-m', 'opencompass.cli.main', 'eval.py'],
                   cwd=folder,
                   check=True,
                   capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(
        getattr(after, part) - getattr(before, part)
        for part in ('ru_utime', 'ru_stime'))
    return time.time() - start, cpu


def main(rounds):
    for with_losses in (False, True) * rounds:
        with tempfile.TemporaryDirectory() as folder:
            wall, cpu = measure(Path(folder), with_losses)
        print(f'{"with" if with_losses else "without":8} {wall:6.1f} s wall, '
              f'{cpu:6.1f} s CPU', flush=True)  # yapf: disable


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
