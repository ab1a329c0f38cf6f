"""Losses and accuracies from runs, files and tables."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.collecting import (PAPER, accuracies_of_runs,
                                      accuracies_of_table, collect,
                                      dumps_of_files, dumps_of_runs)
from csv_plugin.io.collection import read_collection
from csv_plugin.io.paper import paper_accuracies
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo
from tests.io.dump_files import (OTHER_TEXTS, TEXTS, losses_in, write_dumps,
                                 write_run)

FINGERPRINT = TEXTS.fingerprint
MODELS = ('m@1', 'm@2', 'n')
INFO = {model: ModelInfo(model[0], 'train', np.nan) for model in MODELS}
EXAM = {'exam': BenchmarkInfo(.25, 40, True, '')}


@pytest.fixture
def runs(tmp_path):
    """The second run holds 'm@1' again."""
    return [
        write_run(tmp_path / 'run1', {
            'm@1': 1.,
            'm@2': 2.
        }, [('exam', ['25.0', '50']), ('quiz', ['10', '-'])]),
        write_run(tmp_path / 'run2', {
            'n': 3.,
            'm@1': 4.
        }, [('exam', ['75', '100.0'])])
    ]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / 'scores.csv'
    path.write_text('model,exam,quiz\nn,0.25,0.5\nm@2,,\nm@1,0.75,\nz,1,1\n')
    return path


def test_the_last_run_with_a_dump_counts(runs):
    wrapped = []
    dumps = dumps_of_runs(runs, MODELS, FINGERPRINT,
                          lambda models: wrapped.extend(models) or models)
    assert losses_in(dumps) == {'m@1': 4., 'm@2': 2., 'n': 3.}
    assert list(dumps) == wrapped == list(MODELS)


def test_all_models_without_losses_are_named_in_one_line(runs):
    with pytest.raises(InputError) as error:
        dumps_of_runs(runs, ('o', *MODELS, 'p'), FINGERPRINT)
    line = str(error.value)
    assert 'found none of 2: o, p (the first error: ' in line
    assert '\n' not in line
    # The error of the first model says what each run has.
    assert 'run1: ' in line and 'run2: ' in line and 'm@1' not in line


def test_without_a_run_there_is_no_dump():
    with pytest.raises(InputError, match="'m@1'.*found no run"):
        dumps_of_runs([], ['m@1'], FINGERPRINT)


def test_runs_on_other_texts_do_not_count(tmp_path, runs):
    """Two validation sets in the runs of one training."""
    write_run(tmp_path / 'run3', {'n': 9., 'o': 9.}, texts=OTHER_TEXTS)
    runs.append(tmp_path / 'run3')
    dumps = dumps_of_runs(runs, MODELS, FINGERPRINT)
    assert losses_in(dumps)['n'] == 3.
    with pytest.raises(InputError) as error:
        dumps_of_runs(runs, (*MODELS, 'o'), FINGERPRINT)
    assert OTHER_TEXTS.fingerprint[:12] in str(error.value)
    assert FINGERPRINT[:12] in str(error.value)


def test_files_are_named_after_their_models(tmp_path):
    """Whoever names three may not notice that two are used."""
    paths = write_dumps(tmp_path, {'n': 1., 'm@1': 2., 'q': 3.})
    wrapped = []
    with pytest.warns(UserWarning, match='of 1 model without a row .*out: q'):
        dumps = dumps_of_files(paths, ['m@1', 'n'], FINGERPRINT,
                               lambda models: wrapped.extend(models) or models)
    assert losses_in(dumps) == {'m@1': 2., 'n': 1.}
    assert list(dumps) == wrapped == ['m@1', 'n']


def test_models_whose_files_are_missing_or_on_other_texts_are_named(tmp_path):
    paths = write_dumps(tmp_path, {'n': 1.})
    paths += write_dumps(tmp_path, {'o': 1.}, OTHER_TEXTS)
    with pytest.raises(InputError) as error:
        dumps_of_files(paths, ['n', 'o', 'p'], FINGERPRINT)
    line = str(error.value)
    assert 'none of 2: o, p (the first error: ' in line and '\n' not in line
    assert (
        f'expected losses on the texts {FINGERPRINT[:12]}, found losses on '
        f'the texts {OTHER_TEXTS.fingerprint[:12]}') in line
    with pytest.raises(InputError, match='expected a file p.safetensors'):
        dumps_of_files(paths[1:], ['p', 'o'], FINGERPRINT)


def test_the_last_accuracy_counts(runs):
    accuracies = accuracies_of_runs(runs, MODELS, ['quiz', 'exam'])
    assert accuracies == {
        'm@1': {
            'exam': 1.,
            'quiz': .1
        },
        'm@2': {
            'exam': .5
        },
        'n': {
            'exam': .75
        }
    }
    # Other models of the runs are left out.
    assert accuracies_of_runs(runs[:1], ['m@2'], ['exam']) == {
        'm@2': {'exam': .5}}  # yapf: disable


def test_benchmarks_that_no_model_was_run_on_are_named(runs, table):
    expected = 'found none on typo, other'
    names = ['exam', 'typo', 'quiz', 'other']
    with pytest.raises(InputError, match=f'^runs: .*{expected}'):
        accuracies_of_runs(runs, MODELS, names)
    with pytest.raises(InputError, match=f'scores.csv: .*{expected}'):
        accuracies_of_table(table, MODELS, names)
    # Only the given models count.
    with pytest.raises(InputError, match='found none on quiz'):
        accuracies_of_table(table, ['m@1', 'm@2'], ['exam', 'quiz'])


def test_a_table_gives_the_accuracies_that_are_asked_for(table):
    assert accuracies_of_table(table, MODELS, ['exam']) == {
        'n': {
            'exam': .25
        },
        'm@2': {},
        'm@1': {
            'exam': .75
        }
    }


def test_the_paper_is_a_table_too():
    accuracies = accuracies_of_table(PAPER, ['Qwen2-72B', 'mine'],
                                     ['gsm8k', 'mmlu'])
    table = paper_accuracies().select(['Qwen2-72B'])
    assert accuracies == {
        'Qwen2-72B': {
            name: table.column(name)[0]
            for name in ('gsm8k', 'mmlu')
        }
    }
    assert accuracies['Qwen2-72B']['gsm8k'] == .8954
    with pytest.raises(InputError, match='paper: .*none on exam'):
        accuracies_of_table(PAPER, ['Qwen2-72B'], ['exam'])


def test_runs_become_a_collection(runs):
    wrapped = []
    collection = collect(
        TEXTS,
        INFO,
        EXAM,
        runs,
        progress=lambda models: wrapped.extend(models) or models)
    assert wrapped == list(collection.losses) == list(MODELS)
    assert collection.info == INFO and collection.side == ()
    assert collection.accuracies.column('exam').tolist() == [1., .5, .75]
    assert collection.accuracies.chance == .25
    assert collection.accuracies.n_items == 40
    assert losses_in(collection.losses) == {'m@1': 4., 'm@2': 2., 'n': 3.}
    assert [text.text_id
            for text in collection.losses['n'].texts] == ['a', 'b']


def test_what_is_written_is_what_was_collected(tmp_path, runs):
    benchmarks = {'quiz': BenchmarkInfo(0, 7, False, 'F1'), **EXAM}
    collection = collect(TEXTS, INFO, benchmarks, runs)
    assert collection.side == ('quiz', )
    collection.write(tmp_path / 'new', benchmarks)
    again = read_collection(tmp_path / 'new')
    assert again.side == ('quiz', ) and again.info.keys() == INFO.keys()
    for name in ('values', 'chance', 'n_items'):
        np.testing.assert_array_equal(
            getattr(again.accuracies, name),
            getattr(collection.accuracies, name))
    assert losses_in(again.losses) == losses_in(collection.losses)


def test_a_table_counts_more_than_the_summaries_of_runs(tmp_path, runs, table):
    paths = write_dumps(tmp_path, dict.fromkeys(MODELS, 1.))
    for source in (dict(runs=runs), dict(dumps=paths)):
        collection = collect(TEXTS, INFO, EXAM, **source, scores=table)
        np.testing.assert_array_equal(
            collection.accuracies.column('exam'), [.75, np.nan, .25])


def test_missing_input_is_an_error(tmp_path, runs, table):
    quiz = {'typo': EXAM['exam']}
    paths = write_dumps(tmp_path, {'n': 1.})
    for message, arguments in (
        ('none of 1: n', dict(benchmarks=EXAM, runs=runs[:1])),
        ('none on typo', dict(benchmarks=quiz, runs=runs)),
        ('none of 2: m@1, m@2', dict(
            benchmarks=EXAM, dumps=paths, scores=table)),
        ('a table of accuracies beside',
         dict(benchmarks=EXAM, dumps=paths)),
    ):  # yapf: disable
        with pytest.raises(InputError, match=message):
            collect(TEXTS, INFO, **arguments)


def test_runs_without_a_summary_are_skipped(runs):
    """But at least one run must have a summary."""
    for path in (runs[1] / 'summary').iterdir():
        path.unlink()
    assert accuracies_of_runs(runs, MODELS, ['exam']) == {
        'm@1': {
            'exam': .25
        },
        'm@2': {
            'exam': .5
        },
        'n': {}
    }
    with pytest.raises(InputError, match='a run with a summary'):
        accuracies_of_runs(runs[1:], MODELS, ['exam'])


def test_a_damaged_summary_is_not_skipped(runs):
    """The other run has accuracies of the same models, but earlier ones."""
    path, = (runs[1] / 'summary').glob('*.csv')
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=f'{path}: .*-m viz -r'):
        accuracies_of_runs(runs, MODELS, ['exam'])


def test_other_names_of_models_are_an_error_of_their_own(runs, table):
    with pytest.raises(InputError, match="such as 'o', found models m@1, m"):
        accuracies_of_runs(runs, ('o', 'p'), ['exam'])
    with pytest.raises(InputError, match='Use the same names in all tables'):
        accuracies_of_table(table, ('o', ), ['exam'])


def test_two_files_of_the_same_name_are_refused(tmp_path):
    for folder in ('a', 'b'):
        (tmp_path / folder).mkdir()
        write_dumps(tmp_path / folder, {'n': 1.})
    files = sorted(tmp_path.glob('*/*.safetensors'))
    with pytest.raises(InputError, match="'n'"):
        dumps_of_files(files, ('n', ), FINGERPRINT)
