"""Losses and fits of tiny models, number by number."""
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.dumping import score
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.loading import load_causal_lm, load_tokenizer
from csv_plugin.lm.methods import fit
from csv_plugin.lm.tokens.tokenization import target_tokens
from tests.core.training_worlds import (FAMILIES, FITTED, OTHERS, TEXTS,
                                        make_training_world)
from tests.kept_numbers import check_numbers

#: Tiny models of random weights depend on the version of torch.
SCORING_LM = (load_causal_lm(shipped.SCORING_LM, dtype='float32'),
              load_tokenizer(shipped.SCORING_TOKENIZER))
DUMPS, ACCURACIES = make_training_world(target_tokens(SCORING_LM[1], TEXTS))
#: Forward passes are in 32 bits.
SHARE = 1e-4


def test_token_losses():
    texts = read_texts(shipped.TEXTS).texts[:3]
    dump = score(*SCORING_LM, TextSet(texts), 'zoo')['zoo']
    check_numbers('losses', [text.losses for text in dump.texts], SHARE)


def results(*arguments):
    predictor = fit(DUMPS, ACCURACIES.select(FITTED), FAMILIES, *arguments)
    part, = predictor.benchmarks
    return {
        'error': part.error,
        'expected_error': part.expected_error,
        'notes': part.notes,
        'weights': predictor.token_weights('sums'),
        'predictions': list(predictor.predict(DUMPS.select(OTHERS)).records()),
    }


def test_salience():
    check_numbers('train_salience', results('salience', SCORING_LM), SHARE)


def test_paper():
    settings = HeadSettings(learning_rate=.1, n_steps=8)
    check_numbers('train_paper',
                  results('paper', SCORING_LM, FITTED[8:], settings), SHARE)
