"""Contributions of several groups make one collection, in any order."""
import csv
import itertools

import numpy as np
import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import main
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped
from csv_plugin.extras.sharing.contributions import write_contribution
from csv_plugin.extras.sharing.merging import GIVERS, merge_contributions
from csv_plugin.io.collection import read_collection, write_collection
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo
from tests.io import dump_files
from tests.io.dump_files import TEXTS, dump
from tests.io.zoo_parts import MODELS, small_zoo, write_part


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope='module')
def zoo(tmp_path_factory):
    return small_zoo(tmp_path_factory.mktemp('zoo') / 'whole', 60)


@pytest.fixture(scope='module')
def five(zoo, tmp_path_factory):
    """Five contributions; the last gives a model again that the first has."""
    folder = tmp_path_factory.mktemp('five')
    paths = []
    for i in range(5):
        models = MODELS[i::5] + (MODELS[:1] if i == 4 else ())
        part = write_part(folder / str(i), zoo, models)
        paths.append(folder / f'{i}.tar')
        write_contribution(paths[-1], part, f'Lab {i}', 'CC BY 4.0')
    return paths


def predictor_bytes(collection, models, path):
    """A predictor that is fitted to all of the models."""
    cp.save(
        cp.fit(
            collection.losses.select(models),
            collection.accuracies.select(models, ['scenes']),
            collection.families), path)
    return path.read_bytes()


@pytest.mark.slow
def test_merging_five_equals_the_whole(zoo, five, tmp_path):
    """In any order, with equal bytes, and so does training on it."""
    orders = [five, five[::-1], five[2:] + five[:2]]
    results = []
    for i, order in enumerate(orders):
        merge_contributions(order, zoo.texts, tmp_path / f'{i}')
        results.append(contents(tmp_path / f'{i}'))
    assert all(result == results[0] for result in results)
    whole = tmp_path / 'whole.tar'
    write_contribution(whole, write_part(tmp_path / 'part', zoo, MODELS), 'A',
                       'B')
    merge_contributions([whole], zoo.texts, tmp_path / 'once')
    once = contents(tmp_path / 'once')
    assert once.keys() == results[0].keys()
    assert {name
            for name in once if once[name] != results[0][name]} == {GIVERS}
    merged = read_collection(tmp_path / '0')
    models = sorted(MODELS)
    assert list(merged.losses) == models
    assert predictor_bytes(merged, models, tmp_path / 'a') == predictor_bytes(
        zoo, models, tmp_path / 'b')


def test_all_givers_are_named(zoo, five, tmp_path):
    gifts = merge_contributions([five[4], five[0]], zoo.texts, tmp_path / 'm')
    with open(tmp_path / 'm' / GIVERS, newline='', encoding='utf-8') as file:
        rows = list(csv.reader(file))
    assert rows == [['model', 'benchmark', 'giver', 'licence'],
                    *map(list, gifts)]
    both = MODELS[0]
    assert [gift[2] for gift in gifts
            if gift[:2] == (both, '')] == ['Lab 0', 'Lab 4']
    assert (both, 'scenes', 'Lab 4', 'CC BY 4.0') in gifts
    assert {gift[2] for gift in gifts if gift[0] == MODELS[5]} == {'Lab 0'}


EXAM = {'exam': BenchmarkInfo(.25, 40, True, '')}


def pack(folder, losses, info=None, scores=None, benchmarks=EXAM, texts=TEXTS):
    """A contribution that is called after its folder."""
    info = info or {model: ModelInfo('f', '', np.nan) for model in losses}
    write_collection(folder, texts, {
        model: dump(model, loss, texts)
        for model, loss in losses.items()
    }, info, scores or {}, benchmarks)
    path = folder.with_suffix('.tar')
    write_contribution(path, folder, folder.name, 'MIT')
    return path


