"""The files of a training."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.extras import training_files
from csv_plugin.extras.training_files import write_training
from csv_plugin.io.collection import Collection
from csv_plugin.io.files import write_text
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.lm.methods import fit
from tests.extras.pictures.samples import some_steps
from tests.runs import FITTED, TEXTS, dump, model_losses, true_accuracy

SKILLS = {**FITTED, 'new-1': .3, 'new-2': 1.7}


@pytest.fixture(scope='module')
def collection() -> Collection:
    """Losses and accuracies of the training models and two others."""
    return collection_of(SKILLS)


def collection_of(skills) -> Collection:
    models = tuple(skills)
    values = np.array(
        [[true_accuracy(skills[m]),
          true_accuracy(skills[m] - 1)] for m in models])
    return Collection(
        ModelLosses(TEXTS, {
            m: dump(m, model_losses(skill))
            for m, skill in skills.items()
        }),
        AccuracyTable(models, ('easy', 'hard'), values, np.zeros(2),
                      np.zeros(2, int)), {
                          m: ModelInfo(f'family-{i % 4}',
                                       'train' if m in FITTED else 'test', 1)
                          for i, m in enumerate(models)
                      })


@pytest.fixture(scope='module')
def predictors(collection):
    data = (collection.losses, collection.accuracies.select(tuple(FITTED)),
            collection.families)
    return {'salience': fit(*data), 'mean-loss': fit(*data, 'mean-loss')}


@pytest.fixture
def drawn(monkeypatch):
    """What pictures are made of, in place of pictures."""
    seen = {}
    for name in ('capability', 'methods', 'steps'):
        monkeypatch.setattr(
            training_files,
            f'{name}_picture',
            lambda data, *more, name=name: seen.setdefault(name, data))
    monkeypatch.setattr(training_files, 'save',
                        lambda figure, path: write_text(path, 'picture'))
    return seen


def test_steps_are_written_and_removed(tmp_path, predictors, collection,
                                       drawn):
    """A later training by another method leaves none of an earlier one."""
    steps = some_steps()
    write_training(
        tmp_path, predictors, collection, 'python a.py', steps=steps)
    lines = (tmp_path / 'steps.csv').read_text('utf-8').splitlines()
    assert lines[0] == ('benchmark,step,mse_training,mse_validation,mse_test')
    # The first benchmark stopped half-way.
    assert len(lines) == 1 + 20 + 40
    benchmark, step, *errors = lines[1 + 20 + 7].split(',')
    assert (benchmark, step) == ('other', '7')
    np.testing.assert_allclose([*map(float, errors)], [
        steps.mse(split)[7, 1] for split in ('training', 'validation', 'test')
    ])
    assert drawn['steps'] is steps
    assert (tmp_path / 'pictures/steps.png').exists()
    write_training(tmp_path, predictors, collection, 'python a.py')
    assert not (tmp_path / 'steps.csv').exists()
    assert not (tmp_path / 'pictures/steps.png').exists()


def test_all_files_of_a_training(tmp_path, predictors, collection, drawn):
    said = write_training(tmp_path, predictors, collection, 'python a.py --b',
                          ('mixed.', ))
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
    np.testing.assert_allclose(
        saved.weights('easy'), predictors['salience'].weights('easy'))
    expected = predictors['salience'].predict(
        collection.losses).values.ravel().tolist()
    for name, split, values in (('in_sample', 'train', expected[:32]),
                                ('predictions', 'test', expected[32:])):
        lines = (tmp_path / f'{name}.csv').read_text('utf-8').splitlines()
        assert [float(line.split(',')[4]) for line in lines[1:]] == values
        assert {line.split(',')[2] for line in lines[1:]} == {split}
    assert drawn['methods'].methods == ('salience', 'mean-loss')
    assert [part.benchmark for part in drawn['capability']] == ['easy', 'hard']
    assert drawn['capability'][0].models == tuple(SKILLS)


def test_a_training_on_all_models_shows_errors_of_families_left_out(
        tmp_path, predictors, drawn):
    """There is no table of errors, and an earlier leaderboard is removed."""
    write_text(tmp_path / 'leaderboard.md', 'old')
    said = write_training(tmp_path, predictors, collection_of(FITTED),
                          'python a.py')
    assert said.startswith('Fitted to 16 models\n\nMean absolute error of '
                           'families left out: ')
    for absent in ('of mean loss', 'mean of', 'held-out', 'benchmark '):
        assert absent not in said
    assert not (tmp_path / 'leaderboard.md').exists()
    report = (tmp_path / 'report.md').read_text('utf-8')
    assert report.startswith('# Fitted to 16 models\n')
    assert 'methods' not in drawn
