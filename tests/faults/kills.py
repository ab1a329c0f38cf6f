"""Jobs that are killed at random moments, resumed and compared.

    python -m tests.faults.kills --signals 100 --seed 0

Each job is run once undisturbed. Then KILL, TERM and INT are sent to it, half
of them at a random time and half when some file appears, to all its processes
or to one that it started. It is resumed after one to four signals, and its
results are compared with those of the undisturbed run, byte by byte. The
table counts what is `lost`, `torn` (a file under its final name that its
reader refuses, looked for after each signal), `changed`, and the temporary
files that are left in the end. docs/reliability.md says more.
"""
import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Optional

import psutil
from tabulate import tabulate

from tests.faults.jobs import (HUNG, JOBS, Job, finish, results, start,
                               temporary_files, torn_files)

SIGNALS = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
#: Most signals before a job is resumed to its end.
_SERIES = 4
#: Seconds that a process has to end by itself after TERM or INT.
_GRACE = 20
COLUMNS = ('signals', 'of them to one process', 'resumed to the end', 'lost',
           'torn', 'changed', 'temporary files', "torn files of OpenCompass")


def hurt(process: subprocess.Popen[bytes], number: signal.Signals, one: bool,
         rng: random.Random) -> bool:
    """Send a signal to all processes of a job or to one that it started.

    Returns:
        bool: Whether it was sent to a single process of several.
    """
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return False
    one = one and bool(children)
    targets = [rng.choice(children)] if one else [
        *children, psutil.Process(process.pid)
    ]
    for target in targets:
        try:
            target.send_signal(number)
        except psutil.NoSuchProcess:
            continue
    if not one:
        # What does not end by itself is killed, as a user would.
        for target in psutil.wait_procs(targets, _GRACE)[1]:
            target.kill()
    return one


def wait_for_moment(process: subprocess.Popen[bytes], work: Path,
                    duration: float, rng: random.Random) -> bool:
    """Wait for a random time, or until a random number of files appeared.

    Returns:
        bool: False if the job ended before.
    """
    n_new = rng.randint(1, 12) if rng.random() < .5 else 0
    # Some jobs go on for ever, and make fewer files.
    end = time.monotonic() + (duration if n_new else rng.uniform(0, duration))
    known = set(work.rglob('*'))
    while process.poll() is None:
        if n_new:
            found = set(work.rglob('*')) - known
            known |= found
            n_new -= len(found)
            if n_new <= 0:
                return True
        if time.monotonic() > end:
            return True
        time.sleep(.005)
    return False


def count_kills(job: Job, n_signals: int, seed: int,
                folder: Path) -> Counter[str]:
    """Kill a job again and again; counts by the names of `COLUMNS`."""
    rng = random.Random(f'{seed} {job.name}')
    materials, whole = folder / 'materials', folder / 'whole'
    materials.mkdir()
    whole.mkdir()
    job.prepare(materials)
    begin = time.monotonic()
    log = folder / 'log.txt'
    if finish(job, materials, whole, log):
        raise RuntimeError(log.read_text('utf-8')[-3000:])
    duration = time.monotonic() - begin
    expected, left = results(whole), temporary_files(whole)
    counts = Counter(dict.fromkeys(COLUMNS, 0))
    for series in count():
        if counts['signals'] >= n_signals:
            return counts
        work = folder / f'killed-{series}'
        work.mkdir()
        again = False
        for _ in range(rng.randint(1, _SERIES)):
            process = start(job, materials, work, log, again)
            again = True
            if wait_for_moment(process, work, duration, rng):
                number, one = rng.choice(SIGNALS), rng.random() < .5
                counts[COLUMNS[1]] += hurt(process, number, one, rng)
                counts['signals'] += 1
            if job.watches:
                process.terminate()
            process.wait(HUNG)
            ours, of_host = torn_files(work)
            counts['torn'] += len(ours)
            counts[COLUMNS[-1]] += len(of_host)
            for path in of_host:
                path.unlink()  # docs/limits.md: it takes them for whole
        code = finish(job, materials, work, log, again)
        counts['resumed to the end'] += not code
        found = results(work)
        counts['lost'] += len(expected.keys() - found)
        counts['torn'] += len(torn_files(work)[0])
        changed = [name for name in expected.keys() & found
                   if found[name] != expected[name]]  # yapf: disable
        counts['changed'] += len(changed)
        remains = [name for name in temporary_files(work) if name not in left]
        counts['temporary files'] += len(remains)
        if code or changed or remains or expected.keys() - found:
            print(f'{work}: exit code {code}; lost '
                  f'{sorted(expected.keys() - found)}, changed {changed}, '
                  f'temporary {remains}', file=sys.stderr)  # yapf: disable


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--signals', type=int, default=100, help='to all jobs together')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--jobs', nargs='+', choices=JOBS, default=list(JOBS))
    parser.add_argument(
        '--keep',
        type=Path,
        metavar='DIR',
        help='keep the folders of the jobs there')
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    args = parse_args(argv)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for job in args.jobs:
            folder = (args.keep or Path(name)) / job.replace(' ', '')
            folder.mkdir(parents=True)
            counts = count_kills(JOBS[job], args.signals // len(args.jobs),
                                 args.seed, folder)
            rows.append((job, *(counts[column] for column in COLUMNS)))
    print(tabulate(rows, ('job', *COLUMNS), tablefmt='github'))
    return int(any(sum(row[4:8]) for row in rows))


if __name__ == '__main__':
    sys.exit(main())
