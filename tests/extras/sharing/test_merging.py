"""Contributions of several groups make one collection, in any order."""
import itertools

import numpy as np
import pytest

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.sharing.contributions import write_contribution
from csv_plugin.extras.sharing.merging import GIVERS, merge_contributions
from csv_plugin.io.collection import read_collection, write_collection
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo
from tests.io.dump_files import TEXTS, dump, losses_in


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


EXAM = {'exam': BenchmarkInfo(.25, 40, True, '')}


def pack(folder, losses, info=None, scores=None, benchmarks=EXAM, texts=TEXTS):
    """A contribution that is called after its folder."""
    info = info or {model: ModelInfo('f', '', np.nan) for model in losses}
    write_collection(folder, texts, {
        model: dump(model, loss, texts)
        for model, loss in losses.items()
    }, info, scores or {}, benchmarks)
    path = folder.with_suffix('.zip')
    write_contribution(path, folder, folder.name, 'MIT')
    return path


def test_merging_three_equals_the_whole(tmp_path):
    """In any order, with equal bytes; the last gives a model again."""
    losses = {'c': 1., 'a': 2., 'b': 3., 'd': 4.}
    scores = {'a': {'exam': .5}, 'b': {'exam': 1 / 3}, 'd': {'exam': 0}}

    def packed(name, *models):
        return pack(
            tmp_path / name, {model: losses[model]
                              for model in models},
            scores={
                model: scores[model]
                for model in models if model in scores
            })

    parts = [packed('1', 'c', 'a'), packed('2', 'b'), packed('3', 'd', 'a')]
    for i, order in enumerate(itertools.permutations(parts)):
        merge_contributions(order, TEXTS, tmp_path / f'm{i}')
        assert contents(tmp_path / f'm{i}') == contents(tmp_path / 'm0')
    gifts = merge_contributions([packed('all', *losses)], TEXTS,
                                tmp_path / 'whole')
    parts, whole = contents(tmp_path / 'm0'), contents(tmp_path / 'whole')
    assert parts.keys() == whole.keys()
    assert {name for name in whole if whole[name] != parts[name]} == {GIVERS}
    assert gifts[:3] == [('a', '', 'all', 'MIT'), ('a', 'exam', 'all', 'MIT'),
                         ('b', '', 'all', 'MIT')]
    table = (tmp_path / 'whole' / GIVERS).read_text('utf-8').splitlines()
    assert table[:2] == ['model,benchmark,giver,licence', 'a,,all,MIT']
    both = (tmp_path / 'm0' / GIVERS).read_text('utf-8').splitlines()
    assert both[1:3] == ['a,,1,MIT', 'a,,3,MIT']
    merged = read_collection(tmp_path / 'm0')
    assert losses_in(merged.losses) == losses
    assert merged.accuracies.to_dict() == {
        'a': {
            'exam': .5
        },
        'b': {
            'exam': 1 / 3
        },
        'c': {
            'exam': None
        },
        'd': {
            'exam': 0
        }
    }


def test_what_one_leaves_open_another_says(tmp_path):
    paths = [
        pack(tmp_path / 'a', {'m': 1.}, {'m': ModelInfo('f', '', np.nan)},
             {'m': {'exam': .5}}, {'exam': BenchmarkInfo(.25, 0, True, '')}),
        pack(tmp_path / 'b', {'m': 1.}, {'m': ModelInfo('f', 'train', 7)},
             {'m': {'quiz': .3}},
             {'quiz': BenchmarkInfo(0, 0, False, 'f1')}),
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
    # How many items the quiz has, nobody says.
    assert merged.accuracies.n_items.tolist() == [40, 0]
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
        assert 'a.zip' in str(error.value) and 'b.zip' in str(error.value)
    assert not (tmp_path / 'merged').exists()


def test_a_folder_with_files_stays_as_it_is(tmp_path):
    good = pack(tmp_path / 'a', {'m': 1.})
    with pytest.raises(InputError, match='a new or empty folder'):
        merge_contributions([good], TEXTS, tmp_path / 'a')
    (tmp_path / 'empty').mkdir()
    assert merge_contributions([good], TEXTS, tmp_path / 'empty')
    with pytest.raises(InputError, match='at least one'):
        merge_contributions([], TEXTS, tmp_path / 'merged')
