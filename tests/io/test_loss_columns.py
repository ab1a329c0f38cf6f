"""Columns that cannot be losses are named and left out; real ones stay."""
import warnings

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.loss_columns import no_accuracies, no_losses
from csv_plugin.io.model_tables import (read_accuracies, read_loss_features,
                                        read_scores_alone)
from csv_plugin.io.tables import write_csv

MODELS = [f'm{m}' for m in range(6)]
RNG = np.random.default_rng(0)
LOSSES = {
    'wiki': 2 + RNG.random(6),
    'code': 1 + RNG.random(6),
    # An item that all models know.
    'item': 0.01 * RNG.random(6),
}


def table(folder, **columns):
    path = folder / 'losses.csv'
    rows = zip(MODELS, *map(list, columns.values()))
    write_csv(path, ['model', *columns], rows)
    return path


@pytest.mark.parametrize('name', [
    'step', 'global_step', 'train/global_step', 'steps', 'iteration', 'epoch',
    'train/epoch', 'tokens', 'n_tokens', 'tokens_b', 'num_input_tokens_seen',
    'lr', 'lr-AdamW', 'learning_rate', 'train/learning_rate', 'grad_norm',
    'flops', 'total_flos', 'params', 'params_b', 'wall_time', '_runtime',
    'throughput/device/tokens_per_second', 'Unnamed: 0', 'index'
])  # yapf: disable
def test_names_of_counts_and_settings(tmp_path, name):
    """Their values could be losses."""
    path = table(tmp_path, **LOSSES, **{name: 1.5 + RNG.random(6)})
    with pytest.warns(UserWarning, match=f"left out: '{name}' .counts"):
        assert read_loss_features(path).columns.units == tuple(LOSSES)


@pytest.mark.parametrize('values, reason', [
    (range(6), 'whole numbers'),
    ([500, 1000, 1500, 500, 1000, 1500], 'whole numbers'),
    ([0.003] * 6, 'the same for all models'),
    (1e3 * (1 + RNG.random(6)), 'far from the values of other'),
    (3e-7 * (1 + RNG.random(6)), 'far from the values of other'),
])  # yapf: disable
def test_values_that_are_no_losses(tmp_path, values, reason):
    path = table(tmp_path, x=values, **LOSSES)
    with pytest.warns(UserWarning, match=f"left out: 'x' .{reason}"):
        assert read_loss_features(path).columns.units == tuple(LOSSES)


@pytest.mark.parametrize('name', [
    'c4', 'steps_corpus', 'bits_per_byte', 'val_loss', 'loss_per_token',
    'train/loss', 'wiki/Time', 'step-by-step', 'perplexity', 'mmlu', 't000',
    'id', '17', 'step 步'
])
def test_names_of_losses(name):
    assert not no_losses([name, 'b'], 1 + RNG.random((6, 2)))


@pytest.mark.parametrize(
    'header',
    [
        # As public trainers write them.
        'step,lr,grad_norm,dt_ms,tok_per_sec,timer_data,timer_loss,mem_gpu_mb',
        'iteration,learning_rate,elapsed_time,gpu_memory_gb,time_ms,elapsed_s',
        'step,step_time_ms,tokens_per_second,wall_clock,lr_encoder,lr-Adam',
        'epoch,time_taken,time_elapsed,tokens,num_tokens,total_tokens_seen',
    ])
def test_logs_of_trainers(header):
    names = header.split(',')
    columns = [*names, 'train_loss', 'val_loss', 'perplexity']
    values = 1 + RNG.random((2, len(columns)))
    assert [*no_losses(columns, values)] == names


