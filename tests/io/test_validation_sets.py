"""The shipped texts: whether what they say is right, as far as it shows."""
import contextlib
import io
import itertools
import json
import re
import unicodedata
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import csv_plugin as cp
from csv_plugin.io.text_sets import forbidden_uses, is_permissive, subtask_name
from tests.io import text_checks

TEXTS = cp.shipped_texts()
CHECKS = {
    check['text_id']: check['check']
    for check in map(
        json.loads,
        Path(__file__).with_name('shipped_texts_checks.jsonl').read_text(
            'utf-8').splitlines())
}
#: Texts of each kind in English and in Chinese, and how many of both have a
#: check of their answer by calculation.
KINDS = {
    'word_problems': (40, 20, 60),
    'conversions': (25, 15, 40),
    'ordering': (25, 15, 40),
    'logic': (18, 12, 27),
    'dates': (25, 15, 40),
    'tracking': (20, 15, 31),
    'code': (32, 8, 0),
    'reading': (30, 25, 0),
    'everyday': (35, 25, 0),
    'language': (25, 20, 1),
    'knowledge': (30, 25, 0),
}
_NUMBER = r'\(*\d+(?:\.\d+)?\)*'
_EQUATION = re.compile(rf'(-?{_NUMBER}(?:\s*[-+×/÷]\s*{_NUMBER})+)'
                       r'\s*=\s*(-?\d+(?:\.\d+)?)')


def kind_of(text):
    return subtask_name(text).rpartition('_')[0]


def texts_of(kind):
    return [text for text in TEXTS if kind_of(text) == kind]


def answer_in(text):
    return text.text[text.answer[0]:]


def stated(text):
    """The short answer, behind the reasoning if there is any."""
    answer = answer_in(text)
    final = re.search('(?:The answer is |答案是)(.+)[.。]$', answer)
    return final[1] if final else answer


def test_kinds_and_languages():
    counts = Counter(map(subtask_name, TEXTS))
    checked = Counter(
        kind_of(text) for text in TEXTS if text.text_id in CHECKS)
    assert len(TEXTS) == 500 and not set(CHECKS) - set(TEXTS.ids)
    assert {
        kind: (counts[f'{kind}_en'], counts[f'{kind}_zh'], checked[kind])
        for kind in KINDS
    } == KINDS
    for text in TEXTS:
        chinese = len(re.findall('[一-龥]', text.text))
        if kind_of(text) != 'code':
            assert (chinese > 8) == subtask_name(text).endswith('_zh')


def test_everybody_may_use_them():
    assert TEXTS.licences == {'csv_plugin': 'CC0 1.0'}
    assert is_permissive('CC0 1.0') and not forbidden_uses('CC0 1.0')


def test_the_texts_are_clean():
    for text in TEXTS:
        start, end = text.answer
        assert 0 < start < end == len(text.text)
        assert text.text == text.text.strip() and answer_in(text).strip()
        assert not re.search('[ \t]$|\n{3}|[\0-\x09\x0b-\x1f\x7f⟦⟧]',
                             text.text, re.MULTILINE), text.text_id
        assert text.text == unicodedata.normalize('NFC', text.text)


def test_no_two_texts_are_alike():
    """No two share a quarter of the runs of four words of the shorter."""
    shingles = {}
    for text in TEXTS:
        words = re.findall('[a-z0-9]+|[一-龥]', text.text.lower())
        shingles[text.text_id] = {
            tuple(words[i:i + 4])
            for i in range(len(words) - 3)
        }
    where = {}
    for text_id, parts in shingles.items():
        for part in parts:
            where.setdefault(part, []).append(text_id)
    shared = Counter(pair for ids in where.values()
                     for pair in itertools.combinations(ids, 2))
    assert {
        pair: count
        for pair, count in shared.items()
        if count >= min(len(shingles[name]) for name in pair) / 4
    } == {}


def test_every_equation_is_right():
    count = 0
    for text in TEXTS:
        if kind_of(text) == 'code':
            continue
        equations = _EQUATION.findall(text.text)
        # None is written so that the pattern misses it.
        assert len(equations) == text.text.count('='), text.text_id
        for left, right in equations:
            exact = re.sub(r'\d+(?:\.\d+)?', r"Fraction('\g<0>')",
                           left.replace('×', '*').replace('÷', '/'))
            assert eval(exact) == Fraction(right), (text.text_id, left)
            count += 1
    # As docs/validation_sets.md says.
    assert count == 379


def test_answers_are_those_of_the_checks():
    wrong = {
        text.text_id: (stated(text), found)
        for text in TEXTS if text.text_id in CHECKS
        for found in [text_checks.answer_of(CHECKS[text.text_id])]
        if stated(text).rstrip('.') != found.rstrip('.')
    }
    assert wrong == {}


def test_programs_print_their_answers():
    for text in texts_of('code'):
        question, program = text.text[:text.answer[0]].split('\n\n', 1)
        program, last = program.rsplit('\n\n', 1)
        assert last in ('Output:\n', '输出：\n'), text.text_id
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(program, {})
        assert printed.getvalue().rstrip() == answer_in(text), text.text_id


def test_answers_of_passages_stand_in_them():
    for text in texts_of('reading'):
        passage, question = text.text.split('\n\n')
        assert answer_in(text) in passage
        assert answer_in(text) not in question[:-len(answer_in(text))]


def test_labels_are_of_options_and_evenly_spread():
    labels = Counter()
    for text in TEXTS:
        options = ''.join(re.findall(r'^([A-D])\. ', text.text, re.MULTILINE))
        assert options in ('', 'ABCD')
        assert bool(options) == (stated(text) in tuple('ABCD'))
        labels[stated(text) if options else ''] += 1
    assert min(labels.values()) > .8 * sum(labels[label]
                                           for label in 'ABCD') / 4


@pytest.mark.parametrize('lines', [
    ["ranked('a b c', 'a < b', ask='who(1)')"],
    ["ranked('a b', 'a < b', 'b < a', ask='who(1)')"],
])
def test_puzzles_with_no_or_several_answers_are_noticed(lines):
    with pytest.raises(text_checks.NotUniqueError):
        text_checks.answer_of(lines)
