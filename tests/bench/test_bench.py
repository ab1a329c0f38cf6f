"""The benchmark scripts run, at sizes that say nothing about speed."""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run(script: str, *options: str) -> str:
    """What a script prints; it must succeed."""
    process = subprocess.run(
        [sys.executable, str(HERE / script), *options],
        capture_output=True,
        text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_token_losses_are_measured_beside_others():
    printed = run('bench_token_losses.py', '--sizes', 'smoke', '--texts', '2')
    for contender in ('csv_plugin', 'one text at a time', 'OpenCompass',
                      'lm-eval', 'minicons'):
        assert f'\n| {contender}' in printed


def test_head_training_is_measured():
    printed = run('bench_head_training.py', '--tokens', '600', '--width', '8',
                  '--models', '20', '--benchmarks', '2', '--steps', '3')
    assert 'one step by autograd' in printed
    assert 'exact solution after Phi' in printed
    assert '300 steps in torch.bfloat16' in printed
