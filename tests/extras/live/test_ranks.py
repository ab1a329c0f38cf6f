"""Two ranks train as they do without predictions, and one of them writes."""
import json
import os
import socket
import subprocess
import sys

import pytest


def run_ranks(folder):
    """What each of two ranks saw; see `tests.extras.live.ranks`."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    group = {
        'WORLD_SIZE': '2',
        'MASTER_ADDR': '127.0.0.1',
        'MASTER_PORT': f'{port}'
    }
    with (folder / 'log').open('w') as log:
        ranks = [
            subprocess.Popen(
                [sys.executable, '-m', 'tests.extras.live.ranks',
                 str(folder)],
                env={
                    **os.environ,
                    **group, 'RANK': rank,
                    'LOCAL_RANK': rank
                },
                stdout=log,
                stderr=log) for rank in '01'
        ]
        try:
            codes = [rank.wait(timeout=120) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    assert codes == [0, 0], (folder / 'log').read_text()
    return [json.loads((folder / f'{rank}.json').read_text()) for rank in '01']


@pytest.mark.slow
def test_two_ranks(tmp_path):
    first, second = run_ranks(tmp_path)
    for case in ('none', 'sound', 'failing'):
        for seen in (first[case], second[case]):
            assert seen['steps'] == 6
            assert seen['weights'] == first['none']['weights']
        assert second[case]['readings'] is None
        assert not second[case]['logged'] and not second[case]['closed']
        assert not second[case]['warnings']
    assert first['sound']['logged'] == [2, 4, 6, 6]
    assert first['sound']['closed'] and first['sound']['readings'] == 3
    assert not first['sound']['warnings']
    dumps = (tmp_path / 'sound' / 'losses').iterdir()
    assert sorted(path.name for path in dumps) == [
        f'run@{step}.safetensors' for step in (2, 4, 6)
    ]
    warning, = first['failing']['warnings']
    assert warning.startswith('Preparing predictions failed, training goes on')
    assert 'the whole model on one rank' in first['shared out']
