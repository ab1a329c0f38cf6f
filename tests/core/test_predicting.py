"""Several predictors on the dumps of models: predictions, or reasons."""
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.predicting import (collect_features, fitted_benchmarks,
                                        predict_models, result_or_missing)
from csv_plugin.core.predictions import UNKNOWN_BENCHMARK, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.runs import run_dumps
from csv_plugin.io.runs.run_dumps import dataset_abbr, read_run_dump
from tests.runs import (FITTED, OTHER_TEXTS, TEXTS, dump, model_losses, train,
                        write_losses, write_run)

MODELS = {'new': 1.1, 'fit-4': FITTED['fit-4'], 'far': 9.0}


@pytest.fixture(scope='module')
def predictor() -> Predictor:
    return train()


@pytest.fixture
def run(tmp_path) -> Path:
    write_run(tmp_path, MODELS)
    return tmp_path


def predicted(run, predictors, models=MODELS, progress=iter) -> Predictions:
    columns, _ = collect_features(predictors, list(models),
                                  partial(read_run_dump, run), progress)
    table, joints = predict_models(predictors, columns,
                                   fitted_benchmarks(predictors) or ('easy', ))
    for label, (models, benchmarks, joint) in joints.items():
        part = table.select(models, benchmarks, [label])
        np.testing.assert_array_equal(part.values[:, :, 0], joint.accuracies)
    return table


def test_no_predictor():
    with pytest.raises(InputError, match='a predictor or more, found none'):
        predict_models({}, {}, ('easy', ))


def test_predictions_are_those_of_the_dumps(run, predictor):
    table = predicted(run, {'p': predictor})
    assert table.methods == ('p', )
    assert table.models == tuple(MODELS)
    assert table.benchmarks == ('easy', 'hard')
    expected = predictor.predict(
        {model: dump(model, model_losses(skill))
         for model, skill in MODELS.items()})  # yapf: disable
    for model in MODELS:
        for benchmark in table.benchmarks:
            cell = table.at(model, benchmark)
            wanted = expected.at(model, benchmark)
            # Dumps are in 32 bits.
            assert cell.value == pytest.approx(wanted.value, abs=1e-5)
            assert cell.in_sample == (model == 'fit-4')
            assert cell.extrapolated == (model == 'far')


def test_one_bad_dump_leaves_the_others(run, predictor):
    name = f'{dataset_abbr(TEXTS.fingerprint)}.safetensors'
    path = run / 'predictions' / 'new' / name
    path.write_bytes(b'PAR1')
    predictors = {'p': predictor, 'q': train(('hard', ))}
    table = predicted(run, predictors, [*MODELS, 'none'])
    assert table.at('new', 'easy', 'q') == UNKNOWN_BENCHMARK
    reason = table.at('new', 'easy')
    assert reason == table.at('new', 'hard')
    assert str(path) in reason.reason
    assert 'found none' in table.at('none', 'easy').reason
    assert table.at('far', 'easy').value > 0


def test_an_unusable_predictor_leaves_the_others(run, predictor):
    bad = result_or_missing(load_predictor, run / 'bad')
    assert str(run / 'bad') in bad.reason
    table = predicted(run, {'p': predictor, 'bad': bad})
    assert table.at('new', 'hard', 'bad') == bad
    assert table.at('new', 'easy').value > 0
    assert fitted_benchmarks({
        'bad': bad,
        'hard': train(('hard', )),
        'both': predictor
    }) == ('hard', 'easy')
    # Alone, there is nothing but reasons.
    assert predicted(run, {'bad': bad}).at('far', 'easy') == bad
    with pytest.raises(ZeroDivisionError):
        result_or_missing(lambda: 1 / 0)


def test_predictors_of_two_validation_sets(run, predictor):
    predictors = {'p': predictor, 'other': train(texts=OTHER_TEXTS)}
    table = predicted(run, predictors)
    reason = table.at('new', 'easy', 'other').reason
    assert dataset_abbr(TEXTS.fingerprint) in reason
    assert dataset_abbr(OTHER_TEXTS.fingerprint) in reason
    write_losses(run, 'new', model_losses(1.1, OTHER_TEXTS), OTHER_TEXTS)
    table = predicted(run, predictors)
    assert table.at('new', 'easy', 'other').value > 0


def test_a_dump_is_read_and_mapped_once(run, predictor, monkeypatch):
    """Though predictors that were loaded have tokens of their own."""
    save_predictor(predictor, run / 'p')
    predictors = {f'p{i}': load_predictor(run / 'p') for i in range(3)}
    read, mapped = [], []
    read_dump, table = run_dumps.read_dump, TargetTokens.table
    monkeypatch.setattr(run_dumps, 'read_dump',
                        lambda path: read.append(path) or read_dump(path))
    monkeypatch.setattr(
        TargetTokens, 'table',
        lambda targets, losses: mapped.append(0) or table(targets, losses))
    seen = []
    predicted(
        run, predictors, progress=lambda names: seen.extend(names) or names)
    assert seen == list(MODELS)
    assert len(read) == len(mapped) == len(MODELS)
