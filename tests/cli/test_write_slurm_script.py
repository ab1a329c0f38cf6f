"""The script for Slurm, which the shell reads as it is meant."""
import subprocess
from pathlib import Path

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.cli.score_models import numbered_part

pytest.importorskip('jinja2')

LOSSES = ['--', '--models', 'my list', '--texts', 'texts.jsonl', '--out', 'o']


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*options, losses=LOSSES):
    return main(['slurm', *options, '--out', 'x.sbatch', *losses])


def test_a_script_with_placeholders(folder, capsys):
    assert write('--tasks', '8') == 0
    script = Path('x.sbatch').read_text()
    assert '#SBATCH --array=0-7\n#SBATCH --output="o/logs/%A_%a.log"\n' in (
        script)
    assert '#SBATCH --requeue\n# If your cluster asks' in script
    for line in ('partition=PARTITION', 'account=ACCOUNT', 'gpus=1',
                 'time=HH:MM:SS'):
        assert f'\n##SBATCH --{line}\n' in script
    assert (folder / 'o/logs').is_dir()
    assert capsys.readouterr().out.endswith('sbatch x.sbatch\n')


def test_a_script_that_is_ready():
    assert write('--tasks', '8', '--at-once', '4', '--partition', 'p',
                 '--account', 'a', '--gpus', '2', '--time', '1:00') == 0
    script = Path('x.sbatch').read_text()
    assert '##' not in script
    assert '--array=0-7%4\n' in script
    assert '\n#SBATCH --partition=p\n#SBATCH --account=a\n' in script


def test_the_command_of_a_task(monkeypatch):
    monkeypatch.setattr('sysconfig.get_path', lambda name: '/env of mine')
    assert write('--tasks', '1') == 0
    script = Path('x.sbatch').read_text().replace('exec ', 'printf "%s\\n" ')
    shown = subprocess.run(['sh'], input=script, capture_output=True,
                           text=True, check=True)  # yapf: disable
    assert shown.stdout.splitlines() == [
        '/env of mine/salience', 'losses', *LOSSES[1:], '--shard', 'slurm'
    ]


@pytest.mark.parametrize('losses, says', [
    (['--', 'm', '--texts', 't', '--out', 'o'], 'expected --models LIST'),
    ([*LOSSES, '--shard', '1/2'], 'no --shard behind the --'),
])
def test_bad_input(folder, capsys, losses, says):
    assert write('--tasks', '1', losses=losses) == 2
    assert says in capsys.readouterr().err
    assert not list(folder.iterdir())


@pytest.mark.parametrize('task, part', [('3', (1, 4)), ('6', (4, 4))])
def test_the_part_of_a_task(monkeypatch, task, part):
    for name, value in (('ID', task), ('MIN', '3'), ('COUNT', '4')):
        monkeypatch.setenv(f'SLURM_ARRAY_TASK_{name}', value)
    assert numbered_part('slurm') == part


@pytest.mark.parametrize('task, says', [
    (None, "found 'SLURM_ARRAY_TASK_ID'"), ('x', "found invalid"),
    ('9', "found 'slurm'")])  # yapf: disable
def test_a_task_without_a_part(monkeypatch, capsys, task, says):
    for name, value in (('ID', task), ('MIN', '3'), ('COUNT', '4')):
        if value:
            monkeypatch.setenv(f'SLURM_ARRAY_TASK_{name}', value)
    with pytest.raises(SystemExit):
        main(['losses', *LOSSES[1:], '--shard', 'slurm'])
    assert says in capsys.readouterr().err
