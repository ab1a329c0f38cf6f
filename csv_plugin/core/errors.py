"""The one exception for input that cannot be used."""


class InputError(ValueError):
    """Bad input: where it is, what was expected and found, what to do.

    Args:
        where (str): The file, argument or item at fault.
        expected (str): What would have been accepted.
        found (str): What was there instead, the bad value included.
        remedy (str): What the user can do about it, one sentence.

    >>> raise InputError('scores.csv, line 3', 'a fraction in 0..1', '54.3',
    ...                  'Divide percentages by 100.')
    Traceback (most recent call last):
    ...
    csv_plugin.core.errors.InputError: scores.csv, line 3: expected a \
fraction in 0..1, found 54.3. Divide percentages by 100.
    """

    def __init__(self, where: str, expected: str, found: str,
                 remedy: str) -> None:
        super().__init__(f'{where}: expected {expected}, found {found}. '
                         f'{remedy}')
