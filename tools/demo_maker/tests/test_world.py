"""The invented world: its books, its exams and what they must not share."""
import hashlib
import re
from collections import Counter

import pytest

from tools.demo_maker.world import (KINDS, documents, exam, sums, swaps,
                                    validation_texts)
from tools.demo_maker.world.books import different_items

CHOICE, WORKED = KINDS[:3], KINDS[3:]


@pytest.fixture(scope='module')
def books():
    """A large sample: 300,000 characters of each kind, as documents."""
    return {kind: list(documents(kind, 300_000, 7)) for kind in KINDS}


def examined(kind):
    """All items on which models are judged."""
    return exam(kind) + different_items(kind, 'validation', 50)


def test_the_world_is_pinned():
    # Checkpoints were trained on these words, and predictors were fitted to
    # these validation texts.
    digest = hashlib.sha256(validation_texts().fingerprint.encode())
    for kind in KINDS:
        digest.update(repr(exam(kind)).encode())
        digest.update('\n\n'.join(documents(kind, 50_000, 0)).encode())
    assert digest.hexdigest()[:12] == '0133b1b6808e'


@pytest.mark.parametrize('kind', KINDS)
def test_no_document_holds_a_question_of_the_exams(kind, books):
    lines = '\n\n'.join(books[kind])
    for item in examined(kind):
        assert item.question not in lines


def operations(text):
    """The numbers of a story of sums, without its words."""
    story = text.split('\nAnswer:')[0].removeprefix('Question: ')
    numbers = []
    for sentence in story.split('. ')[:-1]:
        number = int(re.search(r'\d+', sentence)[0])
        fewer = re.search(r'gives|sells|loses', sentence)
        numbers.append(-number if fewer else number)
    return tuple(numbers)


def check_sum(question, answer, label):
    total, *changes = operations(question)
    steps = re.findall(r'(\d+) ([+-]) (\d+) = (\d+)\.', answer)
    assert len(steps) == len(changes)
    for change, (before, sign, by, after) in zip(changes, steps):
        assert (int(before), int(sign + by)) == (total, change)
        total += change
        assert total == int(after) and 0 <= total <= sums.LARGEST
    assert answer.endswith(f' The answer is {total}.')
    assert label in (None, str(total))


def check_swaps(question, answer, label):
    start, *told, asked, end = question.removeprefix('Question: ').split('\n')
    assert (asked, end) == ('Who has which ball now?', 'Steps:')
    balls = dict(pair.split() for pair in start.rstrip('.').split(', '))
    friends = list(balls)
    assert friends == sorted(friends) and set(friends) < set(swaps.FRIENDS)
    assert sorted(balls.values()) == sorted(swaps.COLOURS)
    *steps, final = answer.strip().split('\n')
    assert len(steps) == len(told) and len(told) in (2, 3)
    pairs = []
    for order, line, step in zip(('First', 'Then', 'Last'), told, steps):
        first, second = re.fullmatch(rf'{order} (\w+) and (\w+) swap\.',
                                     line).groups()
        given = f'{line[:-1]} {balls[first]} and {balls[second]}'
        balls[first], balls[second] = balls[second], balls[first]
        state = ', '.join(f'{name} {balls[name]}' for name in friends)
        assert step == f'{given}: {state}.'
        pairs.append((first, second))
    assert all(first < second for first, second in pairs)
    assert all(map(tuple.__ne__, pairs, pairs[1:]))
    assert final == f'Answer: {state}.'
    assert label in (None, state)


CHECKS = {'sums': check_sum, 'swaps': check_swaps}


@pytest.mark.parametrize('kind', WORKED)
def test_worked_answers_are_right(kind):
    for item in examined(kind):
        CHECKS[kind](item.question, item.answer, item.label)
        assert item.options == ()


@pytest.mark.parametrize('kind', CHOICE)
def test_the_commonest_option_scores_at_chance(kind, books):
    text = '\n'.join(books[kind])
    seen = {}
    right = 0
    items = exam(kind)
    for item in items:
        ends = [re.sub('^ (?:He|She|So) ', '', end) for end in item.options]
        for end in ends:
            if end not in seen:
                seen[end] = text.count(end)
        commonest = max(range(4), key=lambda i: seen[ends[i]])
        right += item.options[commonest] == item.answer
    assert right / len(items) == pytest.approx(0.25, abs=0.1)


def test_validation_texts_mark_their_answers():
    texts = validation_texts()
    assert Counter(text.source for text in texts) == dict.fromkeys(KINDS, 50)
    for kind in KINDS:
        items = different_items(kind, 'validation', 50)
        for item, text in zip(items, (t for t in texts if t.source == kind)):
            start, end = text.answer
            assert text.text == item.question + item.answer
            assert text.text[start:end] == item.answer.strip()
