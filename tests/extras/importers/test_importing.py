"""Every program by its name, and what predictors make of its losses."""
import pytest

import csv_plugin as cp
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped
from tests.extras.importers.outputs import (ANSWERS, LIGHTEVAL, LM_EVAL,
                                            MODELS, TEXTS)


def test_every_source_by_its_name():
    texts = cp.read_texts(TEXTS)
    folders = {model: LM_EVAL / model for model in MODELS}
    seen = []

    def progress(models):
        seen.extend(models)
        return models

    table = cp.import_losses('lm-eval', folders, texts, progress)
    assert table.models == MODELS == tuple(seen)
    answers = cp.import_losses('completions', [ANSWERS], texts)
    assert answers.models == ('c-l-80', )
    assert answers.values[0] == pytest.approx(table.values[0], rel=1e-6)
    items = cp.import_losses('lighteval',
                             [LIGHTEVAL / model for model in MODELS])
    assert items.models == MODELS and len(items.columns.units) == 4


def test_wrong_calls():
    texts = cp.read_texts(TEXTS)
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


def test_a_predictor_of_tokens_refuses_sums():
    predictor = cp.load(shipped.PREDICTOR)
    for table in (cp.import_losses('lm-eval', [LM_EVAL / 'd-s-100'],
                                   cp.read_texts(TEXTS)),
                  cp.import_losses('lighteval', [LIGHTEVAL / 'd-s-100'])):
        with pytest.raises(InputError, match='token losses'):
            predictor.predict(table)
