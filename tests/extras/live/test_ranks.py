"""Two ranks train as they do without predictions, and one of them writes."""
import json
import subprocess
import sys

import pytest


def run_ranks(folder):
    """What each of two ranks saw; see `tests.extras.live.ranks`."""
    subprocess.run([
        sys.executable, '-m', 'torch.distributed.run', '--standalone',
        '--nproc_per_node', '2', '-m', 'tests.extras.live.ranks',
        str(folder)
    ], check=True, timeout=300)  # yapf: disable
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
