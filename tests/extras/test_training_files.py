"""The files of a training."""
import csv

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import Uniform
from csv_plugin.core.training import TrainingCurve
from csv_plugin.extras import training_files
from csv_plugin.extras.training_files import (AFTER, BEFORE, CURVE_COLUMNS,
                                              write_curve, write_training)
from csv_plugin.io.collection import Collection
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import ModelInfo
from tests.runs import FITTED, model_losses, train, true_accuracy

SKILLS = {**FITTED, 'new-1': .3, 'new-2': 1.7}
CURVE = TrainingCurve(('easy',), np.arange(2), 'step', np.ones((2, 1)),
                      np.ones((2, 1)), np.array([1]))  # yapf: disable


@pytest.fixture(scope='module')
def predictors():
    return {'salience': train(), 'uniform': train(solver=Uniform())}


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
    for name in ('capability', 'convergence', 'methods', 'training_curve'):
        monkeypatch.setattr(
            training_files,
            f'{name}_picture',
            lambda data, name=name: seen.setdefault(name, data))
    monkeypatch.setattr(training_files, 'save',
                        lambda figure, path: path.write_text('picture'))
    return seen


def names(folder):
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob('*')
        if path.is_file())


def files(*pictures, curve=True):
    return sorted([
        'in_sample.csv', 'leaderboard.md', 'predictions.csv',
        'predictor.safetensors', 'report.md', *['training_curve.csv'] * curve,
        *(f'pictures/{name}.{ending}' for name in pictures
          for ending in ('png', 'svg'))
    ])  # yapf: disable


def test_all_files_of_a_training(tmp_path, predictors, losses, drawn):
    said = write_training(tmp_path, predictors, losses,
                          collection(losses.models), CURVE, 'python a.py --b',
                          ('mixed', ))
    assert said.startswith('2 models predicted from 16\n\nbenchmark ')
    assert 'mean of 2 by salience' in said and 'by uniform' in said
    assert names(tmp_path) == files('capability', 'convergence', 'methods',
                                    'training_curve')
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


def test_pictures_show_the_loss_before_and_the_score_after(
        tmp_path, predictors, losses, drawn):
    write_training(tmp_path, predictors, losses, collection(losses.models),
                   CURVE, '')
    (before, uniform), (after, salience) = drawn['convergence']
    assert (before, after) == (BEFORE, AFTER)
    assert drawn['capability'] is salience
    assert drawn['training_curve'] is CURVE
    assert drawn['methods'].methods == ('salience', 'uniform')
    for points, name in ((uniform, 'uniform'), (salience, 'salience')):
        assert [part.benchmark for part in points] == ['easy', 'hard']
        features = predictors[name].features(losses)
        for part, benchmark in zip(points, predictors[name].benchmarks):
            np.testing.assert_allclose(part.scores,
                                       benchmark.model.scores(features.values))


def test_a_table_of_the_steps(tmp_path):
    nan = np.nan
    curve = TrainingCurve(('a,b', 'c'), np.arange(3), 'step',
                          np.array([[.1, .2], [1 / 3, .4], [nan, .6]]),
                          np.array([[.7, .8], [.9, nan], [nan, .2]]),
                          np.array([1, 2]))  # yapf: disable
    write_curve(tmp_path / 'c.csv', curve)
    with (tmp_path / 'c.csv').open(encoding='utf-8', newline='') as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0]) == CURVE_COLUMNS == (
        'benchmark', 'step', 'train_mse', 'held_out_mse', 'kept')
    # A benchmark ends where it stopped; the cell is empty where no model
    # was held out.
    assert rows[1:] == [
        ['a,b', '0', '0.1', '0.7', '0'],
        ['a,b', '1', repr(1 / 3), '0.9', '1'],
        ['c', '0', '0.2', '0.8', '0'],
        ['c', '1', '0.4', '', '0'],
        ['c', '2', '0.6', '0.2', '1'],
    ]
