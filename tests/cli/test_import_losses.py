"""From the output of lm-evaluation-harness to tables and a predictor."""
import csv
import shutil

import pytest

import csv_plugin as cp
from csv_plugin.cli import salience
from csv_plugin.io.model_tables import read_accuracies, read_loss_features
from tests.extras.importers.outputs import (DATA, LIGHTEVAL, LM_EVAL, TEXTS,
                                            change_json, write_results,
                                            write_samples)
from tests.scripts import check_end

RECORD = DATA / 'every_eval_ever/record.json'
PATHS = [str(LM_EVAL / 'c-l-80'), f'small={LM_EVAL / "d-s-100"}']
OF_TEXTS = ['lm-eval', *PATHS, '--texts', str(TEXTS)]


def test_tables_of_losses_and_accuracies(tmp_path, capsys):
    out = tmp_path / 'new' / 'folder'
    assert not salience.main([
        'import', *OF_TEXTS, '--tasks', 'tiny_choice',
        'tiny_answer=exact_match,strict-match', '--chance', 'tiny_choice=0.4',
        'tiny_answer=0', '--out',
        str(out)
    ])
    printed = capsys.readouterr().out
    assert '2 models, 5 units' in printed and 'benchmarks.csv' in printed
    losses = read_loss_features(out / 'losses.csv')
    table = cp.import_losses('lm-eval', {
        'c-l-80': LM_EVAL / 'c-l-80',
        'small': LM_EVAL / 'd-s-100'
    }, cp.read_texts(TEXTS))
    assert losses.models == table.models
    assert losses.columns.units == table.columns.units
    assert losses.values.tolist() == table.values.tolist()
    scores = read_accuracies(out / 'scores.csv', out / 'benchmarks.csv')
    assert scores.values.tolist() == [[1.0, 0.0], [0.5, 0.0]]
    assert scores.n_items.tolist() == [4, 4]


def test_losses_alone(tmp_path):
    out = tmp_path / 'out'
    arguments = [str(LIGHTEVAL / 'c-l-80'), '--out', str(out)]
    assert not salience.main(['import', 'lighteval', *arguments])
    assert [path.name for path in out.iterdir()] == ['losses.csv']
    arguments = [PATHS[0], '--texts', str(TEXTS), '--out', str(out)]
    assert not salience.main(['import', 'lm-eval', *arguments])
    with (out / 'losses.csv').open(encoding='utf-8') as file:
        header, row = csv.reader(file)
    assert header == ['model', 'sum', 'list', 'zh', 'lines', 'digits']
    assert row[0] == 'c-l-80'


def test_accuracies_alone(tmp_path, capsys):
    """Of models whose losses come from elsewhere; one has no benchmark."""
    out, empty = tmp_path / 'out', tmp_path / 'empty'
    empty.mkdir()
    first = min((LM_EVAL / 'd-s-100').glob('results_*'))  # the texts alone
    shutil.copy(first, empty)
    assert not salience.main([
        'import', 'lm-eval', PATHS[0],
        str(empty), '--tasks', 'tiny_choice', '--chance', 'tiny_choice=0.4',
        '--out',
        str(out)
    ])
    assert check_end(capsys.readouterr().out) == [
        'No accuracy on tiny_choice of empty', '2 models, 1 benchmark.', '',
        f'Written to {out}.'
    ]
    assert (out / 'scores.csv').read_text('utf-8').splitlines() == [
        'model,tiny_choice', 'c-l-80,1.0', 'empty,'
    ]


def test_losses_and_accuracies_of_other_weights(tmp_path, capsys):
    """As in the folder of the harness, which is named after the model."""
    copy = shutil.copytree(LM_EVAL / 'c-l-80', tmp_path / 'm')
    call = [
        'import', 'lm-eval',
        str(copy), *OF_TEXTS[3:], '--tasks', 'tiny_choice', '--chance',
        'tiny_choice=0.4', '--out',
        str(tmp_path / 'out')
    ]
    assert not salience.main(call)
    change_json(
        max(copy.glob('results_*')),
        lambda content: content['config'].update(model_revision='step10'))
    capsys.readouterr()
    assert salience.main(call) == 2
    error = capsys.readouterr().err
    assert 'main of losses in' in error and 'step10 of tiny_choice' in error


