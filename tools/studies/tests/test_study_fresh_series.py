"""A fresh series from its number to its errors, without the hours between."""
from types import SimpleNamespace

import numpy as np
import pytest
from mmengine.config import Config

from csv_plugin.cli import run_demo
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import load_predictor
from tools.studies import study_fresh_series as script
from tools.demo_maker import world
from tools.studies.tests.fresh_run import NAMES, write_run
from tools.demo_maker.recipes import fresh_series


@pytest.fixture(scope='module')
def collection():
    return read_collection(shipped.COLLECTION)


@pytest.fixture(scope='module')
def run(collection, tmp_path_factory):
    return write_run(tmp_path_factory.mktemp('run'), collection)


@pytest.mark.slow
def test_errors_of_the_shipped_baseline(run, collection):
    baseline = load_predictor(shipped.BASELINE)
    errors = script.read_fresh_series([run], ['z7-s']).errors(baseline)
    real = collection.accuracies.select(NAMES)
    predicted = baseline.predict(collection.losses.select(NAMES))
    assert len(errors) == len(world.KINDS) + 1
    for row, exam in zip(errors, world.KINDS):
        column = real.values[:, real.benchmarks.index(exam)]
        cells = [predicted.at(name, exam) for name in NAMES]
        gaps = np.array([cell.value for cell in cells]) - column
        part = baseline.benchmark(exam)
        inside = [
            cell.low <= value <= cell.high
            for cell, value in zip(cells, column)
        ]
        expected = [
            1e3 * part.error**2, 1e3 * part.expected_error**2,
            1e3 * np.mean(gaps**2),
            np.mean(gaps**2) / part.error**2, 100 * np.mean(abs(gaps)),
            np.mean(inside), 100 * np.mean([c.high - c.low for c in cells])
        ]  # yapf: disable
        np.testing.assert_allclose(row, expected)


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
    for method in ('one model', 'mean loss'):
        assert f'\n{method}\n' in printed
    assert printed.count('| mean ') == 2
    # What was interrupted goes on.
    monkeypatch.setattr(run_demo, 'subprocess', returning(0, commands))
    assert script.main(
        ['--numbers', '7', '--sizes', 's', '--out',
         str(tmp_path / 'fresh')]) == 0
    assert commands[1][-2:] == ['-r', 'latest']
