"""Jobs on disks that are too small, and again when there is room.

    python -m tests.faults.full_disks

Each job writes to a small disk in memory (tmpfs, which only root may mount).
A first variant of it is run to its end there, unless the disk is to be empty;
then there is room for only a part of the second, which has to end with one
line. The table counts failed
runs that end so (`one line`), those that show a `traceback` through this
package instead, those in which OpenCompass alone fails (`traceback of
OpenCompass`), runs after which a predictor stands beside files that do not
belong to it (`mixed`), and what the columns of `tests.faults.kills` count.
docs/reliability.md says more.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from tabulate import tabulate

from tests.faults.jobs import (JOBS, Job, finish, results, temporary_files,
                               torn_files)

#: Room for the second variant, as shares of what it needs.
SHARES = 0, .05, .2, .4, .6, .8, .95
#: Bytes that a job never needs.
_PLENTY = 2**28
COLUMNS = ('full disks', 'one line', 'traceback', 'traceback of OpenCompass',
           'torn', 'mixed', 'resumed', 'lost', 'changed', 'temporary files')
#: The variants of a job; `_SECOND` is the one for which there is no room.
_FIRST, _SECOND = 0, 1


@contextmanager
def disk(folder: Path) -> Iterator[Callable[[int], None]]:
    """A disk in memory at a folder; yields what sets its size in bytes."""

    def resize(size: int) -> None:
        # The smallest size is a page; 0 would mean no limit.
        subprocess.run([
            'mount', '-o', f'remount,size={max(size, 4096)}',
            str(folder)
        ], check=True)  # yapf: disable

    folder.mkdir()
    subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', f'size={_PLENTY}', 'tmpfs',
         str(folder)],
        check=True)  # yapf: disable
    try:
        yield resize
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=True)


def used(folder: Path) -> int:
    """Bytes in use on the disk of a folder."""
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


@contextmanager
def peak(folder: Path) -> Iterator[list[int]]:
    """The most bytes in use on the disk while the block runs, in a list."""
    most, over = [used(folder)], threading.Event()

    def look() -> None:
        while not over.wait(.01):
            most[0] = max(most[0], used(folder))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def complaint(text: str) -> str:
    """Which of `COLUMNS` says how a job failed, from what it printed."""
    blocks = re.split(r'^Traceback \(most recent call last\):\n', text,
                      flags=re.MULTILINE)[1:]  # yapf: disable
    traces = [re.match(r'(?:[ \t].*\n|\n)*', block)[0] for block in blocks]
    if any('/csv_plugin/' in trace.splitlines()[-2] for trace in traces
           if len(trace.splitlines()) > 1):  # yapf: disable
        return COLUMNS[2]
    if traces:
        return COLUMNS[3]
    return COLUMNS[1] if re.search('^error: .+', text, re.M) else COLUMNS[2]


def count_full_disks(job: Job, shares: Sequence[float], empty: bool,
                     folder: Path) -> Counter[str]:
    """Run a job on disks that are too small; counts by `COLUMNS`."""
    counts = Counter(dict.fromkeys(COLUMNS, 0))
    materials, log = folder / 'materials', folder / 'log.txt'
    materials.mkdir()
    job.prepare(materials)
    expected: dict[str, bytes] = {}
    need = 0
    for index, share in enumerate((None, *shares)):
        with disk(folder / f'disk-{index}') as resize:
            work = folder / f'disk-{index}'
            # A second variant of an OpenCompass run has nothing to replace.
            if not (empty or job.resume) and finish(
                    job, materials, work, log, variant=_FIRST):
                raise RuntimeError(log.read_text('utf-8')[-3000:])
            earlier, before = results(work), used(work)
            if share is None:
                with peak(work) as most:
                    code = finish(job, materials, work, log, variant=_SECOND)
                if code:
                    raise RuntimeError(log.read_text('utf-8')[-3000:])
                expected, left = results(work), temporary_files(work)
                need = most[0] - before
                continue
            resize(before + int(share * need))
            shown = log.stat().st_size
            code = finish(job, materials, work, log, variant=_SECOND)
            text = log.read_bytes()[shown:].decode('utf-8', 'replace')
            if results(work) != expected or code:
                counts['full disks'] += 1
                how = complaint(text)
                counts[how] += 1
                if how == 'traceback':
                    print(f'{job.name}, {share:.0%} of the room:',
                          text[-2000:], file=sys.stderr)  # yapf: disable
            ours, of_host = torn_files(work)
            counts['torn'] += len(ours)
            counts['mixed'] += is_mixed(results(work), earlier)
            for path in of_host:
                path.unlink()  # docs/limits.md: it takes them for whole
            resize(_PLENTY)
            code = finish(job, materials, work, log, True, _SECOND)
            counts['resumed'] += not code
            found = results(work)
            lost = expected.keys() - found
            changed = [name for name in expected.keys() & found
                       if found[name] != expected[name]]  # yapf: disable
            remains = [n for n in temporary_files(work) if n not in left]
            counts.update({
                'lost': len(lost),
                'changed': len(changed),
                'temporary files': len(remains)
            })
            if code or ours or lost or changed or remains:
                print(
                    f'{job.name}, {share:.0%} of the room: exit code {code};'
                    f' torn {ours}, lost {sorted(lost)}, changed {changed},'
                    f' temporary {remains}',
                    file=sys.stderr)
    return counts


def is_mixed(found: dict[str, bytes], earlier: dict[str, bytes]) -> bool:
    """Whether an earlier predictor stands beside files of a later run."""
    name = 'predictor.safetensors'
    return (name in earlier and found.get(name) == earlier[name]
            and any(found[other] != earlier.get(other) for other in found
                    if not other.startswith('states')))  # yapf: disable


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--jobs', nargs='+', choices=JOBS, default=list(JOBS))
    parser.add_argument(
        '--shares',
        nargs='+',
        type=float,
        default=SHARES,
        help='room on the disks, as shares of what a job needs')
    parser.add_argument(
        '--empty', action='store_true', help='no earlier variant is there')
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    args = parse_args(argv)
    if os.geteuid():
        print('Only root may mount a disk in memory: nothing was tried.')
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for job in args.jobs:
            folder = Path(name, job.replace(' ', ''))
            folder.mkdir()
            counts = count_full_disks(JOBS[job], args.shares, args.empty,
                                      folder)
            rows.append((job, *(counts[column] for column in COLUMNS)))
    print(tabulate(rows, ('job', *COLUMNS), tablefmt='github'))
    bad = ('traceback', 'torn', 'mixed', 'lost', 'changed', 'temporary files')
    return int(any(row[1 + COLUMNS.index(c)] for row in rows for c in bad))


if __name__ == '__main__':
    sys.exit(main())
