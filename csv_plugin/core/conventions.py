"""The error that is raised for bad input, and checks of names and texts."""
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice


class InputError(ValueError):
    """Report bad input: where it is, what was expected and found, what to do.

    The message is one line of at most 1,000 printable characters. Longer texts
    are cut in the middle.

    Args:
        where (str | PathLike): The file, argument or item at fault.
        expected (str): Description of acceptable input.
        found (str): The bad value.
        remedy (str): What to do about it, one sentence.

    >>> print(InputError('scores.csv, line 3', 'a fraction in 0..1', '54.3',
    ...                  'Divide percentages by 100.'))
    scores.csv, line 3: expected a fraction in 0..1, found 54.3. Divide \
percentages by 100.
    """

    def __init__(self, where: str | os.PathLike[str], expected: str,
                 found: str, remedy: str) -> None:
        # The four texts have at most 950 characters together. Three of them
        # have at most 230 each; `found` may have what these leave.
        most_in_all = 950
        most_in_part = 230
        place = _line(os.fspath(where), most_in_part)
        expected = _line(expected, most_in_part)
        remedy = _line(remedy, most_in_part)
        n_left = most_in_all - len(place) - len(expected) - len(remedy)
        found = _line(found, n_left)
        super().__init__(f'{place}: expected {expected}, found {found}. '
                         f'{remedy}')


class PublicNames:
    """Base class: tab completion offers no private names of its objects."""

    def __dir__(self) -> list[str]:
        """Return all names but the private ones."""
        names = []
        for name in super().__dir__():
            is_special = name.startswith('__')
            if is_special or not name.startswith('_'):
                names.append(name)
        return names


def _line(text: str, width: int) -> str:
    """Return the text as one line of at most `width` printable characters.

    A text that is too long loses its middle.
    """
    line = ''
    for letter in re.sub(r'\s', ' ', text):
        if not letter.isprintable():
            letter = letter.encode('unicode_escape').decode()
        line += letter
    if len(line) <= width:
        return line
    n_last = width // 3
    n_first = width - n_last - len(' ... ')
    return f'{line[:n_first]} ... {line[-n_last:]}'


def utf8_bytes(text: str, where: str = 'text') -> bytes:
    """Return the UTF-8 bytes of a text.

    Raises an `InputError`, which calls the text `where`, for a text with a
    lone surrogate.
    """
    try:
        return text.encode('utf-8')
    except UnicodeEncodeError as error:
        raise InputError(
            where, 'text that UTF-8 can encode',
            f'the lone surrogate U+{ord(text[error.start]):04X} at '
            f'character {error.start}',
            'Repair the source of the text, or replace that character.'
        ) from None


def check_type(where: str, given: object, kind: type | tuple[type, ...],
               expected: str, remedy: str) -> None:
    """Raise an `InputError` if an argument is not of the type `kind`."""
    if not isinstance(given, kind):
        found = 'None' if given is None else f'a {type(given).__name__}'
        raise InputError(where, expected, found, remedy)


def check_list(where: str, several: object) -> None:
    """Raise an `InputError` if a text or a path is given instead of a list."""
    if isinstance(several, (str, os.PathLike)):
        name = repr(os.fspath(several))
        raise InputError(where, 'a list', name,
                         f'Put it into a list: [{name}].')


def check_unique(where: str,
                 names: Iterable[str],
                 remedy: str = 'Rename or remove one of the two.') -> None:
    """Raise an `InputError` if a name occurs twice, or names are no list."""
    check_list(where, names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(where, 'every name once', f'{name!r} twice',
                             remedy)
        seen.add(name)


def nearest_names(missing: Iterable[str],
                  known: Iterable[str],
                  simplify: Callable[[str], str] = str.casefold) -> str:
    """Return 'Did you mean ...? ' with known names, or '' if none is similar.

    Names are compared after `simplify`, which removes differences that a
    reader hardly sees. Only names with the same digits count as similar, as
    names with other digits mean other models or items. Known names are
    suggested for the first three of the missing names.
    """
    known_names = {simplify(name): name for name in known}
    near = []
    # Only three, as a search among many known names takes long.
    for name in islice(missing, 3):
        simple = simplify(name)
        wanted = digits(simple)
        alike = [other for other in known_names if digits(other) == wanted]
        for nearest in get_close_matches(simple, alike, n=1, cutoff=0.75):
            near.append(repr(known_names[nearest]))
    if not near:
        return ''
    listed = ', '.join(near)
    return f'Did you mean {listed}? '


def digits(text: str) -> str:
    """Return the digits of a text as one string, in their order."""
    return ''.join(filter(str.isdigit, text))


def check_choice(where: str,
                 name: str,
                 choices: Collection[str],
                 remedy: str = 'Choose one of these.') -> None:
    """Raise an `InputError` if `name` is not one of the choices."""
    if name not in choices:
        listed = ', '.join(choices)
        similar = nearest_names([name], choices)
        raise InputError(where, f'one of {listed}', repr(name),
                         similar + remedy)


def check_known(where: str,
                names: Iterable[str],
                known: Collection[str],
                remedy: str = 'Collect its losses or leave it out.') -> None:
    """Raise an `InputError` if a model of `names` is missing from `known`.

    `where` says what `known` has for each model, such as 'families'. The
    message then says: expected families of every model.
    """
    check_list('models', names)
    for name in names:
        if name not in known:
            similar = nearest_names([name], known)
            raise InputError(where, f'{where} of every model',
                             f'none of {name!r}', similar + remedy)


def families_of_models(families: Mapping[str, str],
                       models: Sequence[str]) -> list[str]:
    """Return the family of each model, in the order of the models.

    `families` maps models to their families. Raises an `InputError` if it is
    no mapping, or if a model has no family.
    """
    check_type('families', families, Mapping, '{model: family}',
               'dict(zip(models, families)) makes it from two lists.')
    found = []
    for model in models:
        family = families.get(model)
        # pandas puts NaN or NA into empty cells.
        if not isinstance(family, str) or not family:
            similar = ''
            if model not in families:
                similar = nearest_names([model], families)
            raise InputError('families', 'the family of every model, a text',
                             f'{family!r} of {model!r}',
                             f'{similar}Name the family of this model.')
        found.append(family)
    return found