def test_real_losses_stay():
    """Items from almost 0 to sums of documents; toy tables; one model."""
    items = np.geomspace(1e-4, 5e3, 40) * (1 + RNG.random((6, 40)))
    names = [f'item {k}' for k in range(40)]
    assert not no_losses(names, items)
    assert not no_losses(names[:2], np.array([[2, 3], [1, 2.5], [3, 4], [2, 4]
                                              ]))
    assert not no_losses(names[:2], np.array([[.001, 3.5]]))
    assert not no_losses(names[:2], np.array([[.001, 2]] * 6) + items[:, :2])
    assert not no_losses(names[:2], np.ceil(items[:, -2:]))
    # A file of zeros and one that is not finite have errors of their own.
    assert not no_losses(names[:2], items[:, -2:] * [1, 0])
    assert not no_losses(names[:2], items[:, -2:] * [1, np.inf])


def test_a_column_of_zeros_is_kept_and_named(tmp_path):
    path = table(tmp_path, **LOSSES, known=[0] * 6)
    with pytest.warns(UserWarning, match="0 for all models are kept: 'known'"):
        read = read_loss_features(path)
    assert read.columns.units == (*LOSSES, 'known')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        read_loss_features(path, ['wiki', 'known'])
        # One zero is nothing to speak of.
        read_loss_features(table(tmp_path, **LOSSES, item2=[0] * 5 + [.1]))


def test_columns_that_a_predictor_needs_are_kept(tmp_path):
    """It was fitted to them, and others are not read."""
    path = table(tmp_path, step=range(6), **LOSSES)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        read = read_loss_features(path, ['wiki', 'code'])
        assert read.columns.units == ('wiki', 'code')
        read = read_loss_features(path, ['wiki', 'step'])
    assert read.values[:, 1].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_table_of_counts_alone(tmp_path):
    with pytest.raises(
            InputError, match="columns of losses, found only 'step"):
        read_loss_features(table(tmp_path, step=range(6), tokens=range(6)))


def test_accuracies_among_losses_and_measures_among_accuracies(tmp_path):
    scores = ['arc_acc', 'arc_acc_norm', 'exact_match', 'squad_f1', 'wmt_bleu']
    assert [*no_losses([*scores, 'wiki'], np.full((2, 6), .5))] == scores
    # Losses of more than 1 nat are no accuracies.
    assert not no_losses(['arc_acc', 'wiki'], np.full((2, 2), 1.5))
    measures = [
        'perplexity', 'average_ppl', 'toxicity', 'bits_per_byte', 'c4_loss',
        'step', 'tokens'
    ]
    names = [*measures, *scores, 'invppl', 'toxigen', 'passage_count']
    assert sorted(no_accuracies(names)) == sorted(measures)
    path = table(tmp_path, arc=LOSSES['item'], average_ppl=LOSSES['item'])
    benchmarks = tmp_path / 'benchmarks.csv'
    benchmarks.write_text('benchmark,chance,n_items\narc,0,9\n')
    with pytest.warns(UserWarning, match="accuracies .* 'average_ppl'"):
        assert read_accuracies(path, benchmarks).benchmarks == ('arc', )


def test_measures_among_accuracies_may_be_above_one(tmp_path):
    """As perplexities and the numbers of rows are."""
    path = table(
        tmp_path, **{
            'Unnamed: 0': range(6),
            'arc': LOSSES['item'],
            'perplexity': [12.5] * 6,
        })
    with pytest.warns(UserWarning, match="'Unnamed: 0' .* 'perplexity'"):
        assert read_scores_alone(path).benchmarks == ('arc', )


@pytest.mark.parametrize('name', [
    'mean', 'Average', 'avg', 'Average ⬆️', 'avg_acc', 'macro avg',
    'Overall score', 'mean accuracy'
])  # yapf: disable
def test_means_over_benchmarks(name):
    """They would count benchmarks twice; a mean alone may be all there is."""
    assert [*no_accuracies(['arc', 'mmlu', name])] == [name]
    assert [*no_accuracies(['arc', 'step', name])] == ['step']
    assert not no_accuracies([name])
    assert not no_accuracies(['arc', 'mmlu', f'mmlu {name}'])
