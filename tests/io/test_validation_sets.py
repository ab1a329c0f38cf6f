"""The shipped texts are those whose answers were verified."""
import hashlib
from collections import Counter
from importlib.resources import files

import csv_plugin as cp
from csv_plugin.io.text_sets import subtask_name

TEXTS = cp.shipped_texts()


def test_they_are_those_that_were_verified():
    """All answers were, as docs/validation_sets.md says."""
    data = (files('csv_plugin') / 'data' / 'shipped_texts.jsonl').read_bytes()
    assert hashlib.sha256(data).hexdigest() == (
        '30021e6f46141758c31255a23aa9f817da77234e4e15cb3380768092819e2d57')
    counts = Counter(map(subtask_name, TEXTS))
    assert len(TEXTS) == 500 and len(counts) == 22
    assert (counts['code_en'], counts['code_zh']) == (32, 8)
    for text in TEXTS:
        assert 0 < text.answer[0] < text.answer[1] == len(text.text)
