"""Runs of several groups, packed by one command and joined by another."""
import pytest

from csv_plugin.cli.salience import main
from csv_plugin.io.collection import read_collection
from csv_plugin.io.text_sets import write_texts
from tests.io.dump_files import TEXTS, losses_in, write_dumps, write_run
from tests.scripts import check_end


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_texts('texts.jsonl', TEXTS)
    write_run(tmp_path / 'run', {
        'm@1': 1.,
        'm@2': 2.
    }, [('mmlu', ['25.0', '50'])])
    (tmp_path / 'models.csv').write_text('model,family\nm@1,m\nm@2,m\n')
    (tmp_path / 'others.csv').write_text('model,family\nn,n\n')
    (tmp_path / 'scores.csv').write_text('model,mmlu\nn,0.75\n')
    write_dumps(tmp_path, {'n': 3.})
    return tmp_path


def contribute(out, *options):
    return main([
        'contribute', *options, '--giver', 'A Lab', '--licence', 'CC BY 4.0',
        '--out', out
    ])


FROM_RUN = ('run', '--texts', 'texts.jsonl', '--models', 'models.csv',
            '--tasks', 'mmlu')
FROM_DUMPS = ('--dumps', 'n.safe*', './n.s*', '--scores', 'scores.csv',
              '--texts', 'texts.jsonl', '--models', 'others.csv', '--tasks',
              'mmlu')


def test_runs_and_dumps_become_one_collection(folder, capsys):
    assert contribute('a.zip', *FROM_RUN) == 0
    assert check_end(capsys.readouterr().out) == [
        f'2 models on 2 texts {TEXTS.fingerprint[:12]}, 2 accuracies. Given '
        'by A Lab under CC BY 4.0.', '', 'Written to a.zip.'
    ]
    assert contribute('b.zip', *FROM_DUMPS) == 0
    capsys.readouterr()
    assert main([
        'merge', 'b.zip', 'a.zip', '--texts', 'texts.jsonl', '--out', 'merged'
    ]) == 0
    assert check_end(capsys.readouterr().out) == [
        'A Lab: losses of 3 models, 3 accuracies, under CC BY 4.0', '',
        'Written to merged.'
    ]
    merged = read_collection('merged')
    assert losses_in(merged.losses) == {'m@1': 1., 'm@2': 2., 'n': 3.}
    assert merged.accuracies.values[:, 0].tolist() == [.25, .5, .75]
    # A collection is packed as it is.
    assert contribute('c.zip', '--collection', 'merged') == 0
    assert b'A Lab' in (folder / 'c.zip').read_bytes()


@pytest.mark.parametrize('options, problem', [
    (FROM_RUN[:3] + FROM_RUN[5:], 'error: --models: '),
    (FROM_RUN[:5], 'error: runs and --dumps: '),
    (('--collection', 'run', '--chance', 'mmlu=0.2'), 'error: --collection: '),
    (('--collection', 'run'), 'texts.jsonl'),
])
def test_lacking_options_are_named(folder, capsys, options, problem):
    assert contribute('a.zip', *options) == 2
    assert problem in capsys.readouterr().err
    assert not (folder / 'a.zip').exists()


def test_the_target_is_checked_first(folder, capsys):
    assert contribute('no/folder/a.zip', *FROM_RUN) == 2
    assert 'Create the folder first' in capsys.readouterr().err


def test_fractions_in_a_run_are_no_percentages(folder, capsys):
    write_run(folder / 'other', {
        'm@1': 1.,
        'm@2': 2.
    }, [('mmlu', ['0.25', '0.5'])])
    assert contribute('a.zip', 'other', *FROM_RUN[1:]) == 2
    error = capsys.readouterr().err
    assert "accuracies on 'mmlu': expected percentages" in error
    assert 'they seem to be fractions' in error
