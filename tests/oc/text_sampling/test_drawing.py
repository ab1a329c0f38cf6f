"""Draws are even, free of repetitions and the same everywhere."""
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.oc.text_sampling.benchmark_texts import Subtask
from csv_plugin.oc.text_sampling.drawing import (REPEATED, SHOWN_AS_EXAMPLE,
                                                 sample_texts)
from csv_plugin.oc.text_sampling.recipes import TextSource


def subtask(name, n_items, asked='{name} {place}', examples=''):
    """Questions are called after their sub-task and place."""

    def render(place):
        prompt = asked.format(name=name, place=place) + '? '
        return Text(
            str(place), prompt + 'yes', '', (len(prompt), len(prompt) + 3))

    return Subtask(name, range(n_items), render, examples)


def draw(subtasks, count, seed=0, seen=None, name='s'):
    return sample_texts(
        TextSource(name, 'd', count), subtasks, seed,
        set() if seen is None else seen)


def ids(subtasks, count, seed=0):
    return [text.text_id for text in draw(subtasks, count, seed).texts]


def per_subtask(sample):
    return Counter(t.text_id.split('/')[1] for t in sample.texts)


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
    sample = draw(subtasks, count, seed)
    assert len(sample.texts) == count and not sample.passed_over
    assert len({text.text for text in sample.texts}) == count
    taken = per_subtask(sample)
    most = max(taken.values())
    for task in subtasks:
        assert taken[task.name] >= min(most - 1, len(task.items))


@given(st.integers(0, 99), st.integers(1, 14))
def test_more_texts_include_the_fewer(seed, count):
    subtasks = [subtask(f't{i}', 5) for i in range(3)]
    assert set(ids(subtasks, count,
                   seed)) < set(ids(subtasks, count + 1, seed))


def test_the_draw_is_pinned():
    """The same digests are computed on every machine."""
    assert ids([subtask('x', 1000), subtask('y', 1000)],
               5) == ['s/x/137', 's/x/788', 's/x/881', 's/y/236', 's/y/689']


def test_seed_and_source_change_the_draw():
    subtasks = [subtask('x', 1000), subtask('y', 1000)]
    drawn = [set(ids(subtasks, 5, seed)) for seed in range(3)]
    assert not drawn[0] & drawn[1] and not drawn[1] & drawn[2]
    other_source = {
        't.' + text.text_id[2:]
        for text in draw(subtasks, 5, name='t').texts
    }
    assert not other_source & {'t.' + text_id[2:] for text_id in drawn[0]}


def test_order_of_the_texts():
    drawn = ids([subtask('y', 30), subtask('x', 30)], 30)
    keys = [(i.split('/')[1] == 'x', int(i.split('/')[2])) for i in drawn]
    assert keys == sorted(keys) and len(set(keys)) == 30


def test_answers_and_sources_are_kept():
    text, = draw([subtask('x', 1)], 1).texts
    assert text == Text('s/x/0', 'x 0? yes', 's', (5, 8))


def test_texts_are_drawn_once():
    """White space aside; `x 1` was drawn before."""
    seen = {'x 1? yes'}
    subtasks = [subtask('x', 9), subtask('y', 9, 'x   {place}')]
    sample = draw(subtasks, 8, seen=seen)
    assert {' '.join(text.text.split())
            for text in sample.texts} | {'x 1? yes'} == seen == {
                f'x {i}? yes'
                for i in range(9)
            }
    assert set(sample.passed_over) == {REPEATED}
    with pytest.raises(
            InputError, match=f'1 items, found 0 .*18 .*{REPEATED}'):
        draw(subtasks, 1, seen=seen)


def test_questions_may_be_the_same():
    """Or empty, where all of a text is the answer."""

    def render(place):
        return Text(str(place), f'{place}', '', (0, 1))

    for examples in ('', 'whatever'):
        task = Subtask('x', range(5), render, examples)
        assert len(draw([task], 5).texts) == 5


def test_without_a_question_the_whole_text_is_looked_up():

    def render(place):
        return Text(str(place), f'boat {place}', '', (0, 6))

    task = Subtask('x', range(3), render, 'boat 1 boat 2')
    sample = draw([task], 1)
    assert [t.text_id for t in sample.texts] == ['s/x/0']
    with pytest.raises(InputError, match='2 items, found 1 .*2 .*example'):
        draw([task], 2)


def test_too_few_items():
    with pytest.raises(InputError, match='3 items, found 2. Ask for fewer'):
        draw([subtask('x', 2)], 3)
    with pytest.raises(InputError, match='found 0. Choose'):
        draw([Subtask('x', (), None)], 3)


def test_questions_shown_as_examples_are_left_out():
    sample = draw([subtask('x', 4, examples='So: x 2? yes x 3? no')], 2)
    assert [t.text_id for t in sample.texts] == ['s/x/0', 's/x/1']
    assert set(sample.passed_over) <= {SHOWN_AS_EXAMPLE}
    with pytest.raises(InputError, match='3 items, found 2 .*2 .*example'):
        draw([subtask('x', 4, examples='So: x 2? yes x 3? no')], 3)


def test_failures_are_reported():

    def render(place):
        if place % 2:
            raise KeyError('column')
        return subtask('x', 9).render(place)

    sample = draw([Subtask('x', range(4), render)], 2)
    assert [t.text_id for t in sample.texts] == ['s/x/0', 's/x/2']
    with pytest.raises(InputError, match="2 passed over because .*'column'"):
        draw([Subtask('x', range(4), render)], 3)
    failing = draw([Subtask('x', range(40), render)], 20).passed_over
    reason, failed = failing.popitem()
    assert reason == "KeyError: 'column'" and not failing
    assert all(int(f.removeprefix('s/x/')) % 2 for f in failed)
