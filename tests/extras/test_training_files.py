"""The files of a training."""
import csv
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import Uniform
from csv_plugin.core.study import Study
from csv_plugin.core.training_curve import TrainingCurve
from csv_plugin.extras import training_files
from csv_plugin.extras.capability_points import capability_points
from csv_plugin.extras.training_files import (AFTER, BEFORE, CURVE_COLUMNS,
                                              TrainingOutcome, write_curve)
from csv_plugin.io.predictors import load_predictor
from tests.runs import FITTED, model_losses, train, true_accuracy

SKILLS = {**FITTED, 'new-1': .3, 'new-2': 1.7}
SPLITS = {model: 'train' if model in FITTED else 'test' for model in SKILLS}
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


def make_outcome(predictors, losses, curve=CURVE, main=('easy', 'hard')):
    """The outcome on all models of the losses."""
    models = losses.models
    values = np.array(
        [[true_accuracy(SKILLS[m]),
          true_accuracy(SKILLS[m] - 1)] for m in models])
    accuracies = AccuracyTable(models, ('easy', 'hard'), values, np.zeros(2),
                               np.zeros(2, int))
    families = {m: f'family-{i % 4}' for i, m in enumerate(models)}
    points = [(step,
               capability_points(predictors[name], losses, accuracies,
                                 families))
              for step, name in ((BEFORE, 'uniform'), (AFTER, 'salience'))]
    return TrainingOutcome(
        Study.of(predictors, losses, accuracies), points,
        {m: SPLITS[m]
         for m in models}, main, curve)


@pytest.fixture(scope='module')
def outcome(predictors, losses) -> TrainingOutcome:
    return make_outcome(predictors, losses)


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


TABLES = ['leaderboard.md', 'predictions.csv', 'predictor.safetensors',
          'report.md']  # yapf: disable


def pictures(*kinds):
    return [f'pictures/{kind}.{ending}' for kind in kinds
            for ending in ('png', 'svg')]  # yapf: disable


def test_all_files_of_a_training(tmp_path, outcome, predictors, losses, drawn):
    said = outcome.write(tmp_path, 'python a.py --b')
    assert said.startswith('2 models predicted from 16\n\n| benchmark ')
    assert 'MSE salience' in said and 'MSE uniform' in said
    assert names(tmp_path) == sorted([
        *TABLES, 'training_curve.csv',
        *pictures('capability', 'convergence', 'methods', 'training_curve')
    ])
    report = (tmp_path / 'report.md').read_text('utf-8')
    assert '2 models predicted from 16' in report
    assert 'python a.py --b' in report
    noted = replace(outcome, remarks=('mixed', ))
    assert noted.write(tmp_path, 'python a.py --b') == said
    assert '\n* mixed.\n' in (tmp_path / 'report.md').read_text('utf-8')
    board = (tmp_path / 'leaderboard.md').read_text('utf-8')
    assert all(name in board for name in ('new-1', 'new-2'))
    assert 'fit-1' not in board
    # The first method is the one that is kept.
    saved = load_predictor(tmp_path / 'predictor.safetensors')
    assert saved.benchmarks[0].solver == 'ridge'
    lines = (tmp_path / 'predictions.csv').read_text('utf-8').splitlines()
    expected = predictors['salience'].predict(losses)
    assert len(lines) == 1 + 2 * len(SKILLS)
    assert [float(line.split(',')[4])
            for line in lines[1:]] == expected.values.ravel().tolist()
    assert [line.split(',')[2] for line in lines[1::2]] == [
        'train'] * 16 + ['test'] * 2  # yapf: disable


def test_pictures_show_the_loss_before_and_the_score_after(
        tmp_path, outcome, predictors, losses, drawn):
    outcome.write(tmp_path, '')
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


@pytest.mark.parametrize('curve', [None, CURVE])
def test_without_a_curve_or_models_to_predict(tmp_path, predictors, losses,
                                              drawn, curve):
    fitted = make_outcome(predictors, losses.select(tuple(FITTED)), curve)
    said = fitted.write(tmp_path, '')
    assert said.startswith('0 models predicted from 16\n')
    kinds = [
        'capability', 'convergence', *(['training_curve'] if curve else [])
    ]
    assert names(tmp_path) == sorted([
        *TABLES, *(['training_curve.csv'] if curve else []), *pictures(*kinds)
    ])


def test_the_predictor_is_written_last(tmp_path, outcome, drawn, monkeypatch):
    """With the predictor there is all the rest; a failure leaves none."""

    def full(figure, path):
        raise OSError('disk full')

    monkeypatch.setattr(training_files, 'save', full)
    with pytest.raises(OSError, match='disk full'):
        outcome.write(tmp_path, '')
    assert not (tmp_path / 'predictor.safetensors').exists()


@pytest.mark.slow
def test_real_pictures(tmp_path, outcome):
    replace(outcome, curve=None).write(tmp_path, '')
    for path in (tmp_path / 'pictures').iterdir():
        start = path.read_bytes()[:60]
        assert start.startswith(b'\x89PNG' if path.suffix ==
                                '.png' else b'<?xml')


def test_what_an_earlier_training_left_is_removed(tmp_path, outcome, drawn,
                                                  monkeypatch):
    """First of all the predictor: it never stands beside other tables."""
    left = [
        tmp_path / name
        for name in ('predictor.safetensors', 'training_curve.csv',
                     'pictures/methods.png', 'pictures/methods.svg')
    ]
    (tmp_path / 'pictures').mkdir()
    for path in left:
        path.write_text('old')

    def failing(*_):
        raise OSError('full')

    monkeypatch.setattr(training_files, 'write_predictions', failing)
    with pytest.raises(OSError):
        replace(outcome, curve=None).write(tmp_path, 'x')
    assert not any(path.exists() for path in left)


def test_benchmarks_of_no_mean(tmp_path, outcome, drawn):
    printed = replace(outcome, main=('hard', )).write(tmp_path, 'x')
    assert 'mean of 1 ' in printed


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