def test_tables_of_two_imports_of_other_weights(tmp_path, capsys):
    """Their records, beside them, are compared where they meet."""
    copy = shutil.copytree(LM_EVAL / 'c-l-80', tmp_path / 'm')
    change_json(
        max(copy.glob('results_*')),
        lambda content: content['config'].update(model_revision='step10'))
    for name, options in (('a', OF_TEXTS[3:]),
                          ('b', ['--tasks', 'tiny_choice', '--chance',
                                 'tiny_choice=0.4'])):  # yapf: disable
        out = str(tmp_path / name)
        call = ['import', 'lm-eval', str(copy), *options, '--out', out]
        assert not salience.main(call)
    (tmp_path / 'models.csv').write_text('model,family,split\nm,m,train\n')
    assert salience.main([
        'fit', '--losses', f'{tmp_path}/a/losses.csv', '--scores',
        f'{tmp_path}/b/scores.csv', '--benchmarks',
        f'{tmp_path}/b/benchmarks.csv', '--models', f'{tmp_path}/models.csv',
        '--out', f'{tmp_path}/out'
    ]) == 2
    error = capsys.readouterr().err
    assert 'main of losses in' in error and 'step10 of tiny_choice' in error


@pytest.mark.parametrize('options, files', [
    ([], ['losses.csv', 'measured.json']),
    (['--items', '--tasks', 'piqa'
      ], ['benchmarks.csv', 'losses.csv', 'measured.json', 'scores.csv']),
    (['--benchmarks', 'piqa'
      ], ['benchmarks.csv', 'measured.json', 'scores.csv']),
])
def test_items_of_the_harness(tmp_path, options, files):
    path = write_results(tmp_path / 'm', '0.4.9', {'piqa': .6})
    texts = (' yes', ' no')
    write_samples(path, 'piqa', [(['A:'] * 2, texts, (-2, -3), right, {})
                                 for right in (0, 1)])  # yapf: disable
    out = tmp_path / 'out'
    call = ['import', 'lm-eval', str(path.parent), *options]
    assert not salience.main([*call, '--out', str(out)])
    assert sorted(file.name for file in out.iterdir()) == files
    if 'losses.csv' in files:
        values = read_loss_features(out / 'losses.csv').values
        assert values.tolist() == [[2 / 4, 3 / 3]]


def test_folders_of_one_name_need_names(tmp_path, capsys):
    for name in 'ab':
        write_results(tmp_path / name / 'same', '0.4.9', {'piqa': .6})
    paths = [str(tmp_path / name / 'same') for name in 'ab']
    call = ['--tasks', 'piqa', '--out', str(tmp_path / 'out')]
    assert salience.main(['import', 'lm-eval', *paths, *call]) == 2
    assert 'NAME=PATH' in capsys.readouterr().err
    paths[0] = f'first={paths[0]}'
    assert not salience.main(['import', 'lm-eval', *paths, *call])


@pytest.mark.parametrize('arguments, message', [
    ([*OF_TEXTS, '--items'], 'none of --texts'),
    (['lighteval', *PATHS[:1], '--items'], 'no --items beside it'),
    ([*OF_TEXTS, '--chance', 'a=0.5'], 'no accuracies'),
    (['lighteval', *OF_TEXTS[1:]], 'no texts, as they are on items'),
    (['lm-eval', PATHS[0], *OF_TEXTS[2:], f'c-l-80={PATHS[0]}'], 'twice'),
    (['lm-eval', str(LM_EVAL / 'with_bos'), *OF_TEXTS[3:]], 'add_bos_token'),
])  # yapf: disable
def test_a_wrong_call_is_one_line(tmp_path, capsys, arguments, message):
    # Options that take several values would swallow a path behind them.
    paths = [part for part in arguments if '=' in part and '/' in part]
    rest = [part for part in arguments if part not in paths]
    call = [rest[0], *paths, *rest[1:], '--out', str(tmp_path / 'out')]
    assert salience.main(['import', *call]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count('\n') == 1
    assert not (tmp_path / 'out').exists()


def test_records_of_every_eval_ever(tmp_path, capsys):
    call = ['every-eval-ever', str(RECORD), '--out', str(tmp_path)]
    chance = ['--chance', 'demo-source.demo_bench=0.25']
    assert not salience.main(['import', *call, *chance])
    assert check_end(capsys.readouterr().out)[0] == '1 model, 1 benchmark.'
    assert (tmp_path / 'scores.csv').read_text() == (
        'model,demo-source.demo_bench\ndemo-org/demo-model,0.75\n')
    assert salience.main(['import', *call, '--texts', str(TEXTS)]) == 2
    assert '--texts' in capsys.readouterr().err
