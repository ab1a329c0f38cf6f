"""What a training leaves behind."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.salience import Uniform
from csv_plugin.io.collection import Collection
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.report import training_files
from csv_plugin.report.pictures import TrainingCurve
from csv_plugin.report.training_files import AFTER, BEFORE, TrainingOutcome
from tests.runs import FITTED, TEXTS, model_losses, train, true_accuracy

SKILLS = {**FITTED, 'new-1': .3, 'new-2': 1.7}
CURVE = TrainingCurve(('easy', ), np.arange(2), 'step', np.ones((2, 1)),
                      np.ones((2, 1)), np.array([1]))  # yapf: disable


@pytest.fixture(scope='module')
def predictors():
    return {'salience': train(), 'uniform': train(solver=Uniform())}


@pytest.fixture(scope='module')
def collection():
    values = np.array([[true_accuracy(skill),
                        true_accuracy(skill - 1)]
                       for skill in SKILLS.values()])
    return Collection(
        TEXTS, {
            model: tuple(model_losses(skill))
            for model, skill in SKILLS.items()
        },
        AccuracyTable(
            tuple(SKILLS), ('easy', 'hard'), values, np.zeros(2),
            np.zeros(2, int)), {
                model:
                ModelInfo(f'family-{i % 4}',
                          'train' if model in FITTED else 'test', np.nan)
                for i, model in enumerate(SKILLS)
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


TABLES = ['leaderboard.md', 'predictions.csv', 'predictor.safetensors',
          'report.md']  # yapf: disable


def pictures(*kinds):
    return [f'pictures/{kind}.{ending}' for kind in kinds
            for ending in ('png', 'svg')]  # yapf: disable


def test_all_files_of_a_training(tmp_path, predictors, collection, drawn):
    outcome = TrainingOutcome(predictors, collection, CURVE)
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
    board = (tmp_path / 'leaderboard.md').read_text('utf-8')
    assert all(name in board for name in ('new-1', 'new-2'))
    assert 'fit-1' not in board
    # The first method is the one that is kept.
    saved = load_predictor(tmp_path / 'predictor.safetensors')
    assert saved.benchmarks[0].solver == 'ridge'
    lines = (tmp_path / 'predictions.csv').read_text('utf-8').splitlines()
    found = predictors['salience'].predict_losses(collection.losses,
                                                  TEXTS.fingerprint)
    assert len(lines) == 1 + 2 * len(SKILLS)
    assert [float(line.split(',')[4])
            for line in lines[1:]] == found.values.ravel().tolist()
    assert [line.split(',')[2] for line in lines[1::2]] == [
        'train'] * 16 + ['test'] * 2  # yapf: disable


def test_pictures_show_the_loss_before_and_the_score_after(
        tmp_path, predictors, collection, drawn):
    outcome = TrainingOutcome(predictors, collection, CURVE)
    outcome.write(tmp_path, '')
    (before, uniform), (after, salience) = drawn['convergence']
    assert (before, after) == (BEFORE, AFTER)
    assert drawn['capability'] is salience
    assert drawn['training_curve'] is CURVE
    assert list(drawn['methods'].predictions) == ['salience', 'uniform']
    for points, name in ((uniform, 'uniform'), (salience, 'salience')):
        assert [one.benchmark for one in points] == ['easy', 'hard']
        predictor = predictors[name]
        features = predictor.features(collection.losses, TEXTS.fingerprint)
        for one, known in zip(points, predictor.benchmarks):
            np.testing.assert_allclose(one.scores,
                                       known.model.score(features.values))


@pytest.mark.parametrize('curve', [None, CURVE])
def test_without_a_curve_or_models_to_predict(tmp_path, predictors, collection,
                                              drawn, curve):
    fitted = replace(
        collection,
        losses=collection.losses_of(tuple(FITTED)),
        accuracies=collection.accuracies.select(tuple(FITTED)),
        info={m: collection.info[m]
              for m in FITTED})
    said = TrainingOutcome(predictors, fitted, curve).write(tmp_path, '')
    assert said.startswith('0 models predicted from 16\n')
    kinds = [
        'capability', 'convergence', *(['training_curve'] if curve else [])
    ]
    assert names(tmp_path) == sorted([
        *TABLES, *(['training_curve.csv'] if curve else []), *pictures(*kinds)
    ])


def test_the_predictor_is_written_last(tmp_path, predictors, collection, drawn,
                                       monkeypatch):
    """Who finds it finds all the rest; a failure leaves no new one."""

    def full(figure, path):
        raise OSError('disk full')

    monkeypatch.setattr(training_files, 'save', full)
    outcome = TrainingOutcome(predictors, collection, CURVE)
    with pytest.raises(OSError, match='disk full'):
        outcome.write(tmp_path, '')
    assert not (tmp_path / 'predictor.safetensors').exists()


def test_real_pictures(tmp_path, predictors, collection):
    TrainingOutcome(predictors, collection, None).write(tmp_path, '')
    for path in (tmp_path / 'pictures').iterdir():
        start = path.read_bytes()[:60]
        assert start.startswith(b'\x89PNG' if path.suffix ==
                                '.png' else b'<?xml')


def test_what_an_earlier_training_left_is_removed(tmp_path, predictors,
                                                  collection, drawn,
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
        TrainingOutcome(predictors, collection, None).write(tmp_path, 'x')
    assert not any(path.exists() for path in left)


def test_benchmarks_of_no_mean(tmp_path, predictors, collection, drawn):
    side = collection.accuracies.benchmarks[:1]
    printed = TrainingOutcome(predictors, replace(collection, side=side),
                              None).write(tmp_path, 'x')
    n_main = len(collection.accuracies.benchmarks) - 1
    assert f'mean of {n_main} ' in printed
