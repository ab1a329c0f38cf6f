"""Runs of OpenCompass whose tasks and time are measured."""
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

#: Imports and last lines of a config by which OpenCompass itself makes one
#: task of all datasets, for each model and stage.
IMPORTS = '''
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask
'''
STAGES = '''
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner,
        max_num_workers=2,
        task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLEvalTask)))
'''


class HostRun(NamedTuple):
    """What a run printed, and its CPU and wall seconds with all processes."""
    printed: str
    cpu: float
    wall: float


def run_config(folder: Path, config: str) -> HostRun:
    """Run a config in a folder; exit with what it printed if it fails."""
    Path(folder, 'eval.py').write_text(config)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.time()
    done = subprocess.run(
        [sys.executable, '-m', 'opencompass.cli.main', 'eval.py'],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True)
    wall = time.time() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout)
    user = after.ru_utime - before.ru_utime
    system = after.ru_stime - before.ru_stime
    return HostRun(done.stdout, user + system, wall)
