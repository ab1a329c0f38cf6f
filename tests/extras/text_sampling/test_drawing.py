"""Draws are even, free of repetitions and the same everywhere."""
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.demo import shipped
from csv_plugin.extras.text_sampling import drawing
from csv_plugin.extras.text_sampling.drawing import (REPEATED, SOURCES,
                                                     TextSource,
                                                     build_validation_set,
                                                     sample_texts)
from csv_plugin.extras.text_sampling.host_datasets import (benchmark_name,
                                                           find_config)
from csv_plugin.extras.text_sampling.prompts import Subtask
from csv_plugin.lm.tokens.tokenization import tokenize_all
from tests.extras.text_sampling import invented

SHARED = Path(__file__).resolve().parents[4] / 'shared'


def subtask(name, n_items, asked='{name} {place}', examples=''):
    """Questions are called after their sub-task and place."""

    def render(place):
        prompt = asked.format(name=name, place=place) + '? '
        return Text(
            str(place), prompt + 'yes', '', (len(prompt), len(prompt) + 3))

    return Subtask(name, range(n_items), render, examples)


def draw(subtasks, count, seed=0, seen=None, name='s'):
    """Texts of a source, and what was passed over."""
    return sample_texts(
        TextSource(name, 'd', count), subtasks, seed,
        set() if seen is None else seen)


def ids(subtasks, count, seed=0, **more):
    return [text.text_id for text in draw(subtasks, count, seed, **more)[0]]


@given(st.data(), st.integers(1, 7), st.integers(0, 99))
def test_subtasks_have_equal_shares(data, n_subtasks, seed):
    sizes = data.draw(
        st.lists(st.integers(0, 9), min_size=n_subtasks, max_size=n_subtasks))
    count = data.draw(st.integers(1, max(1, sum(sizes))))
    subtasks = [subtask(f't{i}', size) for i, size in enumerate(sizes)]
    if sum(sizes) < count:
        with pytest.raises(InputError, match=f'{count} items, found 0'):
            draw(subtasks, count, seed)
        return
    texts, passed_over = draw(subtasks, count, seed)
    assert len(texts) == count and not passed_over
    assert len({text.text for text in texts}) == count
    taken = Counter(text.text_id.split('/')[1] for text in texts)
    most = max(taken.values())
    for task in subtasks:
        assert taken[task.name] >= min(most - 1, len(task.items))


def test_the_draw_is_pinned():
    """The same digests are computed on every machine; others by seed, name."""
    subtasks = [subtask('x', 1000), subtask('y', 1000)]
    first = ['s/x/137', 's/x/788', 's/x/881', 's/y/236', 's/y/689']
    assert ids(subtasks, 5) == first
    assert not set(ids(subtasks, 5, seed=1)) & set(first)
    others = [text_id[1:] for text_id in ids(subtasks, 5, name='t')]
    assert not set(others) & {text_id[1:] for text_id in first}


def test_texts_are_drawn_once():
    """White space aside; `x 1` was drawn before."""
    seen = {'x 1? yes'}
    subtasks = [subtask('x', 9), subtask('y', 9, 'x   {place}')]
    texts, passed_over = draw(subtasks, 8, seen=seen)
    assert {' '.join(text.text.split())
            for text in texts} | {'x 1? yes'} == seen == {
                f'x {i}? yes'
                for i in range(9)
            }
    assert set(passed_over) == {REPEATED}
    with pytest.raises(
            InputError, match=f'1 items, found 0 .*18 .*{REPEATED}'):
        draw(subtasks, 1, seen=seen)


def test_questions_may_be_empty():
    """Where all of a text is the answer, it is looked up in the examples."""

    def render(place):
        return Text(str(place), f'boat {place}', '', (0, 6))

    assert len(ids([Subtask('x', range(5), render, '')], 5)) == 5
    task = Subtask('x', range(3), render, 'boat 1 boat 2')
    assert ids([task], 1) == ['s/x/0']
    with pytest.raises(InputError, match='2 items, found 1 .*2 .*example'):
        draw([task], 2)


def test_too_few_items():
    with pytest.raises(InputError, match='3 items, found 2. Ask for fewer'):
        draw([subtask('x', 2)], 3)
    with pytest.raises(InputError, match='found 0. Choose'):
        draw([Subtask('x', (), None)], 3)


def test_questions_shown_as_examples_are_left_out():
    subtasks = [subtask('x', 4, examples='So: x 2? yes x 3? no')]
    texts, passed_over = draw(subtasks, 2)
    assert texts == [
        Text(f's/x/{i}', f'x {i}? yes', 's', (5, 8)) for i in range(2)
    ]
    assert set(passed_over) <= {drawing.SHOWN_AS_EXAMPLE}


def test_failures_are_reported():

    def render(place):
        if place % 2:
            raise KeyError('column')
        return subtask('x', 9).render(place)

    with pytest.raises(InputError, match="2 passed over because .*'column'"):
        draw([Subtask('x', range(4), render)], 3)
    texts, failing = draw([Subtask('x', range(40), render)], 20)
    assert len(texts) == 20
    reason, failed = failing.popitem()
    assert reason == "KeyError: 'column'" and not failing
    assert all(int(f.removeprefix('s/x/')) % 2 for f in failed)


# Validation sets of several benchmarks

RECIPE = (TextSource('sums', 'gsm8k_gen_17d0dc',
                     3), TextSource('bbh', 'bbh_gen_98fba6', 30),
          TextSource('chains', 'bbh_gen_98fba6', 60, True))


