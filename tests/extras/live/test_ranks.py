"""Two ranks train as they do without predictions, and one of them writes."""
import json
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_two_ranks(tmp_path):
    subprocess.run([
        sys.executable, '-m', 'torch.distributed.run', '--standalone',
        '--nproc_per_node', '2', '-m', 'tests.extras.live.ranks',
        str(tmp_path)
    ], check=True, timeout=300)  # yapf: disable
    first, second = (
        json.loads((tmp_path / f'{rank}.json').read_text()) for rank in '01')
    for case in ('plain', 'predicted'):
        for seen in (first[case], second[case]):
            assert seen['steps'] == 6
            assert seen['weights'] == first['plain']['weights']
            assert seen['losses'] == first['plain']['losses']
    assert [*first['plain']['losses']] == ['2', '4', '6']
    assert [*first['predicted']['predicted']] == ['2', '4', '6']
    assert not second['predicted']['predicted']
    dumps = (tmp_path / 'predicted/losses').iterdir()
    assert sorted(path.name for path in dumps) == [
        f'run@{step}.safetensors' for step in (2, 4, 6)
    ]
