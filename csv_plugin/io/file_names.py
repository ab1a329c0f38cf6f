"""Names from others that become parts of paths lead to no other folder."""
from collections.abc import Iterable
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import is_file_name


def check_file_names(where: str, names: Iterable[Any], remedy: str) -> None:
    """Refuse names that cannot be those of files of one folder.

    Args:
        where (str): What to call a name in an error, such as `model`.
        names (Iterable): The names.
        remedy (str): What the user can do, for errors.

    Raises:
        InputError: A name is no text or empty, begins with a dot or holds a
            slash, a control character, or a byte that is no text.
    """
    for name in names:
        if not isinstance(name, str) or not is_file_name(name):
            raise InputError(
                f'{where} {name!r}', 'a name without slashes or a leading '
                'dot, as for a file', repr(name), remedy)
