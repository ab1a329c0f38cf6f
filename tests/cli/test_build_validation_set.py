"""From the command line to a validation set."""
import json
import os
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip('opencompass')

import csv_plugin as cp  # noqa: E402
from csv_plugin.cli import salience  # noqa: E402
from csv_plugin.demo import shipped  # noqa: E402
from csv_plugin.io.text_sets import read_texts  # noqa: E402
from tests.extras.text_sampling import invented  # noqa: E402
from tests.scripts import refusal  # noqa: E402

ROOT = shipped.ZOO.parents[2]
TOOL = ROOT / 'tools' / 'build_validation_set.py'


@pytest.fixture
def main(monkeypatch, tmp_path):
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr('opencompass.utils.datasets.DEFAULT_DATA_FOLDER',
                        str(tmp_path / 'default'))
    monkeypatch.chdir(tmp_path)
    invented.gsm8k(tmp_path / 'cache', *[f'How many {i}?' for i in range(9)])
    return lambda options: salience.main(['texts', *options])


def test_samples(main, capsys):
    assert main(['--out', 'out', '--sample', 'gsm8k=4', '--sample',
                 'bbh_cot=60', '--seed', '5']) == 0  # yapf: disable
    shown = capsys.readouterr().out
    texts = read_texts('out/texts.jsonl')
    assert texts.fingerprint in shown and '64 texts' in shown
    assert 'bbh_cot: ' in shown and 'passed over: an earlier text is' in shown
    assert json.loads(Path('out/manifest.json').read_text())['seed'] == 5


def test_the_tool_is_the_command(main, monkeypatch):
    draw = ['--sample', 'gsm8k=4']
    assert main(['--out', 'out', *draw]) == 0
    monkeypatch.setattr(sys, 'argv', ['tool', '--out', 'other', *draw])
    with pytest.raises(SystemExit, match='^0$'):
        runpy.run_path(str(TOOL), run_name='__main__')
    for name in ('texts.jsonl', 'manifest.json'):
        assert Path('out', name).read_bytes() == Path('other',
                                                      name).read_bytes()


def test_a_count_is_refused_before_opencompass_is_loaded(main, capsys):
    with pytest.raises(SystemExit):
        main(['--out', 'out', '--sample', 'gsm8k=0'])
    assert 'a whole number, 1 or more' in capsys.readouterr().err


def test_missing_data(main, capsys):
    error = refusal(capsys, 'texts', '--out=out', '--sample=gsm8k=4',
                    '--sample=mmlu=9', '--sample=cmmlu=9')
    assert 'opencompass/mmlu' in error and 'opencompass/cmmlu' in error
    assert not os.path.exists('out') and not os.path.exists('default')


@pytest.mark.parametrize('arguments, message', [
    ('--out out --shipped --seed 3', 'found --seed'),
    ('--out out --sample gsm8k=10', 'expected 10 items, found 9'),
    ('--out file', 'a folder with room for what is written, found a file'),
])
def test_bad_input_is_one_line(main, capsys, arguments, message):
    open('file', 'w').close()
    assert message in refusal(capsys, 'texts', *arguments.split())
    assert not os.path.exists('out')


def test_shipped_texts_need_nothing_else(tmp_path, monkeypatch, capsys):
    # Nothing that loads OpenCompass.
    for name in ('opencompass', 'csv_plugin.extras.text_sampling.drawing'):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)
    assert salience.main(['texts', '--out', 'out', '--shipped']) == 0
    texts = read_texts('out/texts.jsonl')
    assert texts == cp.shipped_texts()
    assert (f'500 texts, CC0 1.0, fingerprint {texts.fingerprint}'
            in capsys.readouterr().out)


def test_a_task_for_the_harness(tmp_path, capsys):
    assert salience.main([
        'texts', f'--lm-eval-task={shipped.TEXTS}', f'--out={tmp_path}/tasks'
    ]) == 0
    assert '--tasks salience_texts-ce4e749ad947' in capsys.readouterr().out
    assert sorted(path.suffix for path in (tmp_path / 'tasks').iterdir()) == [
        '.jsonl', '.yaml'
    ]
