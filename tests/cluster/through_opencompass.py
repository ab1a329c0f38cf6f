"""A config of the package through OpenCompass's Slurm runner, and without.

    python -m tests.cluster.through_opencompass FOLDER

It needs a running Slurm (`run_on_slurm.sh`), and prints whether predictions,
dumps and accuracies are those of tasks that run without Slurm.
"""
import argparse
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

CONFIG = """
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.{runner} import eval, infer
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from csv_plugin.configs.summarizers.predicted import summarizer

models = held_out_models[:2]
datasets = [tidewell_exams_datasets[0], *salience_texts_datasets]
"""


def run(folder: Path, runner: str, *options: str) -> dict[str, str]:
    """Digests of what a run has written, by the file's path in it."""
    config = folder / f'{runner}.py'
    config.write_text(CONFIG.format(runner=runner))
    start = time.monotonic()
    program = Path(sys.executable).with_name('opencompass')
    with (folder / f'{runner}.log').open('w') as log:
        subprocess.run(
            [program, config, '-w', folder / runner, *options],
            check=True, stdout=log, stderr=log)  # yapf: disable
    work_dir, = (folder / runner).iterdir()
    files = {
        path.relative_to(work_dir).as_posix():
        hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ('predictions', 'results')
        for path in sorted((work_dir / part).rglob('*.*'))
    }
    board, = (work_dir / 'summary').glob('leaderboard_*.json')
    files['leaderboard'] = json.dumps(json.loads(board.read_bytes()))
    print(
        f'{runner}: {len(files)} files in {time.monotonic() - start:.0f} s',
        flush=True)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path)
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    by_slurm = run(folder, 'slurm', '-p', 'main')
    here = run(folder, 'few_processes')
    same = sum(by_slurm.get(name) == here[name] for name in here)
    print(f'{same} of {len(here)} files are equal; different: '
          f'{[n for n in here if by_slurm.get(n) != here[n]] or "none"}')
    return int(by_slurm != here)


if __name__ == '__main__':
    sys.exit(main())
