"""Imported losses train and predict like everything else."""
import numpy as np
import pytest

import csv_plugin as cp
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import text_columns
from csv_plugin.demo import shipped
from csv_plugin.io.tables import write_csv
from tests.extras.importers.outputs import (ANSWERS, LIGHTEVAL, LM_EVAL,
                                            MODELS, TEXTS,
                                            write_lm_eval_output)

NAMES = [
    f'{series}-{size}@100' for series in 'abcd' for size in ('xs', 's', 'm')
]


@pytest.fixture(scope='module')
def zoo():
    texts = cp.read_texts(shipped.TEXTS)
    some = cp.TextSet(texts.texts[::8])
    paths = [shipped.COLLECTION / f'{name}.parquet' for name in NAMES]
    accuracies = cp.read_accuracies(shipped.COLLECTION / 'scores.csv',
                                    shipped.COLLECTION / 'benchmarks.csv')
    return cp.read_dumps(paths, texts).select_texts(some), accuracies.select(
        NAMES, ['scenes'])


@pytest.fixture(scope='module')
def folders(zoo, tmp_path_factory):
    """Output of lm-evaluation-harness for models of the demonstration."""
    losses, accuracies = zoo
    root = tmp_path_factory.mktemp('lm_eval')
    for name in NAMES:
        nats = {
            text.text_id: float(text.losses.sum())
            for text in losses[name].texts
        }
        write_lm_eval_output(root / name, losses.texts, nats,
                             accuracies.to_dict()[name])
    return {name: root / name for name in NAMES}


@pytest.fixture(scope='module')
def predictor(zoo, folders):
    table = cp.import_losses('lm-eval', folders, zoo[0].texts)
    accuracies = cp.read_lm_eval_accuracies(
        folders, ['scenes'], chance={'scenes': 0.25})
    assert accuracies.to_dict() == zoo[1].to_dict()
    known = NAMES[:9]
    return cp.fit(table, accuracies.select(known),
                  {name: name[0]
                   for name in known}, 'ridge')


@pytest.mark.slow
def test_a_predictor_from_imported_losses_is_saved_and_predicts(
        zoo, folders, predictor, tmp_path):
    cp.save(predictor, tmp_path / 'p.safetensors')
    loaded = cp.load(tmp_path / 'p.safetensors')
    new = {name: folders[name] for name in NAMES[9:]}
    table = cp.import_losses('lm-eval', new, zoo[0].texts)
    predictions = loaded.predict(table)
    assert predictions.models == tuple(new)
    assert np.allclose(predictions.values, from_dumps(zoo).values, rtol=1e-6)


def from_dumps(zoo):
    """Predictions from the same losses by text, without the detour."""
    losses, accuracies = zoo
    table = losses.tokens_of(NAMES[0]).table(
        {name: losses[name].texts
         for name in NAMES})
    features = text_columns(table).features(table)
    known = NAMES[:9]
    predictor = cp.fit(features, accuracies.select(known),
                       {name: name[0]
                        for name in known}, 'ridge')
    return predictor.predict(features.select(NAMES[9:]))


@pytest.mark.slow
def test_the_same_losses_from_a_table_predict_the_same(zoo, folders, predictor,
                                                       tmp_path):
    name = NAMES[-1]
    path = tmp_path / f'{name}.csv'
    write_csv(path, ('text_id', 'nats'), ((text.text_id, text.losses.sum())
                                          for text in zoo[0][name].texts))
    table = cp.import_losses('table', [path], zoo[0].texts)
    again = cp.import_losses('lm-eval', [folders[name]], zoo[0].texts)
    assert np.allclose(
        predictor.predict(table).values,
        predictor.predict(again).values,
        rtol=1e-12)


@pytest.mark.slow
def test_a_predictor_refuses_losses_of_other_texts_and_of_answers(
        zoo, predictor):
    texts = cp.read_texts(TEXTS)
    others = cp.import_losses('lm-eval', [LM_EVAL / 'd-s-100'], texts)
    with pytest.raises(InputError, match='losses on the validation set'):
        predictor.predict(others)
    items = cp.import_losses('lighteval', [LIGHTEVAL / 'd-s-100'])
    with pytest.raises(InputError, match='losses on the validation set'):
        predictor.predict(items)
    with pytest.raises(InputError):
        predictor.predict(zoo[0].select(NAMES[:1]))


def test_every_source_by_its_name(tmp_path):
    texts = cp.read_texts(TEXTS)
    assert cp.import_losses('completions', [ANSWERS],
                            texts).models == ('c-l-80', )
    items = cp.import_losses('lighteval',
                             [LIGHTEVAL / model for model in MODELS])
    assert items.models == MODELS and len(items.columns.units) == 4
    with pytest.raises(
            InputError,
            match='completions, lighteval, lm-eval, '
            "olmo-eval, table, found 'helm'"):
        cp.import_losses('helm', [ANSWERS], texts)
    with pytest.raises(InputError, match='the texts that were scored'):
        cp.import_losses('table', [ANSWERS])
    with pytest.raises(InputError, match='Put it into a list'):
        cp.import_losses('completions', ANSWERS, texts)
    with pytest.raises(InputError, match="'c-l-80' twice"):
        cp.import_losses('completions', [ANSWERS, ANSWERS], texts)
