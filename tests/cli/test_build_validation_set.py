"""From the command line to a validation set."""
import json
import os
import runpy
import sys

import pytest

pytest.importorskip('opencompass')

import csv_plugin as cp  # noqa: E402
from csv_plugin.cli import salience  # noqa: E402
from csv_plugin.demo import shipped  # noqa: E402
from csv_plugin.io import collection  # noqa: E402
from csv_plugin.io.tables import ModelInfo  # noqa: E402
from csv_plugin.io.text_sets import read_texts  # noqa: E402
from tests import runs  # noqa: E402
from tests.extras.text_sampling import invented  # noqa: E402

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
    with open('out/manifest.json', encoding='utf-8') as file:
        assert json.load(file)['seed'] == 5
    with open('recipe.yaml', 'w', encoding='utf-8') as file:
        json.dump([dict(name='gsm8k', dataset='gsm8k_gen_17d0dc', count=4)],
                  file)
    assert main(['--out', 'again', '--recipe', 'recipe.yaml', '--seed',
                 '5']) == 0
    assert read_texts('again/texts.jsonl').texts == texts.texts[:4]


def test_the_tool_is_the_command(main, monkeypatch):
    draw = ['--sample', 'gsm8k=4']
    assert main(['--out', 'out', *draw]) == 0
    monkeypatch.setattr(sys, 'argv', ['tool', '--out', 'other', *draw])
    with pytest.raises(SystemExit, match='^0$'):
        runpy.run_path(str(TOOL), run_name='__main__')
    for name in ('texts.jsonl', 'manifest.json'):
        with open(f'out/{name}', 'rb') as a, open(f'other/{name}', 'rb') as b:
            assert a.read() == b.read()


def test_missing_data(main, capsys):
    samples = ['--sample', 'gsm8k=4', '--sample', 'mmlu=9', '--sample',
               'cmmlu=9']  # yapf: disable
    assert main(['--out', 'out', *samples]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert 'opencompass/mmlu' in error and 'opencompass/cmmlu' in error
    assert not os.path.exists('out') and not os.path.exists('default')
    assert main(['--out', 'out', *samples, '--skip-missing']) == 0
    assert 'cmmlu: skipped: agronomy: missing: ' in capsys.readouterr().out
    assert len(read_texts('out/texts.jsonl')) == 4


def test_permissive_licences_only(main, capsys):
    samples = ['--sample', 'gsm8k=4', '--sample', 'cmmlu=9']
    assert main(['--out', 'out', *samples, '--permissive']) == 0
    shown = capsys.readouterr().out
    assert 'cmmlu: skipped: not permissive: CC BY-NC-SA 4.0' in shown
    assert read_texts('out/texts.jsonl').licences == {'gsm8k': 'MIT'}


@pytest.mark.parametrize('arguments, message', [
    (['--sample', 'cmmlu=1', '--permissive'], 'whose licence allows any use'),
    (['--choose', '1', '--from', 'file', '--skip-missing'], '--skip-missing'),
    (['--shipped', '--permissive'], 'Leave --permissive out'),
    (['--shipped', '--seed', '3'], 'Leave --seed out'),
    (['--sample', 'gsm8k=10'], 'expected 10 items, found 9'),
    (['--sample', 'nothing=10'], "dataset 'nothing'"),
    (['--sample', 'chatobj_custom_gen=3'], "a list '..._datasets'"),
    (['--sample', 'humaneval_gen_8e312c=3'], "'task_id'"),
    (['--recipe', 'nowhere.yaml'], 'nowhere.yaml'),
    (['--out', 'file'], '--out file'),
])
def test_bad_input_is_one_line(main, capsys, arguments, message):
    open('file', 'w').close()
    assert main(['--out', 'out', *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith('error: ') and message in error
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
    with open('out/manifest.json', encoding='utf-8') as file:
        manifest = json.load(file)
    assert manifest['fingerprint'] == texts.fingerprint
    assert manifest['sources'][0]['subtasks']['logic_zh'] == 12


def test_texts_of_a_collection(tmp_path, monkeypatch, capsys):
    """A collection of fewer texts, which is one to train on."""
    monkeypatch.chdir(tmp_path)
    info = {
        model: ModelInfo(f'family-{m % 4}', 'test' if m % 8 == 7 else 'train',
                         1)
        for m, model in enumerate(runs.FITTED)
    }
    losses = {m: runs.dump(m, runs.model_losses(runs.FITTED[m])) for m in info}
    accuracies = cp.AccuracyTable(
        list(info), ['easy'],
        [[runs.true_accuracy(runs.FITTED[m])] for m in info], [0], [100])
    collection.Collection(
        cp.ModelLosses(runs.TEXTS, losses), accuracies, info).write('all')
    with open('all/benchmarks.csv', 'a') as file:
        file.write('never run,0.25,100,1\n')
    assert salience.main(
        ['texts', '--out', 'fewer', '--choose', '2', '--from', 'all']) == 0
    fewer = collection.read_collection('fewer')
    shown = capsys.readouterr().out
    assert '2 of 5 texts' in shown and fewer.texts.fingerprint in shown
    # Losses on these fall most with skill; see `model_losses`.
    assert fewer.texts.ids == ('t0', 't1')
    whole = collection.read_collection('all')
    assert fewer.families == whole.families
    assert fewer.models_in('test') == whole.models_in('test')
    assert fewer.accuracies.to_dict() == whole.accuracies.to_dict()
    assert fewer.coverage(fewer.models_to_fit())[1:] == whole.coverage(
        whole.models_to_fit())[1:]


def test_a_collection_does_not_lose_its_texts(tmp_path, capsys):
    options = [f'--out={tmp_path}/all', f'--from={tmp_path}/x/../all']
    assert salience.main(['texts', '--choose=2', *options]) == 2
    assert 'another folder than that of --from' in capsys.readouterr().err


def test_a_task_for_the_harness(tmp_path, capsys):
    assert salience.main([
        'texts', f'--lm-eval-task={shipped.TEXTS}', f'--out={tmp_path}/tasks'
    ]) == 0
    assert '--tasks salience_texts-ce4e749ad947' in capsys.readouterr().out
    assert sorted(path.suffix for path in (tmp_path / 'tasks').iterdir()) == [
        '.jsonl', '.yaml'
    ]


@pytest.mark.parametrize('options', [['--choose=2'], ['--from=all']])
def test_no_choice_without_a_collection(options, tmp_path, capsys):
    assert salience.main(['texts', f'--out={tmp_path}', *options]) == 2
    assert 'both or none' in capsys.readouterr().err
