"""Shards of one dump, joined: the same in any order, or one clear error."""
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.shards import merge_dumps
from tests.core.loss_dumps import (INFO, NAN, TEXTS, assert_same, bare, dump,
                                   dumps, row, whole)


@st.composite
def sharded(draw):
    """A dump sorted by text id, and shards that cover and overlap it."""
    drawn = draw(dumps())
    texts = sorted(drawn.texts, key=lambda text: text.text_id)
    parts = draw(
        st.lists(
            st.sets(st.sampled_from(range(len(texts))))
            if texts else st.just(set()),
            min_size=1,
            max_size=4))
    parts.append(set(range(len(texts))).difference(*parts))
    shards = [
        dump(*draw(st.permutations([texts[i] for i in sorted(part)])))
        for part in parts
    ]
    return dump(*texts), shards, draw(st.permutations(shards))


@given(sharded())
@settings(deadline=None)
@pytest.mark.slow
def test_merging_is_order_free_and_idempotent(case):
    expected, shards, shuffled = case
    assert_same(merge_dumps(shards), expected)
    assert_same(merge_dumps(shuffled), expected)
    assert_same(merge_dumps(shards + shards), expected)
    assert_same(merge_dumps([merge_dumps(shards), *shards]), expected)


def test_merged_texts_stand_in_the_order_of_the_set():
    shards = [dump(row(text_id)) for text_id in TEXTS.ids]
    random.Random(0).shuffle(shards)
    assert_same(merge_dumps(iter(shards), TEXTS), whole())


def test_an_unscored_token_is_the_same_in_every_shard():
    other_nan = -np.array([NAN, -0.125])
    shards = [dump(row('en')), dump(row('en', losses=other_nan))]
    bits = {shard.texts[0].losses.tobytes() for shard in shards}
    assert len(bits) == 2
    assert len(merge_dumps(shards).texts) == 1


@pytest.mark.parametrize('changes', [
    dict(losses=[NAN, np.nextafter(0.125, 1)]),
    dict(losses=[0.125, 0.125], entropy=[0.125, 0.125], rank=[7, 7]),
    dict(entropy=[NAN, 0.2]),
    dict(rank=[-1, 8]),
    dict(token_ids=[5, 6]),
    dict(token_ids=None, rank=None, entropy=None),
    dict(spans=TokenSpans([0, 2], [2, 5], 5)),
    dict(n_chars=4),
    dict(sha256='0' * 64),
])
@pytest.mark.parametrize('backward', [False, True])
def test_contradictory_texts_are_refused(changes, backward):
    shards = [dump(row('en')), dump(row('en', **changes)), dump(row('zh'))]
    message = "'org/模型': .* found different losses on 'en'. Remove"
    with pytest.raises(InputError, match=message):
        merge_dumps(shards[::-1] if backward else shards)


def test_zeros_of_either_sign_are_not_the_same_bits():
    shards = [dump(row('zh', losses=[zero])) for zero in (0.0, -0.0)]
    with pytest.raises(InputError, match="different losses on 'zh'"):
        merge_dumps(shards)


@pytest.mark.parametrize('changes', [
    dict(fingerprint='0' * 64),
    dict(model='other'),
    dict(tokenizer='other'),
    dict(prefix='none'),
    dict(dtype='float16'),
    dict(context=0),
    dict(stride=1),
    dict(versions={'torch': '2.2'}),
    dict(engine='vllm'),
    dict(cache_dtype='float16'),
])
def test_shards_of_different_origin_are_refused(changes):
    (name, value), = changes.items()
    values = f'{getattr(INFO, name)!r} and {value!r}'
    shards = [dump(row('zh')), dump(row('en')), dump(row('empty'), **changes)]
    message = (f"'org/模型': expected the same {name} in all, "
               f'found {re.escape(values)}')
    with pytest.raises(InputError, match=message):
        merge_dumps(shards)


@pytest.mark.parametrize('folders, expected', [(['m', 'm'], 'm'),
                                               (['', 'm'], ''),
                                               (['m', ''], ''),
                                               (['m', 'n', 'm'], '')])
def test_shards_may_be_scored_in_different_places(folders, expected):
    rows = row('zh'), row('en'), row('empty')
    shards = [dump(text, folder=folder) for text, folder in zip(rows, folders)]
    assert merge_dumps(shards).info.folder == expected


def test_shards_with_other_records_are_refused():
    with pytest.raises(InputError, match="'zh': expected token_ids to be rec"):
        merge_dumps([dump(bare('zh')), dump(row('en'))])


@pytest.mark.parametrize('texts, message', [
    ([row('zh')], "no losses on 'empty', 'en'. Score"),
    ([*map(row, TEXTS.ids),
      row('en', text_id='b'),
      row('en', text_id='a')], "on unknown texts, 'a', 'b'. Read"),
    ([row('zh'), row('empty'),
      row('en', sha256='0' * 64)], "an earlier wording of 'en'. Score"),
])
def test_texts_other_than_the_expected_are_refused(texts, message):
    with pytest.raises(InputError, match=f"dump of 'org/模型': .*{message}"):
        merge_dumps([dump(*texts)], TEXTS)


def test_long_lists_of_text_ids_are_cut():
    many = TextSet(Text(f't{i:02}', '') for i in range(11))
    with pytest.raises(InputError, match="'t08', 't09' and 1 more. Score"):
        merge_dumps([dump()], many)
    ten = TextSet(many.texts[:10])
    with pytest.raises(InputError, match="'t08', 't09'. Score"):
        merge_dumps([dump()], ten)


def test_another_fingerprint_is_refused_and_both_are_named():
    backward = TextSet(TEXTS.texts[::-1])
    message = f'{backward.fingerprint}, found .*{TEXTS.fingerprint}'
    with pytest.raises(InputError, match=message):
        merge_dumps([whole()], backward)


def test_no_shard_is_refused():
    with pytest.raises(InputError, match='at least one, found none'):
        merge_dumps([], TEXTS)
