"""Texts as UTF-8 bytes, and the fingerprint of a set of texts."""
import hashlib
from collections.abc import Iterable

from csv_plugin.core.errors import InputError


def utf8_bytes(text: str, where: str = 'text') -> bytes:
    r"""The UTF-8 bytes of a text.

    Args:
        text (str): Any text without lone surrogates.
        where (str): What to call the text in an error.

    Returns:
        bytes: The encoded text, with no byte order mark.

    Raises:
        InputError: The text holds a lone surrogate (half of a UTF-16 pair),
            which is no character and has no bytes.

    >>> utf8_bytes('né')
    b'n\xc3\xa9'
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


def fingerprint(pairs: Iterable[tuple[str, str]]) -> str:
    """SHA-256 of an ordered set of texts, by which files recognise it.

    Every id and every text is hashed behind its length in bytes (8 bytes,
    big-endian), so no two different sets are hashed as the same bytes.

    Args:
        pairs (Iterable[tuple[str, str]]): Each text's id and the text.

    Returns:
        str: 64 hexadecimal digits.

    Raises:
        InputError: An id occurs twice, or UTF-8 cannot encode an id or a
            text.

    >>> fingerprint([('a', 'bc')]) == fingerprint([('ab', 'c')])
    False
    """
    digest = hashlib.sha256()
    seen: set[str] = set()
    for text_id, text in pairs:
        if text_id in seen:
            raise InputError('text ids', 'every id once', f'{text_id!r} twice',
                             'Rename one of the two.')
        seen.add(text_id)
        for field, where in ((text_id, f'text id {text_id!r}'),
                             (text, f'text {text_id!r}')):
            data = utf8_bytes(field, where)
            digest.update(len(data).to_bytes(8, 'big'))
            digest.update(data)
    return digest.hexdigest()
