"""OpenCompass as a process of its own, on one thread a task."""
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from csv_plugin.core.conventions import InputError


def check_opencompass(*paths: Path) -> None:
    """See that OpenCompass can start its tasks.

    Args:
        paths (Path): That its command will name.

    Raises:
        ModuleNotFoundError: It is not installed.
        InputError: A path has a space.
    """
    if find_spec('opencompass') is None:
        raise ModuleNotFoundError(name='opencompass')
    for path in (os.getcwd(), sys.executable, *map(str, paths)):
        if ' ' in path:
            raise InputError(
                path, 'a path without spaces, from which alone '
                'OpenCompass can start its tasks', 'a space',
                'Go to another folder, or install the package elsewhere.')


def run_opencompass(config: Path, work_dir: Path, *options: str) -> None:
    """Run OpenCompass to its end.

    Args:
        config (Path): The config.
        work_dir (Path): Folder of its runs.
        options (str): Others of its command line.

    Raises:
        ModuleNotFoundError: As in `check_opencompass`.
        InputError: As there.
        SystemExit: It ends with an error.
    """
    check_opencompass(config, work_dir)
    command = [sys.executable, '-m', 'opencompass.cli.main', str(config)]
    command += ['--work-dir', str(work_dir), *options]
    # Small models are fastest on one thread each.
    environment = {'OMP_NUM_THREADS': '1', **os.environ}
    process = subprocess.run(command, env=environment)
    if process.returncode:
        raise SystemExit(process.returncode)
