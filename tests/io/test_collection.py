"""Collections: folders of dumps and accuracies."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.io.collection import Collection, collect, read_collection
from csv_plugin.io.dumps import merge_dumps
from csv_plugin.io.paper import paper_accuracies
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo
from tests.hostile_names import LEADING_OUT
from tests.io.dump_files import (OTHER_TEXTS, TEXTS, dump, losses_in,
                                 write_dumps, write_run)

INFO = {
    'm@1': ModelInfo('m', 'train', .5, 3e11),
    'm@2': ModelInfo('m', '', np.nan),
    'n': ModelInfo('n', 'test', 70.)
}
MODELS = tuple(INFO)
BENCHMARKS = {
    'exam': BenchmarkInfo(.25, 40, True),
    'quiz': BenchmarkInfo(0., 0, False)
}
VALUES = [[1 / 3, np.nan], [np.nan, np.nan], [.75, 0]]
LOSSES = {'m@1': .5, 'm@2': 1.5, 'n': 2.5}


def made(info=INFO):
    accuracies = AccuracyTable(
        MODELS,
        tuple(BENCHMARKS),
        VALUES, [.25, 0], [40, 0],
        outside_means=('quiz', ))
    dumps = {
        model: merge_dumps([dump(model, loss)], TEXTS)
        for model, loss in LOSSES.items()
    }
    return Collection(ModelLosses(TEXTS, dumps), accuracies, info)


def test_written_collections_are_read_back(tmp_path):
    """Files of an earlier one are replaced."""
    folder = tmp_path / 'new/collection'
    folder.mkdir(parents=True)
    for name in ('texts.jsonl', 'scores.csv', 'n.safetensors'):
        (folder / name).touch()
    made().write(folder)
    # Models that were not run may have no row.
    scores = (folder / 'scores.csv').read_text().splitlines()
    (folder / 'scores.csv').write_text('\n'.join(
        [scores[0], scores[3], scores[1]]))
    wrapped = []
    collection = read_collection(
        folder, lambda models: wrapped.extend(models) or models)
    assert wrapped == list(MODELS)
    assert collection.texts == TEXTS
    assert repr(collection.info) == repr(INFO)
    assert collection.losses['n'].texts.ids == ('a', 'b')
    assert losses_in(collection.losses) == LOSSES
    np.testing.assert_equal(
        vars(collection.accuracies), vars(made().accuracies))
    assert collection.families == {'m@1': 'm', 'm@2': 'm', 'n': 'n'}


def test_coverage_names_models_without_accuracy():
    assert made().coverage(['m@1', 'n']) == [
        '3 models, 2 to fit to, losses on 2 texts',
        'exam: accuracies of 2 of 3 models, 2 of them to fit to; none of m@2',
        'quiz: accuracies of 1 of 3 models, 1 of them to fit to; '
        'none of m@1, m@2'
    ]
    with pytest.raises(
            InputError, match="'quiz': expected the accuracy of a model to"):
        made().coverage(['m@1', 'm@2'])


@pytest.mark.parametrize('name', LEADING_OUT)
def test_no_model_leads_out_of_the_folder(tmp_path, name):
    """Neither in the tables of a stranger nor in one's own."""
    inside = tmp_path / 'in/side'
    made().write(inside)
    (inside / 'models.csv').write_text(f'model,family\n{name},a\n')
    before = sorted(tmp_path.rglob('*'))
    with pytest.raises(InputError, match='models.csv.*without slashes'):
        read_collection(inside)
    with pytest.raises(InputError, match='without slashes'):
        made({name: INFO['n']}).write(inside / 'new')
    assert sorted(tmp_path.rglob('*')) == before