def test_what_one_leaves_open_another_says(tmp_path):
    paths = [
        pack(tmp_path / 'a', {'m': 1.}, {'m': ModelInfo('f', '', np.nan)},
             {'m': {'exam': .5}}, {'exam': BenchmarkInfo(.25, 0, True, '')}),
        pack(tmp_path / 'b', {'m': 1.}, {'m': ModelInfo('f', 'train', 7)},
             {'m': {'quiz': .3}},
             {'quiz': BenchmarkInfo(0, 9, False, 'f1')}),
        pack(tmp_path / 'c', {'n': 1.}, scores={'n': {'exam': .1}})
    ]  # yapf: disable
    for i, order in enumerate(itertools.permutations(paths)):
        merge_contributions(order, TEXTS, tmp_path / f'{i}')
        assert contents(tmp_path / f'{i}') == contents(tmp_path / '0')
    merged = read_collection(tmp_path / '0')
    assert merged.info['m'] == ModelInfo('f', 'train', 7)
    assert merged.accuracies.to_dict() == {
        'm': {
            'exam': .5,
            'quiz': .3
        },
        'n': {
            'exam': .1,
            'quiz': None
        }
    }
    assert merged.accuracies.n_items.tolist() == [40, 9]
    assert merged.side == ('quiz', )


@pytest.mark.parametrize('expected, change', [
    ("the same losses of 'm'", dict(losses={'m': 2.})),
    ('the same model m family', dict(info={'m': ModelInfo('g', '', np.nan)})),
    ('the same accuracy m exam', dict(scores={'m': {'exam': .75}})),
    ('the same benchmark exam chance',
     dict(benchmarks={'exam': BenchmarkInfo(.5, 40, True, '')})),
])  # yapf: disable
def test_doubles_that_disagree_are_refused(tmp_path, expected, change):
    given = dict(losses={'m': 1.}, scores={'m': {'exam': .5}})
    paths = [
        pack(tmp_path / 'a', **given),
        pack(tmp_path / 'b', **given | change)
    ]
    for order in (paths, paths[::-1]):
        with pytest.raises(InputError) as error:
            merge_contributions(order, TEXTS, tmp_path / 'merged')
        assert expected in str(error.value)
        assert 'a.tar' in str(error.value) and 'b.tar' in str(error.value)
    assert not (tmp_path / 'merged').exists()


def test_other_texts_and_damage_are_refused(tmp_path):
    good = pack(tmp_path / 'a', {'m': 1.})
    other = pack(tmp_path / 'b', {'n': 1.}, texts=dump_files.OTHER_TEXTS)
    cut = tmp_path / 'c.tar'
    cut.write_bytes(good.read_bytes()[:-100])
    for bad in (other, cut, tmp_path / 'none.tar'):
        with pytest.raises(InputError, match=bad.name):
            merge_contributions([good, bad], TEXTS, tmp_path / 'merged')
    assert not (tmp_path / 'merged').exists()


def test_a_folder_with_files_stays_as_it_is(tmp_path):
    good = pack(tmp_path / 'a', {'m': 1.})
    with pytest.raises(InputError, match='a new or empty folder'):
        merge_contributions([good], TEXTS, tmp_path / 'a')
    with pytest.raises(InputError, match='at least one'):
        merge_contributions([], TEXTS, tmp_path / 'merged')


@pytest.mark.long
def test_the_whole_zoo_over_five_contributions(tmp_path):
    """All of its models, by the commands."""
    whole = read_collection(shipped.COLLECTION)
    models = tuple(sorted(whole.losses))
    paths = []
    for i in range(5):
        part = write_part(tmp_path / f'part-{i}', whole, models[i::5])
        paths.append(str(tmp_path / f'{i}.tar'))
        assert main([
            'contribute', '--collection',
            str(part), '--giver', f'Lab {i}', '--licence', 'CC BY 4.0',
            '--out', paths[-1]
        ]) == 0
    for name, order in (('a', paths), ('b', paths[3:] + paths[2::-1])):
        assert main([
            'merge', *order, '--texts',
            str(shipped.TEXTS), '--out',
            str(tmp_path / name)
        ]) == 0
    assert contents(tmp_path / 'a') == contents(tmp_path / 'b')
    merged = read_collection(tmp_path / 'a')
    assert predictor_bytes(merged, models, tmp_path / 'c') == predictor_bytes(
        whole, models, tmp_path / 'd')
