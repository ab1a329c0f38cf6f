"""JSON from outside is one value, or an error in one line."""
import json
from math import inf

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.json_files import check_fields, parse_json, read_json_rows

VALUE = {'names': ['é', '猫', '"\\', ''], 'numbers': [0, -1.5, True, None]}


def parse(text):
    return parse_json(text, 'a.json, line 2', 'Repair it.')


def test_values_are_those_of_json():
    text = json.dumps(VALUE)
    assert parse(text) == VALUE
    assert parse(b'\xef\xbb\xbf' + text.encode()) == VALUE
    assert parse('"\\ud83d\\ude00"') == '😀'


@pytest.mark.parametrize('text, found', [
    ('', 'Expecting value'),
    ('{} {}', 'Extra data'),
    ('[NaN]', 'the number NaN'),
    ('[' * 100_000 + ']' * 100_000, 'recursion depth'),
    ('{"\\udfff": 1}', "'utf-8' codec can't encode character"),
    (b'"caf\xe9"', "'utf-8' codec can't decode byte 0xe9"),
])
def test_what_is_no_json_is_refused(text, found):
    with pytest.raises(InputError, match=found) as error:
        parse(text)
    message = str(error.value)
    assert message.startswith('a.json, line 2: expected JSON in UTF-8, found')
    assert message.endswith('. Repair it.')
    assert '\n' not in message and len(message) < 250


@pytest.mark.parametrize('expected, value, wrong', [
    ('a text', '', 3),
    ('a number or null', None, 'x'),
    ('a number or null', 0.5, True),
    ('a number or null', 2, float('inf')),
    ('a count', 0, -1),
    ('a count', 7, 7.0),
    ('a list', [1], {}),
    ('a list of texts', ['x'], ['x', 1]),
    ('pairs of texts', [['x', 'y']], [['x']]),
    ('texts by name', dict(x='y'), dict(x=1)),
])
def test_fields_have_types(expected, value, wrong):
    check_fields('f.json', 'the header', {'x': value}, {'x': expected}, 'Do.')
    for values in ({'x': wrong}, {'y': value}):
        with pytest.raises(
                InputError,
                match=f"^f.json: expected {expected} as 'x' in the header, "):
            check_fields('f.json', 'the header', values, {'x': expected},
                         'Do.')
    with pytest.raises(InputError, match='the header with named fields'):
        check_fields('f.json', 'the header', [1], {}, 'Do.')


def test_rows_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / 'rows.jsonl'
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"a": Infinity}\n')
    rows = read_json_rows(path, 'Save it again.')
    assert [row.fields for row in rows] == [{'a': 1}, {'a': inf}]