@pytest.mark.parametrize('file, part, other, message', [
    ('texts.jsonl', '"a"', '"c"', "dump of 'm@1'"),
    ('texts.jsonl', 'four', 'five', "dump of 'm@1'"),
    ('models.csv', '\nn,', '\nk,',
     'scores.csv: expected models of .*models.csv'),
    ('scores.csv', 'exam', 'exan', "benchmarks of .*found 'exan'"),
    ('benchmarks.csv', 'quiz', 'quix', "benchmarks of .*found 'quiz'"),
])
def test_files_that_contradict_each_other(tmp_path, file, part, other,
                                          message):
    made().write(tmp_path)
    path = tmp_path / file
    path.write_text(path.read_text('utf-8').replace(part, other, 1), 'utf-8')
    with pytest.raises(InputError, match=message):
        read_collection(tmp_path)


TRAINED = {model: ModelInfo(model[0], 'train', np.nan) for model in MODELS}
EXAM = {'exam': BenchmarkInfo(.25, 40, True)}
QUIZ = {'quiz': BenchmarkInfo(0, 7, False)}


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


def collected(runs=(), models=TRAINED, benchmarks=EXAM, **sources):
    return collect(TEXTS, {name: TRAINED['n'] for name in models}, benchmarks,
                   runs, **sources)  # yapf: disable


def test_runs_become_a_collection(tmp_path, runs):
    """The last dump on these texts and the last accuracy count."""
    write_run(tmp_path / 'run3', {'n': 9.}, texts=OTHER_TEXTS)
    runs.append(tmp_path / 'run3')
    collection = collect(TEXTS, TRAINED, {**QUIZ, **EXAM}, runs)
    assert list(collection.losses) == list(MODELS)
    assert collection.info == TRAINED
    assert collection.accuracies.outside_means == ('quiz', )
    np.testing.assert_array_equal(collection.accuracies.values,
                                  [[.1, 1], [np.nan, .5], [np.nan, .75]])
    assert losses_in(collection.losses) == {'m@1': 4., 'm@2': 2., 'n': 3.}


def test_losses_of_an_earlier_run_are_named(runs):
    dump, = (runs[1] / 'predictions/m@1').glob('*.safetensors')
    dump.write_bytes(dump.read_bytes()[:100])
    with pytest.warns(
            UserWarning,
            match="of 'm@1' are read from .*run1, because .*"
            'later run cannot be used .*run2: '):
        collection = collected(runs)
    assert losses_in(collection.losses)['m@1'] == 1.


@pytest.mark.parametrize('metric', ['average_ppl', 'toxicity', 'latency'])
def test_what_is_no_accuracy_is_left_out(tmp_path, metric):
    run = write_run(tmp_path / 'run', {'m@1': 1.}, [('exam', ['25'])])
    wiki = {'wiki': BenchmarkInfo(0, 7)}
    path, = run.glob('summary/*.csv')
    with path.open('a') as file:
        file.write(f'wiki,1f,{metric},ppl,24.50\n')
    with pytest.warns(UserWarning, match=f"'wiki': its metric, {metric}, is "):
        collection = collected([run], ['m@1'], EXAM | wiki)
    assert collection.accuracies.benchmarks == ('exam', )
    with pytest.raises(InputError, match=f'found {metric}. Leave'):
        collected([run], ['m@1'], wiki)
    # An accuracy of another run counts.
    other = write_run(tmp_path / 'other', {'m@1': 1.}, [('wiki', ['50'])])
    values = collected([other, run], ['m@1'], wiki).accuracies.values
    assert values.tolist() == [[.5]]


@pytest.mark.parametrize(
    'scores, refused',
    [
        (['0.15', '0.2', '-'], True),
        (['0', '0', '0'], False),  # no answer was understood
        (['0.3', '-', '-'], False),  # a single model
        (['0.3', '0.5', '1.1'], False),
    ])
def test_fractions_in_a_run_are_no_percentages(tmp_path, scores, refused):
    skills = {'m@1': 1., 'm@2': 2., 'n': 3.}
    run = write_run(tmp_path / 'run', skills, [('exam', scores)])
    if refused:
        with pytest.raises(InputError, match='they seem to be fractions'):
            collected([run])
    else:
        assert collected([run]).accuracies.benchmarks == ('exam', )


