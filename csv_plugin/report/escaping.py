"""Names from other people, written so that they do no harm in a document."""
from itertools import chain

#: Marks that turn the direction of what follows.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F),
               *range(0x2066, 0x206A))
#: Halves of surrogate pairs that stand alone, as in names of files that are
#: not Unicode. UTF-8 cannot encode them.
_SURROGATES = range(0xD800, 0xE000)
_BREAKS = '\t\n'

_VISIBLE: dict[int, int | str] = {
    # Each control character has a picture 0x2400 above it.
    **{code: 0x2400 + code
       for code in range(0x20) if chr(code) not in _BREAKS},
    0x7F: 0x2421,
    **{code: f'⟨U+{code:04X}⟩'
       for code in chain(range(0x80, 0xA0), _DIRECTIONS, _SURROGATES)}
}  # yapf: disable


def table_cell(text: str) -> str:
    r"""A text inside a cell of a Markdown table: one line that reads the same.

    >>> table_cell('a|b <i>\nc')
    'a\\|b &lt;i> c'
    """
    line = ' '.join(text.split())
    return line.replace('\\', '\\\\').replace('|', '\\|').replace('<', '&lt;')


def visible(text: str) -> str:
    r"""A text with pictures or code points for characters without a glyph.

    These are control characters, marks that turn the direction of a line,
    and lone surrogates. Tabs and line feeds stay.

    >>> visible('a\x00b\r\n\u202ec')
    'a␀b␍\n⟨U+202E⟩c'
    """
    return text.translate(_VISIBLE)
