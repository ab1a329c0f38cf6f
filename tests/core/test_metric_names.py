"""Which names of metrics are accuracies, as programs write them."""
import pytest

from csv_plugin.core.metric_names import (first_accuracy, is_accuracy,
                                          is_no_accuracy)

# Of OpenCompass 0.5.4, lm-evaluation-harness, lighteval and olmo-eval.
ACCURACIES = [
    'accuracy', 'Accuracy', 'acc', 'acc_norm,none', 'acc_per_token', 'score',
    'exact_match,strict-match', 'humaneval_pass@1', 'G-Pass@16_0.0', 'f1',
    'LVEval_f1', 'AverageAccuracy', 'Prompt-level-strict-accuracy',
    'accuracy (4 runs average)', 'quasi_exact_match', 'maj@8', 'naive_average',
    'total_accuracy', 'em'
]
# Of losses, harm, costs, lengths, errors and spread.
OTHERS = [
    'average_ppl', 'PPL', 'word_perplexity,none', 'bits_per_byte', 'bpc',
    'eval_loss', 'loss', 'nll', 'avg_toxicity_score', 'pct_stereotype',
    'bias_score', 'latency', 'average_time', 'output_token_throughput',
    'tokens_per_second', 'average_length', 'invalid_count', 'num_correct',
    'error_rate', 'WER', 'RMSE', 'brier_score', 'ece', 'edit_distance',
    'acc_stderr', 'accuracy_loss', 'score_std', 'standard_deviation', 'sum',
    'likelihood_difference'
]
# Users may choose these.
UNKNOWN = [
    'rouge1', 'bleu', 'win_rate', 'auc_score', 'extract_rate', 'mc2', 'correct'
]


@pytest.mark.parametrize('name', ACCURACIES)
def test_accuracies(name):
    assert is_accuracy(name) and not is_no_accuracy(name)


@pytest.mark.parametrize('name', OTHERS)
def test_names_of_what_is_no_accuracy(name):
    assert is_no_accuracy(name) and not is_accuracy(name)


@pytest.mark.parametrize('name', UNKNOWN)
def test_names_that_say_neither(name):
    assert not is_accuracy(name) and not is_no_accuracy(name)


def test_the_first_accuracy():
    assert first_accuracy(['ppl', 'rouge1', 'acc', 'score']) == 'acc'
    assert first_accuracy(['ppl', 'rouge1']) is None
