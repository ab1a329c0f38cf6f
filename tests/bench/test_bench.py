"""The benchmark scripts run, at sizes that say nothing about speed."""
import re
import sys
from importlib import import_module

import pytest

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.bench import bench_engines, bench_growth, bench_token_losses
from tests.lm.tokens.tokenizers import CORPUS
from tests.tables import small_tables, write_tables

pytestmark = pytest.mark.slow


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs a script in this process: others take long to load packages."""
    monkeypatch.setattr(bench_engines, 'measure_apart', bench_engines.measure)
    monkeypatch.setattr(bench_token_losses, 'score_apart',
                        bench_token_losses.score)

    def run(script, *options):
        monkeypatch.setattr(sys, 'argv', [script, *map(str, options)])
        import_module(f'tests.bench.{script}').main()
        return capsys.readouterr().out

    return run


def test_token_losses_are_measured_beside_others(run):
    printed = run('bench_token_losses', '--sizes', 'smoke', '--texts', 2)
    for contender in ('csv_plugin', 'one text at a time', 'OpenCompass',
                      'lm-eval', 'minicons'):
        assert f'\n| {contender}' in printed


def test_engines_are_measured_beside_transformers(run, tmp_path):
    texts = tmp_path / 'texts.jsonl'
    write_texts(texts, TextSet((Text('a', CORPUS[0]), Text('b', CORPUS[1]))))
    printed = run('bench_engines', '--texts', texts, '--only',
                  'transformers bfloat16')
    row = re.search(r'transformers bfloat16 \| (\S+) \| (\S+) \| \d+ \| t',
                    printed)
    assert 0 < float(row[2]) <= float(row[1]) <= 1


def test_training_is_measured(run):
    size = ('--tokens', 600, '--width', 8, '--models', 20, '--benchmarks', 1)
    printed = run('bench_head_training', *size, '--steps', 3)
    assert 'one step by autograd' in printed
    assert 'exact solution after Phi' in printed
    assert '3 steps, torch.bfloat16' in printed
    printed = run('bench_salience_training', *size, '--texts', 12)
    assert 'T=600 H=8 M=20 B=1' in printed and 'CPU s' in printed


def test_reading_dumps_is_measured(run):
    printed = run('bench_dumps', '--models', 2)
    assert re.search(r'read_dumps: 2 models, .* ms and .* MB each', printed)


def test_fits_are_measured_by_size_and_on_tables(run, tmp_path):
    fits = '--parts', 'fits', '--models'
    printed = run('bench_growth', *fits, 24, 60, '--units', 8, 60,
                  '--benchmarks', 1)
    sizes = [line.split(' | ')[:2] for line in printed.splitlines()[5:]]
    assert sizes == [['| 24', '8'], ['| 60', '8'], ['| 60', '60']]
    assert '| RidgeCV as often, CPU s | ratio | averaged, CPU s |' in printed
    tables = small_tables(n_models=8, n_units=2, n_families=2)
    splits = dict.fromkeys(tables.models, 'train')
    splits[tables.models[0]] = 'validation'
    splits[tables.models[1]] = 'test'
    write_tables(tmp_path, tables, splits)
    printed = run('bench_growth', *fits, 24, '--units', 8, '--tables',
                  tmp_path, '--solvers', 'ridge', 'uniform')
    assert '\n| 7 | 2 | 2 | ' in printed and 'uniform, CPU s' in printed


def test_token_losses_and_dumps_grow_beside_others(run, monkeypatch):
    monkeypatch.setattr(bench_growth, 'TEXTS', [(1, 5)])
    printed = run('bench_growth', '--parts', 'losses', 'dumps', '--size',
                  'smoke', '--models', 2)
    assert re.search(r'\n\| 1 \| 5 \| \d', printed)
    assert re.search(r'\n\| 2 \| \d', printed)


def test_models_for_a_gpu_are_measured_and_written(run, tmp_path):
    options = ('--device', 'cpu', '--sizes', 'smoke', '--texts', 3)
    assert 'share of the ideal forward' in run('bench_gpu', *options)
    run('bench_gpu', *options, '--write', tmp_path)
    assert all((tmp_path / name / 'config.json').is_file() for name in 'abc')
    assert len(read_texts(tmp_path / 'texts.jsonl')) == 3
