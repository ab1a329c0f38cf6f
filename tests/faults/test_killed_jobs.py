"""A job that is killed at any moment, and one on a full disk."""
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tables import small_tables, write_tables

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, seed: int, **options) -> subprocess.Popen:
    """A fit to the tables of a folder, whose outcome depends on the seed."""
    with open(folder / 'log', 'w') as log:
        return subprocess.Popen([
            sys.executable, '-c',
            'from csv_plugin.cli.salience import main; exit(main())', 'fit',
            '--fit', 'train', '--out', 'out', '--seed',
            str(seed), *(folder / 'options').read_text('utf-8').split('\n')
        ],
                                cwd=folder,
                                env={
                                    **os.environ, 'OMP_NUM_THREADS': '1',
                                    'PYTHONPATH': str(ROOT)
                                },
                                stdout=log,
                                stderr=log,
                                **options)


@pytest.fixture
def folder(tmp_path):
    """Tables to fit to, and what a fit with the seed 0 has left."""
    tables = small_tables(n_models=20, n_units=9).only('easy', 'hard')
    splits = {model: 'train' for model in tables.models}
    splits |= dict.fromkeys(tables.models[::4], 'test')
    options = write_tables(tmp_path, tables, splits)
    (tmp_path / 'options').write_text('\n'.join(map(str, options)), 'utf-8')
    assert start(tmp_path, 0).wait() == 0
    return tmp_path


def results(folder: Path) -> dict[str, bytes]:
    """What a fit wrote, but for temporary files of one that was killed."""
    return {
        path.name: path.read_bytes()
        for path in (folder / 'out').glob('[!.]*')
    }


def test_a_killed_fit_leaves_whole_files_and_ends_like_an_unbroken_one(folder):
    earlier = results(folder)
    begin = time.monotonic()
    assert start(folder, 1).wait() == 0
    duration = time.monotonic() - begin
    later = results(folder)
    assert later.keys() == earlier.keys() and later != earlier
    for part in (.9, 1):
        for name, data in earlier.items():
            (folder / 'out' / name).write_bytes(data)
        process = start(folder, 1)
        time.sleep(part * duration)
        process.kill()
        process.wait()
        left = results(folder)
        assert left == earlier or left.items() <= later.items()
    assert start(folder, 1).wait() == 0
    assert results(folder) == later


def test_a_file_that_finds_no_room_is_told_in_one_line(folder):
    """Files may have too few bytes, as with `ulimit -f`."""
    earlier = results(folder)
    most = len(earlier['predictor.safetensors']) // 2

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    assert start(folder, 1, preexec_fn=limit).wait() == 2
    said = (folder / 'log').read_text('utf-8')
    assert 'predictor.safetensors: expected a file that can be written' in said
    assert 'Traceback' not in said
    assert results(folder) == earlier
