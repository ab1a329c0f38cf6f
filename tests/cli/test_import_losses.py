"""From the output of lm-evaluation-harness to tables and a predictor."""
import csv
import shutil

import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import main
from csv_plugin.io.model_tables import (read_accuracy_columns,
                                        read_loss_features)
from tests.extras.importers.outputs import (DATA, LIGHTEVAL, LM_EVAL, TEXTS,
                                            change_json, write_results,
                                            write_samples)
from tests.scripts import check_end, refusal

RECORD = DATA / 'every_eval_ever/record.json'
ONE = f'lm-eval {LM_EVAL}/c-l-80'
TWO = f'{ONE} small={LM_EVAL}/d-s-100'
ON_TEXTS = f'--texts {TEXTS}'
CHOICE = '--tasks tiny_choice --chance tiny_choice=0.4'


def words(folder, *options):
    """A call that writes to `folder/out`, from lines of options."""
    return ['import', *' '.join(options).split(), f'--out={folder}/out']


def files(folder):
    return sorted(path.name for path in (folder / 'out').iterdir())


def test_tables_of_losses_and_accuracies(tmp_path, capsys):
    assert not main(
        words(tmp_path, TWO, ON_TEXTS, '--tasks tiny_choice',
              'tiny_answer=exact_match,strict-match',
              '--chance tiny_choice=0.4 tiny_answer=0'))
    assert '2 models, 5 units, 2 benchmarks.' in capsys.readouterr().out
    losses = read_loss_features(tmp_path / 'out/losses.csv')
    table = cp.import_losses('lm-eval', {
        'c-l-80': LM_EVAL / 'c-l-80',
        'small': LM_EVAL / 'd-s-100'
    }, cp.read_texts(TEXTS))
    assert losses.models == table.models
    assert losses.columns.units == table.columns.units
    assert losses.values.tolist() == table.values.tolist()
    scores = read_accuracy_columns(tmp_path / 'out/scores.csv')
    assert scores.values.tolist() == [[1.0, 0.0], [0.5, 0.0]]
    assert (tmp_path / 'out/benchmarks.csv').read_text().splitlines() == [
        'benchmark,chance,n_items', 'tiny_choice,0.4,4', 'tiny_answer,0.0,4'
    ]


def test_losses_alone(tmp_path):
    assert not main(words(tmp_path, ONE, ON_TEXTS))
    with (tmp_path / 'out/losses.csv').open(encoding='utf-8') as file:
        header, row = csv.reader(file)
    assert header == ['model', 'sum', 'list', 'zh', 'lines', 'digits']
    assert row[0] == 'c-l-80'
    # A record of the import before goes.
    assert not main(words(tmp_path, f'lighteval {LIGHTEVAL}/c-l-80'))
    assert files(tmp_path) == ['losses.csv']


def test_accuracies_alone(tmp_path, capsys):
    """Of models whose losses come from elsewhere; one has no benchmark."""
    (tmp_path / 'empty').mkdir()
    first = min((LM_EVAL / 'd-s-100').glob('results_*'))  # the texts alone
    shutil.copy(first, tmp_path / 'empty')
    assert not main(words(tmp_path, ONE, f'{tmp_path}/empty', CHOICE))
    shown = capsys.readouterr().out
    assert f'--losses losses.csv --scores {tmp_path}/out/scores.csv' in shown
    assert check_end(shown) == [
        'No accuracy on tiny_choice of empty.', '2 models, 1 benchmark.', '',
        f'Written to {tmp_path}/out.'
    ]
    assert (tmp_path / 'out/scores.csv').read_text().splitlines() == [
        'model,tiny_choice', 'c-l-80,1.0', 'empty,'
    ]


@pytest.fixture
def other_weights(tmp_path):
    """Accuracies of another revision than the losses, in one folder."""
    copy = shutil.copytree(LM_EVAL / 'c-l-80', tmp_path / 'm')
    change_json(
        max(copy.glob('results_*')),
        lambda content: content['config'].update(model_revision='step10'))
    return f'lm-eval {copy}'


def test_losses_and_accuracies_of_other_weights(tmp_path, capsys,
                                                other_weights):
    error = refusal(capsys, *words(tmp_path, other_weights, ON_TEXTS, CHOICE))
    assert 'main of losses in' in error and 'step10 of tiny_choice' in error


