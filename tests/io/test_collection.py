"""Collections: folders of dumps and accuracies."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.io.collection import read_collection, write_collection
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo, read_benchmarks
from csv_plugin.io.text_sets import write_texts
from tests.hostile_names import LEADING_OUT
from tests.io.dump_files import (OTHER_TEXTS, TEXTS, dump, losses_in,
                                 write_dumps)

MODELS = {'m@1': 'train', 'm@2': 'validation', 'n': 'test'}


def write_folder(folder, scores='model,exam\nm@1,0.5\nn,0.75\n', split=True):
    write_texts(folder / 'texts.jsonl', TEXTS)
    rows = [
        f'{model},{model[0]}' + f',{name}' * split
        for model, name in MODELS.items()
    ]
    (folder / 'models.csv').write_text('\n'.join(
        ['model,family' + ',split' * split, *rows]))
    (folder / 'scores.csv').write_text(scores)
    (folder /
     'benchmarks.csv').write_text('benchmark,chance,n_items\nexam,0.25,40\n')
    write_dumps(folder, {m: i + .5 for i, m in enumerate(MODELS)})


def test_everything_is_joined_by_model(tmp_path):
    write_folder(tmp_path)
    wrapped = []
    collection = read_collection(
        tmp_path, lambda models: wrapped.extend(models) or models)
    assert wrapped == list(MODELS)
    assert collection.texts.fingerprint == TEXTS.fingerprint
    assert [text.text_id for text in collection.losses['n'].texts
            ] == ['a', 'b']  # yapf: disable
    assert losses_in(collection.losses) == {'m@1': .5, 'm@2': 1.5, 'n': 2.5}
    assert collection.accuracies.models == tuple(MODELS)
    np.testing.assert_array_equal(
        collection.accuracies.column('exam'), [.5, np.nan, .75])
    assert collection.families == {'m@1': 'm', 'm@2': 'm', 'n': 'n'}
    assert collection.models_in('train', 'test') == ('m@1', 'n')
    assert list(collection.losses.select(['n', 'm@1'])) == ['n', 'm@1']


def test_select_texts(tmp_path):
    write_folder(tmp_path)
    part = read_collection(tmp_path).select_texts(TextSet(TEXTS.texts[1:]))
    assert part.texts.ids == ('b', )
    assert [text.text_id for text in part.losses['m@1'].texts] == ['b']


def test_coverage_names_models_without_accuracy(tmp_path):
    write_folder(
        tmp_path, scores='model,exam,quiz\nm@1,0.5,\nm@2,,\nn,0.75,1\n')
    with (tmp_path / 'benchmarks.csv').open('a') as file:
        file.write('quiz,0,\n')
    collection = read_collection(tmp_path)
    assert collection.coverage(['m@1', 'n']) == [
        '3 models, 2 to fit to, losses on 2 texts',
        'exam: accuracies of 2 of 3 models, 2 of them to fit to; none of m@2',
        'quiz: accuracies of 1 of 3 models, 1 of them to fit to; '
        'none of m@1, m@2'
    ]
    with pytest.raises(
            InputError, match="'quiz': expected that of a model to fit to"):
        collection.coverage(['m@1', 'm@2'])
    write_folder(tmp_path, 'model,exam\nm@1,0.5\nm@2,0\nn,0.75\n')
    assert read_collection(tmp_path).coverage(['n'])[1:] == [
        'exam: accuracies of 3 of 3 models, 1 of them to fit to'
    ]


def test_models_to_fit_by_default(tmp_path):
    write_folder(tmp_path)
    collection = read_collection(tmp_path)
    splits = {m: info.split for m, info in collection.info.items()}
    assert set(splits.values()) == {'test', 'train', 'validation'}
    assert collection.models_to_fit() == tuple(m for m in splits
                                               if splits[m] != 'test')
    assert collection.models_to_fit(['test']) == tuple(m for m in splits
                                                       if splits[m] == 'test')
    info = {
        model: replace(info, split='')
        for model, info in collection.info.items()
    }
    with pytest.raises(InputError, match='no split'):
        replace(collection, info=info).models_to_fit()


def test_benchmarks_that_means_leave_out(tmp_path):
    write_folder(tmp_path)
    assert read_collection(tmp_path).side == ()
    (tmp_path / 'benchmarks.csv'
     ).write_text('benchmark,chance,n_items,main\nexam,0.25,,0\n')
    assert read_collection(tmp_path).side == ('exam', )


def test_files_that_contradict_each_other_are_refused(tmp_path):
    write_folder(tmp_path, scores='model,exam\nstranger,0.5\n')
    with pytest.raises(InputError, match="models.csv, found 'stranger'"):
        read_collection(tmp_path)
    write_folder(tmp_path)
    with pytest.raises(
            InputError,
            match="in split 'other', found only "
            'test, train, validation'):
        read_collection(tmp_path).models_in('other')
    (tmp_path / 'n.safetensors').unlink()
    with pytest.raises(InputError, match='n.safetensors'):
        read_collection(tmp_path)


def test_losses_on_other_texts_are_refused(tmp_path):
    write_folder(tmp_path)
    write_dumps(tmp_path, {'n': 1.}, OTHER_TEXTS)
    with pytest.raises(
            InputError, match="dump of 'n'.*earlier wording of 'a'"):
        read_collection(tmp_path)


def test_models_without_splits_have_no_split_to_name(tmp_path):
    write_folder(tmp_path, split=False)
    collection = read_collection(tmp_path)
    assert {info.split for info in collection.info.values()} == {''}
    with pytest.raises(InputError, match="in split 'train', found no split"):
        collection.models_in('train')


INFO = {
    'm@1': ModelInfo('m', 'train', .5, 3e11),
    'm@2': ModelInfo('m', '', np.nan),
    'n': ModelInfo('n', 'test', 70.)
}
BENCHMARKS = {
    'exam': BenchmarkInfo(.25, 40, True, 'accuracy'),
    'quiz': BenchmarkInfo(0., 0, False, '')
}
SCORES = {'m@1': {'exam': 1 / 3}, 'n': {'exam': .75, 'quiz': 0.}}


def write(folder):
    dumps = {model: dump(model, i + .5) for i, model in enumerate(INFO)}
    write_collection(folder, TEXTS, dumps, INFO, SCORES, BENCHMARKS)


def test_written_collections_are_read_back(tmp_path):
    write(tmp_path / 'new/collection')
    collection = read_collection(tmp_path / 'new/collection')
    assert collection.texts == TEXTS
    assert repr(collection.info) == repr(INFO)
    described = read_benchmarks(tmp_path / 'new/collection/benchmarks.csv')
    assert described == BENCHMARKS and collection.side == ('quiz', )
    assert losses_in(collection.losses) == {'m@1': .5, 'm@2': 1.5, 'n': 2.5}
    table = collection.accuracies
    assert table.benchmarks == tuple(BENCHMARKS)
    # Models that were not run have a row too.
    np.testing.assert_array_equal(
        table.values, [[1 / 3, np.nan], [np.nan, np.nan], [.75, 0]])
    np.testing.assert_array_equal(table.chance, [.25, 0])
    np.testing.assert_array_equal(table.n_items, [40, 0])


def test_earlier_files_are_replaced(tmp_path):
    write(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_folder(tmp_path)
    write(tmp_path)
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert after == before


@pytest.mark.parametrize('name', LEADING_OUT)
def test_no_model_leads_out_of_the_folder(tmp_path, name):
    """Neither in the tables of a stranger nor in one's own."""
    inside = tmp_path / 'in/side'
    inside.mkdir(parents=True)
    write_folder(inside)
    (inside / 'models.csv').write_text(f'model,family\n{name},a\n')
    (inside / 'scores.csv').write_text(f'model,exam\n{name},0.5\n')
    before = sorted(tmp_path.rglob('*'))
    with pytest.raises(InputError, match='models.csv.*without slashes'):
        read_collection(inside)
    with pytest.raises(InputError, match='without slashes'):
        write_collection(inside / 'new', TEXTS, {name: dump('m', 1.)},
                         {name: ModelInfo('a', '', 1.)}, {}, {})
    assert sorted(tmp_path.rglob('*')) == before