def test_all_models_without_losses_are_named_in_one_line(tmp_path, runs):
    write_run(tmp_path / 'run3', {'o': 9.}, texts=OTHER_TEXTS)
    runs.append(tmp_path / 'run3')
    with pytest.raises(InputError) as error:
        collected(runs, ('o', *MODELS, 'p'))
    line = str(error.value)
    assert 'found none of 2: o, p (the first error: ' in line
    # The error of the first model says what each run has.
    for part in ('run1: ', 'run2: ', TEXTS.fingerprint[:12],
                 OTHER_TEXTS.fingerprint[:12]):
        assert part in line


def test_files_are_named_after_their_models(tmp_path, table):
    """Whoever names three may not notice that two are used."""
    paths = write_dumps(tmp_path, {'n': 1., 'm@1': 2., 'q': 3.})
    with pytest.warns(UserWarning, match='of 1 model without a row .*out: q'):
        collection = collected(models=['m@1', 'n'], dumps=paths, scores=table)
    assert losses_in(collection.losses) == {'m@1': 2., 'n': 1.}
    # Models that the table does not name are left out.
    assert collection.accuracies.column('exam').tolist() == [.75, .25]
    paths = paths[:2] + write_dumps(tmp_path, {'o': 1.}, OTHER_TEXTS)
    with pytest.raises(InputError, match='none of 2: o, p .*fingerprint'):
        collected(models=['n', 'm@1', 'o', 'p'], dumps=paths, scores=table)
    with pytest.raises(InputError, match='a table of accuracies beside'):
        collected(models=['n'], dumps=paths[:1])


def test_the_paper_is_a_table_too(tmp_path):
    paths = write_dumps(tmp_path, {'Qwen2-72B': 1., 'mine': 1.})
    benchmarks = {'gsm8k': EXAM['exam'], 'mmlu': EXAM['exam']}
    models = ['Qwen2-72B', 'mine']
    found = collected((), models, benchmarks, dumps=paths, scores='paper')
    np.testing.assert_array_equal(found.accuracies.values, [[
        .8954, paper_accuracies().select(models[:1]).column('mmlu')[0]
    ], [np.nan, np.nan]])
    with pytest.raises(InputError, match='paper: .*none on exam'):
        collected((), models, EXAM, dumps=paths, scores='paper')


def test_names_that_no_source_has_are_named(runs, table):
    typos = {**EXAM, 'typo': EXAM['exam'], **QUIZ, 'other': EXAM['exam']}
    with pytest.raises(InputError, match='^runs: .*none on typo, other'):
        collected(runs, benchmarks=typos)
    # Only the given models count, and a table counts more than runs.
    with pytest.raises(InputError, match='scores.csv: .*found none on quiz'):
        collected(runs, ['m@1', 'm@2'], QUIZ, scores=table)
    column = collected(runs, scores=table).accuracies.column('exam')
    np.testing.assert_array_equal(column, [.75, np.nan, .25])
    with pytest.raises(InputError, match="such as 'o', found models m@1, m"):
        collected(runs, ('o', 'p'))
    with pytest.raises(InputError, match='Use the same names in all tables'):
        collected(runs, ('o', ), scores=table)


def test_summaries_that_are_missing_or_damaged(runs):
    """One of another run has accuracies of the same models, but earlier."""
    path, = (runs[1] / 'summary').glob('*.csv')
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(InputError, match=f'{path}: .*-m viz -r'):
        collected(runs)
    path.unlink()
    np.testing.assert_array_equal(
        collected(runs).accuracies.column('exam'), [.25, .5, np.nan])
    with pytest.raises(InputError, match='a run with a summary'):
        collected(runs[1:], ['n'])
