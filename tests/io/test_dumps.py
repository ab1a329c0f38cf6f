"""Token-loss dumps: round trip, layout, wrong values, and joined shards."""
import dataclasses
import random
import zlib

import numpy as np
import pytest
from hypothesis import given, settings

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.io.containers import read_container
from csv_plugin.io.dumps import (KIND, merge_dumps, read_dump, read_dumps,
                                 write_dump)
from tests.core.loss_dumps import (INFO, LOSSES, NAN, TEXTS, assert_same, dump,
                                   dumps, row, whole)
from tests.io.dump_files import rewrite

LONG = TokenSpans([0, 0], [0, 2**31], 2**31)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'dump.safetensors'


@given(dumps())
@settings(deadline=None, max_examples=15)
def test_round_trip(tmp_path_factory, given_dump):
    path = tmp_path_factory.getbasetemp() / 'dump.safetensors'
    write_dump(path, given_dump)
    assert_same(read_dump(path), given_dump)


def column(arrays, name, dtype):
    """What an array stands for, worked out another way."""
    data = zlib.decompress(arrays[name].tobytes())
    n = len(data) // 4
    numbers = [bytes(data[i::n]) for i in range(n)]
    return np.frombuffer(b''.join(numbers), dtype).tolist()


def test_layout(path):
    write_dump(path, whole())
    header, arrays = read_container(path, KIND, '')
    info = dataclasses.asdict(INFO)
    assert header == {
        'format_version': 1,
        'digest': header['digest'],
        'texts': ['zh', 'en', 'empty'],
        **info
    }
    assert list(header['versions']) == ['numpy', 'torch']  # sorted
    assert arrays['sha256'][1].tobytes().hex() == Text('en', 'a cat').sha256
    whole_numbers = {
        'n_chars': [1, 5, 0],
        'n_bytes': [3, 5, 0],
        'n_tokens': [1, 2, 0],
        'starts': [0, 0, 1],  # of 0, 0, 1
        'ends': [3, -2, 4],  # of 3, 1, 5
    }
    for name, values in whole_numbers.items():
        assert column(arrays, name, '<i4') == values
    assert str(column(arrays, 'losses', '<f4')) == '[2.5, nan, 0.125]'
    assert arrays.keys() == {*whole_numbers, 'losses', 'sha256'}
    # Losses are rounded to float32.
    write_dump(path, dump(row('zh', losses=[1 / 3])))
    text, = read_dump(path).texts
    assert text.losses.dtype == np.float64
    assert text.losses == [float(np.float32(1 / 3))] != [1 / 3]


def test_equal_dumps_make_equal_files(tmp_path):
    paths = tmp_path / 'a', tmp_path / 'b'
    # Another NaN and another order of the versions say the same.
    same = dump(
        row('zh'),
        row('en', losses=-np.array(LOSSES['en']) * [1, -1]),
        row('empty'),
        versions=dict(reversed(INFO.versions.items())))
    for path, written in zip(paths, (whole(), same)):
        write_dump(path, written)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize('changes, message', [
    (dict(losses=[NAN, 1e39]), r'losses .* 1e\+39'),
    (dict(spans=LONG, n_chars=2**30), 'n_bytes .*48'),
])
def test_numbers_beyond_32_bits_leave_the_old_file(path, changes, message):
    write_dump(path, whole())
    before = path.read_bytes()
    with pytest.raises(InputError, match=message):
        write_dump(path, dump(row('zh'), row('en', **changes)))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def forge(path, header=(), arrays=()):
    """Write a dump that someone has changed, and sealed again."""
    write_dump(path, whole())
    rewrite(path, KIND, lambda old: old.update(header), dict(arrays))


def packed(*values, dtype='<i4'):
    planes = np.array(values, dtype).view(np.uint8).reshape(-1, 4).T
    return np.frombuffer(zlib.compress(planes.tobytes()), np.uint8)


@pytest.mark.parametrize('header, message', [
    (dict(engine=1), "a text as 'engine' in the header, found 1"),
    (dict(context='long'), "a count as 'context' in the header"),
    (dict(texts=['zh', 'en']), '2 hashes'),
])
def test_wrong_headers_are_refused(path, header, message):
    forge(path, header)
    with pytest.raises(InputError, match=f'^{path}.*{message}'):
        read_dump(path)
    # Whatever else is there is passed over.
    forge(path, dict(more=1), dict(more=np.ones(3)))
    assert_same(read_dump(path), whole())


