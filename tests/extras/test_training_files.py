"""The files of a training."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import MeanLoss
from csv_plugin.extras import training_files
from csv_plugin.extras.training_files import write_training
from csv_plugin.io.collection import Collection
from csv_plugin.io.files import write_text
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import ModelInfo
from tests.runs import FITTED, model_losses, train, true_accuracy

SKILLS = {**FITTED, 'new-1': .3, 'new-2': 1.7}


@pytest.fixture(scope='module')
def predictors():
    return {'salience': train(), 'mean-loss': train(solver=MeanLoss())}


@pytest.fixture(scope='module')
def losses(predictors) -> LossTable:
    return predictors['salience'].targets.table({
        model: model_losses(skill)
        for model, skill in SKILLS.items()
    })


def collection(models) -> Collection:
    values = np.array(
        [[true_accuracy(SKILLS[m]),
          true_accuracy(SKILLS[m] - 1)] for m in models])
    return Collection(
        None,
        AccuracyTable(models, ('easy', 'hard'), values, np.zeros(2),
                      np.zeros(2, int)), {
                          m: ModelInfo(f'family-{i % 4}',
                                       'train' if m in FITTED else 'test', 1)
                          for i, m in enumerate(models)
                      })


@pytest.fixture
def drawn(monkeypatch):
    """What pictures are made of, in place of pictures."""
    seen = {}
    for name in ('capability', 'methods'):
        monkeypatch.setattr(
            training_files,
            f'{name}_picture',
            lambda data, name=name: seen.setdefault(name, data))
    monkeypatch.setattr(training_files, 'save',
                        lambda figure, path: write_text(path, 'picture'))
    return seen


def test_all_files_of_a_training(tmp_path, predictors, losses, drawn):
    said = write_training(tmp_path, predictors, losses,
                          collection(losses.models), 'python a.py --b',
                          ('mixed', ))
    assert said.startswith('2 models predicted from 16\n\nbenchmark ')
    assert 'mean of 2 by salience' in said and 'by mean-loss' in said
    assert sorted(path.name for path in tmp_path.rglob('*.*')) == [
        'capability.png', 'capability.svg', 'in_sample.csv', 'leaderboard.md',
        'methods.png', 'methods.svg', 'predictions.csv',
        'predictor.safetensors', 'report.md'
    ]
    report = (tmp_path / 'report.md').read_text('utf-8')
    assert '2 models predicted from 16' in report
    assert 'python a.py --b' in report and '\n* mixed.\n' in report
    board = (tmp_path / 'leaderboard.md').read_text('utf-8')
    assert all(name in board for name in ('new-1', 'new-2'))
    assert 'fit-1' not in board
    # The first method is the one that is kept.
    saved = load_predictor(tmp_path / 'predictor.safetensors')
    assert saved.benchmarks[0].solver == 'ridge'
    expected = predictors['salience'].predict(losses).values.ravel().tolist()
    for name, split, values in (('in_sample', 'train', expected[:32]),
                                ('predictions', 'test', expected[32:])):
        lines = (tmp_path / f'{name}.csv').read_text('utf-8').splitlines()
        assert [float(line.split(',')[4]) for line in lines[1:]] == values
        assert {line.split(',')[2] for line in lines[1:]} == {split}
    assert drawn['methods'].methods == ('salience', 'mean-loss')
    features = predictors['salience'].features(losses)
    for part, benchmark in zip(
            drawn['capability'], predictors['salience'].benchmarks,
            strict=True):  # yapf: disable
        np.testing.assert_allclose(part.scores,
                                   benchmark.model.scores(features.values))
