"""The benchmark scripts run, at sizes that say nothing about speed."""
import importlib.util
import re
import sys

import pytest

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.bench import bench_engines
from tests.lm.tokens.tokenizers import CORPUS
from tests.scripts import printed
from tests.tables import small_tables, write_tables

pytestmark = pytest.mark.slow


def run(script: str, *options: str) -> str:
    """What a script prints."""
    return printed(f'tests.bench.{script}', *options)


def test_token_losses_are_measured_beside_others():
    printed = run('bench_token_losses', '--sizes', 'smoke', '--texts', '2')
    for contender in ('csv_plugin', 'one text at a time', 'OpenCompass',
                      'lm-eval', 'minicons'):
        assert f'\n| {contender}' in printed


def test_growth_has_a_row_for_every_size():
    printed = run('bench_growth', '--models', '24', '60', '--units', '8', '60',
                  '--benchmarks', '1')
    sizes = [line.split(' | ')[:2] for line in printed.splitlines()[2:]]
    assert sizes == [['| 24', '8'], ['| 60', '8'], ['| 60', '60']]


def test_engines_are_measured_beside_transformers(tmp_path, monkeypatch,
                                                  capsys):
    # In this process: others take long to load their packages.
    monkeypatch.setattr(bench_engines, 'measure_apart', bench_engines.measure)
    texts = tmp_path / 'texts.jsonl'
    write_texts(texts, TextSet((Text('a', CORPUS[0]), Text('b', CORPUS[1]))))
    monkeypatch.setattr(sys, 'argv', [
        'bench_engines', '--texts',
        str(texts), '--only', 'CTranslate2 float32', 'vLLM float32'
    ])
    bench_engines.main()
    printed = capsys.readouterr().out
    row = re.search(r'CTranslate2 float32 \| (\S+) \| (\S+) \| \d+ \| ctr',
                    printed)
    assert float(row[2]) <= float(row[1]) <= 1e-4
    if importlib.util.find_spec('vllm') is None:
        assert '| vLLM float32 | not installed |' in printed


def test_head_training_is_measured():
    printed = run('bench_head_training', '--tokens', '600', '--width', '8',
                  '--models', '20', '--benchmarks', '2', '--steps', '3')
    assert 'one step by autograd' in printed
    assert 'exact solution after Phi' in printed
    assert '300 steps in torch.bfloat16' in printed


def test_salience_training_is_measured():
    printed = run('bench_salience_training', '--tokens', '600', '--texts',
                  '12', '--width', '8', '--models', '12', '--benchmarks', '1')
    assert 'T=600 H=8 M=12 B=1' in printed and 'CPU s' in printed


def test_solvers_are_measured_on_tables(tmp_path):
    tables = small_tables(n_models=8, n_units=2, n_families=2)
    splits = dict.fromkeys(tables.models, 'train')
    splits[tables.models[0]] = 'validation'
    splits[tables.models[1]] = 'test'
    write_tables(tmp_path, tables, splits)
    printed = run('bench_growth', '--tables', str(tmp_path), '--solvers',
                  'ridge', 'averaged', 'uniform', 'nonnegative', 'auto')
    assert '\n| 7 | 2 | 2 | ' in printed and 'auto, CPU s' in printed


def test_what_a_gpu_takes_is_measured():
    printed = run('bench_gpu', '--device', 'cpu', '--sizes', 'smoke',
                  '--texts', '2')
    assert 'share of the ideal forward' in printed


def test_models_for_a_gpu_are_written(tmp_path):
    run('bench_gpu', '--device', 'cpu', '--sizes', 'smoke', '--texts', '3',
        '--write', str(tmp_path))
    assert all((tmp_path / name / 'config.json').is_file() for name in 'abc')
    assert len(read_texts(tmp_path / 'texts.jsonl')) == 3
