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

SIZE = '--tokens 600 --width 8 --models 20 --benchmarks 1'


@pytest.mark.slow
@pytest.mark.parametrize('script, options, printed', [
    ('bench_token_losses', '--sizes smoke --texts 2 --length 9',
     '2 texts, 18 tokens.*csv_plugin.*one text '
     'at a time.*OpenCompass.*lm-eval'),
    ('bench_engines', '--texts texts.jsonl --only transformers_bfloat16',
     r'transformers bfloat16 \| \S+ \| \S+ \| \d+ \| t'),
    ('bench_head_training', f'{SIZE} --steps 3', 'one step by autograd.*exact '
     'solution after Phi.*3 steps, torch.bfloat16'),
    ('bench_salience_training', f'{SIZE} --texts 12', 'T=600 H=8 M=20 B=1'),
    ('bench_dumps', '--models 2', 'read_dumps: 2 models, .* ms and .* MB'),
    ('bench_growth', '--models 24 60 --units 8 --benchmarks 1',
     r'\| RidgeCV as often, CPU s \| ratio \| averaged, CPU s \|.*'
     r'\| 24 \| 8 .*\| 60 \| 8 '),
    ('bench_growth', '--models --tables . --solvers ridge uniform',
     r'uniform, CPU s.*\| 7 \| 2 \| 2 '),
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
