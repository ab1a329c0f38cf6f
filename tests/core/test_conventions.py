"""Errors, names that occur twice, and short representations."""
from pathlib import Path

import pytest

from csv_plugin.core.conventions import InputError, check_list, check_unique


def test_an_error_is_one_line_that_a_terminal_shows():
    error = InputError('a\x1b[2J/b', 'text', 'x\n\t\u202ey\udcff\x00é猫', 'Go.')
    assert str(error) == (r'a\x1b[2J/b: expected text, found '
                          r'x  \u202ey\udcff\x00é猫. Go.')


def test_an_error_is_short_whatever_it_quotes():
    found = f'{"a" * 5000}\n{"z" * 5000}'
    message = str(InputError(found, found, found, found))
    assert message.count(' ... ') == 4 and 950 < len(message) < 1000
    assert message.startswith('a' * 140) and message.endswith('z' * 70)
    assert len(str(InputError('', '', '\U000e0001' * 9999, ''))) < 1000
    # A long part has the room that the others leave.
    names = ', '.join(map(str, range(200)))
    assert names in str(InputError('models', 'losses', names, 'Score them.'))


@pytest.mark.parametrize('one, shown', [('a-b', "'a-b'"),
                                        (Path('a/b'), "'a/b'")])
def test_one_name_is_no_list(one, shown):
    """It would be read letter by letter."""
    with pytest.raises(InputError) as error:
        check_list('models', one)
    assert str(error.value) == (f'models: expected a list, found {shown}. '
                                f'Put it into a list: [{shown}].')
    with pytest.raises(InputError, match='models: expected a list'):
        check_unique('models', one)
    check_unique('models', [one])
    with pytest.raises(InputError, match='models: .* twice'):
        check_unique('models', [one, 'b', one])