@pytest.fixture
def invented_data(data):
    invented.gsm8k(data, *[f'How many are {i}?' for i in range(5)])
    invented.bbh(data, 3)
    return data


@pytest.mark.slow
def test_texts_and_manifest(invented_data):
    jobs = []

    def progress(loaded):
        jobs.extend(loaded)
        return loaded

    built = build_validation_set(RECIPE, seed=3, progress=progress)
    assert len(jobs) == 1 + 27 + 27
    sources = [text.source for text in built.texts]
    assert Counter(sources) == dict(sums=3, bbh=30, chains=60)
    assert sources == sorted(sources, key=['sums', 'bbh', 'chains'].index)
    manifest = built.manifest
    assert manifest['fingerprint'] == built.texts.fingerprint
    assert (manifest['n_texts'], manifest['seed']) == (93, 3)
    assert manifest['versions']['opencompass']
    assert [TextSource(**s) for s in manifest['recipe']] == list(RECIPE)
    sums, bbh, chains = manifest['sources']
    assert sums['subtasks'] == {'gsm8k': 3}
    assert bbh['dataset'] == 'bbh_gen_98fba6'
    assert set(bbh['subtasks'].values()) == {1, 2}
    assert (bbh['n_subtasks'], chains['n_subtasks']) == (27, 27)
    # Six of the tasks share their examples with another.
    repeated, = chains['passed_over'].values()
    assert all('_objects/' in text_id for text_id in repeated)
    # A source is the same whatever the others are.
    alone = build_validation_set(RECIPE[:1], seed=3).texts
    assert built.texts.texts[:3] == alone.texts
    assert build_validation_set(RECIPE[:1]).texts.ids != alone.ids


def test_sources_share_no_text(invented_data):
    twice = [TextSource(name, 'gsm8k_gen_17d0dc', 3) for name in 'ab']
    with pytest.raises(InputError, match="'b': expected 3 items, found 2 .3 "):
        build_validation_set(twice)


@pytest.mark.slow
def test_sources_that_cannot_be_loaded_are_named(invented_data):
    (invented_data / 'data/BBH/data/navigate.json').write_text('{')
    with pytest.raises(
            InputError,
            match='2 that cannot be loaded: bbh .navigate: data: .* found '
            'JSONDec.*; hellaswag .*: expected data in '):
        build_validation_set((*RECIPE[:2], SOURCES['hellaswag']))


@pytest.mark.long
@pytest.mark.skipif(
    not (SHARED / 'data').is_dir(),
    reason='the benchmark data is not at ../shared/data')
def test_the_recipe_of_the_paper(monkeypatch):
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(SHARED))
    # The data of the other one are not there.
    n_texts = dict(mmlu=100, bbh=100, gsm8k=100, cmmlu=100, bbh_cot=50)
    built = build_validation_set([SOURCES[name] for name in n_texts])
    texts = built.texts
    assert Counter(text.source for text in texts) == n_texts
    for source in built.manifest['sources']:
        counts = Counter(source['subtasks'].values())
        assert source['n_subtasks'] == dict(
            mmlu=57, bbh=27, cmmlu=67, bbh_cot=27).get(source['name'], 1)
        assert max(counts) - min(counts) <= (1 if source['name'] != 'bbh_cot'
                                             else 2)
        assert set(source['passed_over']) <= {REPEATED}
    assert len({text.text for text in texts}) == len(texts)
    for text in texts:
        check(text)
    tokenizer = AutoTokenizer.from_pretrained(shipped.ZOO / 'a/tokenizer')
    assert len(tokenize_all(tokenizer, texts.texts)) == len(texts)


def check(text):
    start, end = text.answer
    answer = text.text[start:]
    assert end == len(text.text) and answer == answer.strip()
    assert start > 10 and text.text == text.text.strip()
    for debris in ('</E>', '####', '<<', 'HUMAN', 'BOT', '{input}',
                   '{question}', '\nNone\n', 'Follow the given examples',
                   'multiple choice questions', '单项选择题，请'):
        assert debris not in text.text, text.text
    if text.source in ('mmlu', 'cmmlu'):
        assert answer in [*'ABCD']


def test_samples():
    assert drawing.recipe_of_samples([
        ('bbh_cot', 5), ('hellaswag_ppl_9dbb12', 7)
    ]) == (TextSource('bbh_cot', 'bbh_gen_98fba6', 5,
                      True), TextSource('hellaswag', 'hellaswag_ppl_9dbb12',
                                        7))


@pytest.mark.parametrize('samples, message', [
    ([('gsm8k', 5), ('gsm8k_gen_1d7fe4', 5)], "--sample: .*'gsm8k' twice"),
    ([('gsm9k', 5)], "dataset 'gsm9k': .*found none"),
])
def test_bad_samples(samples, message):
    with pytest.raises(InputError, match=message):
        drawing.recipe_of_samples(samples)


@pytest.mark.slow
def test_the_texts_of_the_paper_are_of_pinned_configs():
    counts = {source.name: source.count for source in drawing.PAPER_RECIPE}
    assert counts == dict.fromkeys(
        ('mmlu', 'bbh', 'gsm8k', 'hellaswag', 'cmmlu'), 100) | {
            'bbh_cot': 50
        }
    for source in SOURCES.values():
        assert source.chain_of_thought == (source.name == 'bbh_cot')
        assert find_config(source.dataset).stem == source.dataset
        assert benchmark_name(
            source.dataset) == source.name.removesuffix('_cot')
        assert len(source.dataset.rpartition('_')[2]) == 6  # a hash
