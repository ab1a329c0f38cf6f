"""The benchmark scripts run, at sizes that say nothing about speed."""
import re
import sys
from importlib import import_module

import pytest

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import write_texts
from tests.bench import bench_engines, bench_token_losses
from tests.lm.tokens.tokenizers import CORPUS
from tests.tables import small_tables, write_tables

SIZE = '--tokens 600 --models 20 --benchmarks 2'


@pytest.mark.slow
@pytest.mark.parametrize('script, options, printed', [
    ('bench_token_losses', '--sizes smoke --texts 2 --length 9',
     '2 texts, 18 tokens.*csv_plugin.*one text '
     'at a time.*OpenCompass.*lm-eval'),
    ('bench_engines', '--texts texts.jsonl --only transformers_bfloat16',
     r'transformers bfloat16 \| \S+ \| \S+ \| \d+ \| t'),
    ('bench_head_training', f'{SIZE} --width 8 --steps 3',
     'one step by autograd.*3 steps, torch.bfloat16'),
    ('bench_salience_training', f'{SIZE} --texts 12', 'T=600 K=132 M=20 B=2: '
     '.* CPU s, .* MB'),
    ('bench_dumps', '--models 2', 'read_dumps: 2 models, .* ms and .* MB'),
    ('bench_growth', '--models 12 --units 4 8 --benchmarks 1',
     r'\| benchmarks \| CPU s \| MB \|.*\| 12 \| 4 .*\| 12 \| 8 \| 1 \| '),
    ('bench_growth', '--models --tables .', r'MB \|.*\| 7 \| 2 \| 2 \| '),
    pytest.param(
        'bench_processes', 'demo --models 1 --items 1',
        r'before \d+ processes, .* CPU s.*now +\d+ processes, .* CPU s.*'
        '5 of 5 accuracies are the same', marks=pytest.mark.long),
    ('bench_gpu', '--device cpu --sizes smoke --texts 3', 'of the ideal'),
])  # yapf: disable
def test_a_script_runs(tmp_path, monkeypatch, capsys, script, options,
                       printed):
    """In this process: others take long to load packages."""
    monkeypatch.setattr(bench_engines, 'measure_apart', bench_engines.measure)
    monkeypatch.setattr(bench_token_losses, 'score_apart',
                        bench_token_losses.score)
    monkeypatch.chdir(tmp_path)
    write_texts('texts.jsonl',
                TextSet((Text('a', CORPUS[0]), Text('b', CORPUS[1]))))
    tables = small_tables(n_models=8, n_units=2, n_families=2)
    splits = dict.fromkeys(tables.models, 'train')
    splits |= dict(zip(tables.models, ('validation', 'test')))
    write_tables(tmp_path, tables, splits)
    words = [word.replace('_', ' ') for word in options.split()]
    monkeypatch.setattr(sys, 'argv', [script, *words])
    import_module(f'tests.bench.{script}').main()
    assert re.search(printed, capsys.readouterr().out, re.S)
