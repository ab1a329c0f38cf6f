"""Dumps in memory: what they keep, and what they refuse."""
import dataclasses

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import ModelLosses, mixed_engine_notes
from csv_plugin.core.texts import Text, TextSet
from tests.core.loss_dumps import INFO, SPANS, TEXTS, dump, row, whole
from tests.runs import on_texts

#: Two of the three texts, as a validation set of its own.
PART = TextSet((TEXTS.texts[0], TEXTS.texts[2]))


@pytest.mark.parametrize('texts, message', [
    ([row('zh'), row('en'), row('zh')], "every name once, found 'zh' twice"),
    ([row('zh'), row('en', sha256='')], "text 'en': expected the sha256"),
])
def test_bad_dumps_are_refused(texts, message):
    with pytest.raises(InputError, match=f"dump of 'org/模型'.*{message}"):
        dump(*texts)


def losses(*models):
    return ModelLosses(TEXTS, {model: whole(model=model) for model in models})


OTHER_TEXTS = TextSet((*TEXTS, Text('more', 'x')))


@pytest.mark.parametrize('bad', [
    whole(fingerprint=OTHER_TEXTS.fingerprint),
    dump(row('zh'), row('en')),
    dump(row('zh'), row('en', sha256=TEXTS.texts[0].sha256), row('empty')),
])
def test_dumps_of_other_texts_are_refused(bad):
    with pytest.raises(InputError, match=r"^losses of 'b': .* the 3 texts"):
        ModelLosses(TEXTS, {'a': whole(), 'b': bad})


def test_select_keeps_the_order_that_is_asked_for():
    chosen = losses('a', 'b', 'c').select(['c', 'a'])
    assert list(chosen) == ['c', 'a']
    assert chosen['c'].info.model == 'c'
    with pytest.raises(InputError, match="found none of 'd'"):
        losses('a').select(['a', 'd'])


def test_the_second_losses_of_a_model_count():
    first = losses('a', 'b')
    second = ModelLosses(TEXTS, {m: whole(tokenizer='t') for m in ('b', 'c')})
    both = first | second
    assert list(both) == ['a', 'b', 'c']
    assert [both[model].info.tokenizer
            for model in both] == [INFO.tokenizer, 't', 't']
    assert list(first) == ['a', 'b']
    with pytest.raises(InputError, match='Score the texts'):
        first | on_texts(first, PART)


def test_tokens_of_a_model_are_those_of_its_dump():
    tokens = losses('a').tokens_of('a')
    assert list(tokens.spans) == SPANS
    assert tokens.text_ids == TEXTS.ids
    assert tokens.fingerprint == TEXTS.fingerprint
    with pytest.raises(InputError, match="none of 'b'"):
        losses('a').tokens_of('b')


def scored(**changes):
    """Two models of one way, and one with a change of it."""
    return {'a': INFO, 'b': INFO, 'c': dataclasses.replace(INFO, **changes)}


@pytest.mark.parametrize('change, words', [
    (dict(engine='vllm'), 'vllm, bfloat16, no cache'),
    (dict(dtype='float32'), 'transformers, float32, no cache'),
    (dict(cache_dtype='fp8'), 'transformers, bfloat16, cache in fp8'),
])
def test_models_of_different_engines_and_number_formats(change, words):
    for same in (dict(tokenizer='words'), dict(versions={'torch': '3'})):
        assert mixed_engine_notes(scored(**same)) == []
    [line] = mixed_engine_notes(scored(**change))
    assert 'transformers, bfloat16, no cache (a and 1 more); ' in line
    assert f'; {words} (c). Half precision' in line


@pytest.mark.parametrize('package', ['transformers', 'vllm'])
def test_models_of_different_versions(package):
    """Those that are not known, and torch, give no note."""

    def notes(*versions):
        models = (dataclasses.replace(INFO, versions=v) for v in versions)
        return mixed_engine_notes(dict(zip('abc', models)))

    old, new = {package: '4.57.6', 'torch': '2.13'}, {package: '5.24.0'}
    assert notes(old, {**old, 'torch': '3'}, {}) == []
    assert notes(old, {package: 'unknown'}) == []
    [line] = notes(old, new, new)
    assert (f'{package} 4.57.6 (a); {package} 5.24.0 (b and 1 more). Two '
            'versions') in line
    assert line.endswith(f'the same version of {package}.')
    # Beside the note about number formats.
    half = dataclasses.replace(INFO, dtype='float16', versions=new)
    assert len(
        mixed_engine_notes({
            'a': dataclasses.replace(INFO, versions=old),
            'b': half
        })) == 2
