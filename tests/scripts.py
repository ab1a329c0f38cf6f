"""Runs scripts of the repository, as from a shell."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def printed(module: str, *options: str) -> str:
    """What a module prints that is run with some options; it must succeed."""
    process = subprocess.run([sys.executable, '-m', module, *options],
                             cwd=ROOT,
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout
