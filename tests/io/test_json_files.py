"""JSON from outside is one value, or an error in one line."""
import json

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.json_files import parse_json, read_json

VALUE = {
    'names': ['é', '猫', '"\\', ''],
    'numbers': [0, -1.5, 2**63 - 1, 1e300, True, None],
    'inner': {
        'deep': [[[{}]]]
    }
}


def parse(text):
    return parse_json(text, 'a.json, line 2', 'Repair it.')


@pytest.mark.parametrize('ascii_only', [True, False])
def test_values_are_those_of_json(ascii_only):
    text = json.dumps(VALUE, ensure_ascii=ascii_only)
    assert parse(text) == VALUE
    assert parse(text.encode()) == VALUE
    assert parse(b'\xef\xbb\xbf' + text.encode()) == VALUE
    assert parse('"\\ud83d\\ude00"') == '😀'
    assert parse('[' * 50 + '1' + ']' * 50)


@pytest.mark.parametrize('text, found', [
    ('', 'Expecting value'),
    ('{"a": 1', "Expecting ',' delimiter"),
    ('{} {}', 'Extra data'),
    ('{"a": 1, "a": 1}', "the key 'a' twice"),
    ('[{"a": {"b": 1, "\\u0062": 2}}]', "the key 'b' twice"),
    (f'{{"{"a" * 999}": 1, "{"a" * 999}": 1}}', f'the key {"a" * 80!r} twice'),
    ('[NaN]', 'the number NaN'),
    ('-Infinity', 'the number -Infinity'),
    ('1e400', 'a number too large for 64 bits'),
    ('{"a": [-1e400]}', 'a number too large for 64 bits'),
    (str(10**400), 'a whole number too large for 64 bits'),
    (str(2**63), 'a whole number too large for 64 bits'),
    ('9' * 10_000, 'Exceeds the limit'),
    ('[' * 51 + '1' + ']' * 51, 'more than 50 levels of lists and objects'),
    ('[' * 100_000 + ']' * 100_000, 'more than 50 levels'),
    ('{"a":' * 990 + '1' + '}' * 990, 'more than 50 levels'),
    ('["\\ud800"]', r'half a character, U\+D800'),
    ('{"\\udfff": 1}', r'half a character, U\+DFFF'),
    (b'"\xed\xa0\x80"', "'utf-8' codec can't decode byte 0xed"),
    (b'"caf\xe9"', "'utf-8' codec can't decode byte 0xe9"),
    ('[1]'.encode('utf-16'), "'utf-8' codec can't decode byte 0xff"),
    (b'["a\0"]', 'Invalid control character'),
])
def test_whatever_has_no_one_meaning_is_refused(text, found):
    with pytest.raises(InputError, match=found) as error:
        parse(text)
    message = str(error.value)
    assert message.startswith('a.json, line 2: expected JSON in UTF-8, found')
    assert message.endswith('. Repair it.')
    assert '\n' not in message and len(message) < 250


def test_a_file_is_named_in_errors(tmp_path):
    path = tmp_path / 'a.json'
    path.write_text(json.dumps(VALUE))
    assert read_json(path, 'Repair it.') == VALUE
    path.write_text('{')
    with pytest.raises(InputError, match=f'^{path}: expected JSON'):
        read_json(path, 'Repair it.')
    with pytest.raises(InputError, match='No such file'):
        read_json(tmp_path / 'b.json', 'Repair it.')