@pytest.mark.parametrize('arrays, message', [
    (dict(losses=None), "an array 'losses' of bytes, found none"),
    (dict(losses=np.ones(9, np.uint8)), "'losses': .* compressed column"),
    (dict(losses=packed(1., 2., 3., 4., dtype='<f4')), 'expected 3 numbers'),
    (dict(losses=packed(1., 2., 3., dtype='<f4')[:-1]), 'expected 3 numbers'),
    (dict(sha256=np.zeros((3, 31), np.uint8)), 'expected 3 hashes'),
    (dict(n_tokens=packed(1, 3, -1)), "'n_tokens': .* 0 or more, found -1"),
    (dict(n_tokens=packed(2**31 - 1, 1, 0)), f'expected {2**31} numbers'),
    (dict(losses=packed(2.5, NAN, -.01, dtype='<f4')),
     "text 'en': .* losses of 0 or more"),
    (dict(losses=packed(np.inf, NAN, 1, dtype='<f4')), "'zh': .* found inf"),
    (dict(ends=packed(3, -2, 5)), 'token 1: .* in 0..5 .* 6'),
])
def test_wrong_values_are_refused_with_the_place(path, arrays, message):
    forge(path, (), arrays)
    with pytest.raises(InputError, match=f'^{path}.*{message}'):
        read_dump(path)


def test_a_little_file_that_stands_for_much_is_not_unpacked(path, monkeypatch):
    bomb = np.frombuffer(zlib.compress(bytes(2**22)), np.uint8)
    forge(path, (), dict(starts=bomb))
    sizes = []
    monkeypatch.setattr('csv_plugin.io.dumps.len',
                        lambda data: sizes.append(len(data)) or len(data),
                        raising=False)  # yapf: disable
    with pytest.raises(InputError, match='expected 3 numbers'):
        read_dump(path)
    assert max(sizes) < 1000


def test_dumps_of_many_models(tmp_path):
    paths = {'x': tmp_path / 'a', 'y': tmp_path / 'b'}
    write_dump(paths['x'], whole())
    chars = row(
        'en', spans=TokenSpans(range(5), range(1, 6), 5), losses=[0.5] * 5)
    write_dump(paths['y'], dump(row('empty'), chars, row('zh')))
    losses = read_dumps(paths, TEXTS)
    assert (list(losses), losses.texts) == (['x', 'y'], TEXTS)
    assert_same(losses['x'], whole())
    assert [text.text_id for text in losses['y'].texts] == list(TEXTS.ids)
    write_dump(paths['y'], whole(fingerprint='0' * 64))
    with pytest.raises(
            InputError, match=f'{TEXTS.fingerprint}, .* {"0" * 64}'):
        read_dumps(paths, TEXTS)


def test_many_dumps_take_no_object_per_text(tmp_path, monkeypatch):
    paths = [tmp_path / f'{i}.safetensors' for i in range(2)]
    for path in paths:
        write_dump(path, whole())
    made = []
    for kind in (TokenLosses, TokenSpans):
        monkeypatch.setattr(kind, '__post_init__', made.append)
    one, other = (dump.texts for dump in read_dumps(paths, TEXTS).values())
    assert one.spans is other.spans and one.hashes is other.hashes
    assert not made


def test_merged_texts_stand_in_the_order_of_the_set():
    shards = [dump(row(text_id)) for text_id in TEXTS.ids]
    random.Random(0).shuffle(shards)
    assert_same(merge_dumps(iter(shards), TEXTS), whole())
    assert_same(merge_dumps(2 * shards, TEXTS), whole())
    assert len(merge_dumps(shards[:2]).texts) == 2
    by_name = dump(row('empty'), row('en'), row('zh'))
    assert_same(merge_dumps([*shards, shards[0], by_name]), by_name)


@pytest.mark.parametrize('changes', [
    dict(losses=[NAN, np.nextafter(0.125, 1)]),
    dict(spans=TokenSpans([0, 2], [2, 5], 5)),
    dict(sha256='0' * 64),
])
def test_contradictory_texts_are_refused(changes):
    shards = [dump(row('en')), dump(row('en', **changes)), dump(row('zh'))]
    for order in (shards, shards[::-1]):
        with pytest.raises(InputError, match="different losses on 'en'"):
            merge_dumps(order)


@pytest.mark.parametrize('changes', [
    dict(fingerprint='0' * 64),
    dict(versions={'torch': '2.2'}),
])
def test_shards_of_different_origin_are_refused(changes):
    name, = changes
    shards = [dump(row('zh')), dump(row('en')), dump(row('empty'), **changes)]
    with pytest.raises(
            InputError, match=f'the same {name} in all shards, found'):
        merge_dumps(shards)


@pytest.mark.parametrize('folders, expected', [(['m', 'm'], 'm'),
                                               (['', 'm'], ''),
                                               (['m', 'n', 'm'], '')])
def test_shards_may_be_scored_in_different_places(folders, expected):
    rows = row('zh'), row('en'), row('empty')
    shards = [dump(text, folder=folder) for text, folder in zip(rows, folders)]
    assert merge_dumps(shards).info.folder == expected


@pytest.mark.parametrize('texts, message', [
    ([row('zh')], "no losses on 'empty', 'en'. Score"),
    ([*map(row, TEXTS.ids),
      row('en', text_id='b'),
      row('en', text_id='a')], "on unknown texts, 'a', 'b'. Read"),
    ([row('zh'), row('empty'),
      row('en', sha256='0' * 64)], "another wording of 'en'. Score"),
])
def test_texts_other_than_the_expected_are_refused(texts, message):
    with pytest.raises(InputError, match=f"dump of 'org/模型': .*{message}"):
        merge_dumps([dump(*texts)], TEXTS)
