"""200 checkpoints, scored by eight tasks that are killed and by one process.

    python -m tests.cluster.killed_tasks FOLDER

It needs a running Slurm (`run_on_slurm.sh`), and prints what it did and
whether the dumps are equal byte for byte.
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import read_texts, write_texts

SALIENCE = str(Path(sys.executable).with_name('salience'))
MODELS, TEXTS, TASKS = 200, 64, 8
#: How tasks are hurt, and how often each.
KILLS = Counter({'kill -9': 10, 'requeue': 8, 'scancel, requeue': 6,
                 'scancel': 2})  # yapf: disable


def make_checkpoints(folder: Path) -> None:
    """Checkpoints of the demonstration with a little noise, and a list."""
    sources = sorted(
        path.parent for path in shipped.ZOO.glob('*/*/*/config.json'))
    rows = []
    for number in range(MODELS):
        source = sources[number % len(sources)]
        target = folder / f'checkpoints/{number}'
        shutil.copytree(source, target)
        torch.manual_seed(number)
        weights = load_file(target / 'model.safetensors')
        save_file(
            {
                name: tensor * (1 + .01 * torch.randn(1)).to(tensor.dtype)
                for name, tensor in weights.items()
            }, target / 'model.safetensors', {'format': 'pt'})
        tokenizer = source.parents[1] / 'tokenizer'
        rows.append((f'run@{number}', target, tokenizer))
    write_csv(folder / 'models.csv', ('model', 'path', 'tokenizer'), rows)
    texts = read_texts(shipped.TEXTS).texts
    write_texts(folder / 'texts.jsonl',
                TextSet(texts[::len(texts) // TEXTS][:TEXTS]))


def options(folder: Path, out: str) -> list[str]:
    return [
        '--models',
        str(folder / 'models.csv'), '--texts',
        str(folder / 'texts.jsonl'), '--out',
        str(folder / out)
    ]


def run(*command: str) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True).stdout


def running(job: str) -> list[str]:
    """Ids of the tasks that run."""
    return run('squeue', '--noheader', '--array', '--states=RUNNING',
               '--format=%i', f'--job={job}').split()


def processes(task: str) -> list[int]:
    """The processes of a task that score models."""
    job, _, number = task.partition('_')
    found = []
    for place in Path('/proc').glob('[0-9]*'):
        try:
            environment = (place / 'environ').read_bytes().split(b'\0')
            program = (place / 'cmdline').read_bytes()
        except OSError:  # it has ended
            continue
        if (b'salience' in program
                and f'SLURM_ARRAY_JOB_ID={job}'.encode() in environment
                and f'SLURM_ARRAY_TASK_ID={number}'.encode() in environment):
            found.append(int(place.name))
    return found


def hurt(task: str, way: str) -> None:
    if way == 'kill -9':
        for process in processes(task):
            os.kill(process, signal.SIGKILL)
    if way.startswith('scancel'):
        run('scancel', task)
    if way == 'scancel':
        return
    # A task that has just ended is requeued as soon as Slurm knows of it.
    for _ in range(60):
        if not subprocess.run(['scontrol', 'requeue', task],
                              capture_output=True).returncode:
            break
        time.sleep(.5)


def start_at_once(job: str) -> None:
    """Slurm lets a job that is started again wait for two minutes."""
    waiting = run('squeue', '--noheader', '--array', '--states=PENDING',
                  '--format=%i', f'--job={job}').split()
    for task in waiting:
        subprocess.run(
            ['scontrol', 'update', f'JobId={task}', 'StartTime=now'],
            capture_output=True)


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob('*.parquet'))
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path)
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    folder, chance = args.folder, random.Random(args.seed)
    make_checkpoints(folder)

    start = time.monotonic()
    run(SALIENCE, 'losses', *options(folder, 'one'))
    print(
        f'one process: {MODELS} models x {TEXTS} texts in '
        f'{time.monotonic() - start:.0f} s',
        flush=True)

    script = folder / 'losses.sbatch'
    run(SALIENCE, 'slurm', '--tasks', str(TASKS), '--partition', 'main',
        '--gpus', '0', '--time', '01:00:00', '--out', str(script), '--',
        *options(folder, 'many'))
    start = time.monotonic()
    job = run('sbatch', '--parsable', str(script)).strip()
    kills = [way for way, number in KILLS.items() for _ in range(number)]
    chance.shuffle(kills)
    done: Counter[str] = Counter()
    n_before = 0
    while run('squeue', '--noheader', f'--job={job}').strip():
        time.sleep(chance.uniform(.2, 2))
        start_at_once(job)
        tasks = [task for task in running(job) if processes(task)]
        n_dumps = len(list((folder / 'many').glob('*.parquet')))
        # Work goes on between two of them.
        if kills and tasks and n_dumps >= n_before + 4:
            n_before, way = n_dumps, kills.pop()
            hurt(chance.choice(tasks), way)
            done[way] += 1
    seconds = time.monotonic() - start
    logs = ''.join(log.read_text() for log in (folder / 'many/logs').glob('*'))
    print(f'{TASKS} tasks: {seconds:.0f} s, hurt {done.total()} times: ' +
          ', '.join(f'{way} {number}' for way, number in sorted(done.items())))
    scored = re.findall(rf'^(run@\d+): {TEXTS} texts', logs, re.M)
    print(f'{len(scored)} models scored, {len(set(scored))} different ones')
    print(
        run(SALIENCE, 'status', str(folder / 'many'), '--models',
            str(folder / 'models.csv')))
    run(SALIENCE, 'losses', *options(folder, 'many'))
    left = [
        path.name for path in (folder / 'many').iterdir()
        if path.suffix != '.parquet' and path.name != 'logs'
    ]
    one, many = digests(folder / 'one'), digests(folder / 'many')
    print(f'{len(one)} and {len(many)} dumps, '
          f'{sum(one[name] == many.get(name) for name in one)} of them equal '
          f'byte for byte; other files left: {", ".join(left) or "none"}')
    return 0 if one == many and len(one) == MODELS and not left else 1


if __name__ == '__main__':
    sys.exit(main())
