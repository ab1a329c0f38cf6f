"""The shipped config for Slurm makes a job of every task."""
import os

import pytest
from mmengine.config import Config
from opencompass.registry import PARTITIONERS, RUNNERS
from opencompass.runners import SlurmRunner

from csv_plugin.cli.copy_configs import RUNS
from csv_plugin.configs import few_processes

#: What the command of the stage runs.
SCRIPTS = dict(
    infer='run_task SteadyInferTask', eval='run_task SteadyEvalTask')


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """A folder with the words of every call of `srun`, which runs nothing."""
    srun = tmp_path / 'bin' / 'srun'
    srun.parent.mkdir()
    srun.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/jobs\n')
    srun.chmod(0o755)
    monkeypatch.setenv('PATH', f'{srun.parent}{os.pathsep}'
                       f'{os.environ["PATH"]}')
    monkeypatch.chdir(tmp_path)
    return tmp_path / 'jobs'


@pytest.mark.slow
@pytest.mark.parametrize('stage, folder', [('infer', 'predictions'),
                                           ('eval', 'results')])
def test_every_task_is_a_job(jobs, tmp_path, stage, folder):
    config = Config.fromfile(
        str(RUNS / 'eval_csv_slurm.py'), format_python_code=False)
    config.work_dir = str(tmp_path / 'run')
    config.models[0]['run_cfg'] = dict(num_gpus=4)
    # As the command does, so that classes become their names.
    config.dump('whole.py')
    config = Config.fromfile('whole.py', format_python_code=False)
    part = config[stage]
    expected = getattr(few_processes, stage)['partitioner']['type']
    assert part.partitioner.type.endswith(f'.{expected.__name__}')
    partitioner = PARTITIONERS.build({
        **part.partitioner, 'out_dir':
        f'{config.work_dir}/{folder}/'
    })
    tasks = partitioner(config)
    runner = RUNNERS.build({
        **part.runner, 'partition': 'main',
        'debug': True,
        'retry': 0
    })
    assert isinstance(runner, SlurmRunner) and runner.max_num_workers == 32
    status = runner.launch(tasks)
    assert [code for _, code in status] == [0] * len(tasks)
    lines = jobs.read_text().splitlines()
    assert len(lines) == len(tasks) > 0
    assert all(line.startswith('-p main ') for line in lines)
    assert all(SCRIPTS[stage] in line for line in lines)
    with_gpus = [line for line in lines if '--gres=gpu:4' in line]
    assert bool(with_gpus) == (stage == 'infer')