def test_tables_of_two_imports_of_other_weights(tmp_path, capsys,
                                                other_weights):
    """Their records, beside them, are compared where they meet."""
    for name, options in (('a', ON_TEXTS), ('b', CHOICE)):
        (tmp_path / name).mkdir()
        assert not main(words(tmp_path / name, other_weights, options))
    (tmp_path / 'models.csv').write_text('model,family,split\nm,m,train\n')
    error = refusal(capsys, 'fit', f'--losses={tmp_path}/a/out/losses.csv',
                    f'--scores={tmp_path}/b/out/scores.csv',
                    f'--benchmarks={tmp_path}/b/out/benchmarks.csv',
                    f'--models={tmp_path}/models.csv', f'--out={tmp_path}/out')
    assert 'main of losses in' in error and 'step10 of tiny_choice' in error


@pytest.mark.parametrize('options, expected', [
    ('', ['losses.csv', 'measured.json']),
    ('--items --benchmarks piqa',
     ['benchmarks.csv', 'losses.csv', 'measured.json', 'scores.csv']),
    ('--tasks piqa', ['benchmarks.csv', 'measured.json', 'scores.csv']),
])
def test_items_of_the_harness(tmp_path, options, expected):
    path = write_results(tmp_path / 'm', '0.4.9', {'piqa': .6})
    texts = (' yes', ' no')
    write_samples(path, 'piqa', [(['A:'] * 2, texts, (-2, -3), right, {})
                                 for right in (0, 1)])  # yapf: disable
    assert not main(words(tmp_path, f'lm-eval {path.parent}', options))
    assert files(tmp_path) == expected
    if 'losses.csv' in expected:
        values = read_loss_features(tmp_path / 'out/losses.csv').values
        assert values.tolist() == [[2 / 4, 3 / 3]]


def test_a_metric_for_a_task_is_kept_or_refused(tmp_path, capsys):
    error = refusal(capsys, *words(tmp_path, ONE, '--tasks a=acc a=acc_norm'))
    assert "--tasks: expected every name once, found 'a' twice" in error
    (tmp_path / 'x-predictions.jsonl').write_text('')
    error = refusal(capsys,
                    *words(tmp_path, f'olmo-eval {tmp_path} --tasks x=acc'))
    assert "'x=acc'" in error


def test_tables_of_an_earlier_import_go(tmp_path):
    for options in (f'{ON_TEXTS} {CHOICE}', ON_TEXTS):
        assert not main(words(tmp_path, ONE, options))
    assert files(tmp_path) == ['losses.csv', 'measured.json']


def test_folders_of_one_name_need_names(tmp_path, capsys):
    for name in 'ab':
        write_results(tmp_path / name / 'same', '0.4.9', {'piqa': .6})
    second = f'{tmp_path}/b/same --tasks piqa'
    assert 'NAME=PATH' in refusal(
        capsys, *words(tmp_path, f'lm-eval {tmp_path}/a/same', second))
    assert not main(
        words(tmp_path, f'lm-eval first={tmp_path}/a/same', second))


@pytest.mark.parametrize('options, message', [
    (f'{TWO} {ON_TEXTS} --items', 'none of --texts'),
    (f'lighteval {LM_EVAL}/c-l-80 --items', 'no --items beside it'),
    (f'{TWO} {ON_TEXTS} --chance a=0.5', 'no accuracies'),
    (f'lighteval {LM_EVAL}/c-l-80 {ON_TEXTS}',
     'no texts, as these losses are on'),
    (f'{ONE} c-l-80={LM_EVAL}/c-l-80 {ON_TEXTS}', 'as in NAME=PATH'),
    (f'lm-eval {LM_EVAL}/with_bos {ON_TEXTS}', 'add_bos_token'),
    (f'every-eval-ever {RECORD} {ON_TEXTS}', '--texts'),
])
def test_a_wrong_call_is_one_line(tmp_path, capsys, options, message):
    assert message in refusal(capsys, *words(tmp_path, options))
    assert not (tmp_path / 'out').exists()


def test_records_of_every_eval_ever(tmp_path, capsys):
    chance = '--chance demo-source.demo_bench=0.25'
    assert not main(words(tmp_path, f'every-eval-ever {RECORD}', chance))
    assert check_end(capsys.readouterr().out)[0] == '1 model, 1 benchmark.'
    assert (tmp_path / 'out/scores.csv').read_text() == (
        'model,demo-source.demo_bench\ndemo-org/demo-model,0.75\n')
