"""The shipped texts are frozen; their programs and equations are right."""
import contextlib
import hashlib
import io
import re
from collections import Counter
from fractions import Fraction
from importlib.resources import files

import csv_plugin as cp
from csv_plugin.io.text_sets import subtask_name

TEXTS = cp.shipped_texts()

_NUMBER = r'\(*\d+(?:\.\d+)?\)*'
_EQUATION = re.compile(rf'(-?{_NUMBER}(?:\s*[-+×/÷]\s*{_NUMBER})+)'
                       r'\s*=\s*(-?\d+(?:\.\d+)?)')


def test_they_are_those_that_were_verified():
    """All answers were, as docs/validation_sets.md says."""
    data = (files('csv_plugin.data') / 'shipped_texts.jsonl').read_bytes()
    assert hashlib.sha256(data).hexdigest() == (
        '30021e6f46141758c31255a23aa9f817da77234e4e15cb3380768092819e2d57')
    counts = Counter(map(subtask_name, TEXTS))
    assert len(TEXTS) == 500 and len(counts) == 22
    assert (counts['code_en'], counts['code_zh']) == (32, 8)
    assert TEXTS.licences == {'csv_plugin': 'CC0 1.0'}
    for text in TEXTS:
        assert 0 < text.answer[0] < text.answer[1] == len(text.text)


def test_every_equation_is_right():
    count = 0
    for text in TEXTS:
        if 'code' in text.text_id:
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


def test_programs_print_their_answers():
    for text in TEXTS:
        if 'code' not in text.text_id:
            continue
        question, program = text.text[:text.answer[0]].split('\n\n', 1)
        program, last = program.rsplit('\n\n', 1)
        assert last in ('Output:\n', '输出：\n'), text.text_id
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(program, {})
        answer = text.text[text.answer[0]:]
        assert printed.getvalue().rstrip() == answer, text.text_id
