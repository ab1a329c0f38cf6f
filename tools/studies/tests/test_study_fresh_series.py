"""A fresh series from its number to its errors, without the hours between."""
from types import SimpleNamespace

import pytest
from mmengine.config import Config

from csv_plugin.cli import run_demo
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from tools.studies import study_fresh_series as script
from tools.studies.tests.fresh_run import write_run
from tools.studies.zoo.recipes import fresh_series


def returning(code, commands):
    """A stand-in for `subprocess` that notes commands."""

    def run(command, env):
        commands.append(command)
        return SimpleNamespace(returncode=code)

    return SimpleNamespace(run=run)


@pytest.mark.long
@pytest.mark.host
def test_from_number_to_errors(tmp_path, monkeypatch, capsys):
    trained, commands = [], []
    monkeypatch.setattr(
        script, 'train_models',
        lambda zoo, models, recipe, jobs: trained.append((models, zoo)))

    def run(command, env):
        commands.append(command)
        write_run(tmp_path / 'fresh/collect/20260101_000000',
                  read_collection(shipped.COLLECTION))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(run_demo, 'subprocess', SimpleNamespace(run=run))
    (tmp_path / 'fresh').mkdir()
    assert script.main(
        ['--numbers', '7', '--sizes', 's', '--out',
         str(tmp_path / 'fresh')]) == 0
    assert trained == [(('z7-s', ), tmp_path / 'fresh/zoo')]
    config = Config.fromfile(commands[0][3])
    assert [model['abbr'] for model in config.models] == [
        f'z7-s@{percent}' for percent in (10, 20, 35, 50, 65, 80, 100)
    ]
    assert config.models[0]['path'].endswith('fresh/zoo/z7/s/10')
    assert commands[0][4:] == ['--work-dir', str(tmp_path / 'fresh/collect')]
    printed = capsys.readouterr().out
    series = fresh_series(7)
    kind, size = series.tokenizer.kind, series.tokenizer.vocab_size
    assert f'{kind} tokenizer of {size} ' in printed
    for method in ('auto', 'all-token loss'):
        assert f'\n{method}\n' in printed
    assert printed.count('| mean ') == 2
    # What was interrupted goes on.
    monkeypatch.setattr(run_demo, 'subprocess', returning(0, commands))
    assert script.main(
        ['--numbers', '7', '--sizes', 's', '--out',
         str(tmp_path / 'fresh')]) == 0
    assert commands[1][-2:] == ['-r', 'latest']
