"""Losses and trainings of tiny models, number by number."""
import pytest

from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.dumping import score
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.loading import load_causal_lm, load_tokenizer
from csv_plugin.lm.methods import train_auto, train_paper
from csv_plugin.lm.tokens.tokenization import target_tokens
from tests.core.training_worlds import (FITTED, OTHERS, TEXTS, make_training,
                                        make_training_world)
from tests.kept_numbers import check_numbers

#: Tiny models of random weights depend on the version of torch.
MODEL = load_causal_lm(shipped.SCORING_LM, dtype='float32')
TOKENIZER = load_tokenizer(shipped.SCORING_TOKENIZER)
TARGETS = target_tokens(TOKENIZER, TEXTS)
#: Forward passes are in 32 bits.
SHARE = 1e-4
WORLD = DUMPS, ACCURACIES = make_training_world(TARGETS)


def test_token_losses():
    texts = read_texts(shipped.TEXTS).texts[:3]
    dump = score(MODEL, TOKENIZER, TextSet(texts), 'zoo')['zoo']
    check_numbers('losses', [text.losses for text in dump.texts], SHARE)


@pytest.fixture(scope='module')
def states():
    return hidden_states(MODEL, TOKENIZER, TEXTS.texts)


def results(predictor):
    part, = predictor.benchmarks
    return {
        'solver': part.solver,
        'cv_mse': part.cv_mse,
        'notes': part.notes,
        'weights': predictor.token_weights('sums'),
        'predictions': list(predictor.predict(DUMPS.select(OTHERS)).records()),
    }


def test_auto(states):
    training = make_training(TARGETS, WORLD)
    check_numbers('train_auto', results(train_auto(training, states)), SHARE)


def test_paper(states):
    training = make_training(TARGETS, WORLD)
    trained = train_paper(
        training,
        states,
        FITTED[8:],
        settings=HeadSettings(learning_rate=.1, n_steps=8))
    check_numbers('train_paper', results(trained), SHARE)
