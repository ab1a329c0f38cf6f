r"""Escapes of names from elsewhere, one function for each destination.

Usual names stay as they are.

>>> name = '=1+2\n[a](http://b.c)|\u202e'
>>> one_line(name)
'=1+2\\n[a](http://b.c)|\\u202e'
>>> markdown(name)
'=1+2 \\[a](http:\\//b.c)\\|\\\\u202e'
>>> csv_cell(name) == "'" + name
True
"""
import re
from collections.abc import Iterable
from itertools import chain
from unicodedata import category, normalize

#: Marks that change the direction of writing.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F),
               *range(0x2066, 0x206A))
#: Separators and spaces without a width.
_WITHOUT_WIDTH = (0x034F, 0x115F, 0x1160, 0x180E, 0x200B, 0x2028, 0x2029,
                  *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x3164,
                  0xFEFF, 0xFFA0)
#: These, and those that choose a variant of the character before.
_WITHOUT_GLYPH = {*_WITHOUT_WIDTH, *range(0xFE00, 0xFE10)}
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
       for code in chain(range(0x80, 0xA0), _DIRECTIONS, _WITHOUT_WIDTH,
                         _SURROGATES)}
}  # yapf: disable

#: Markup of GitHub's Markdown: escapes, cells and code; links and pictures;
#: pairs of marks; underscores at the edge of a word; entities; addresses;
#: tags; and, at the beginning, headings, quotations, lists and rules.
_MARKS = re.compile(r'[\\|`\[]|([*~$])(?=.*\1)|(?<![^\W_])_|_(?![^\W_])|'
                    r'&(?=#?\w+;)|(?<=:)/(?=/)|(?<=\bwww)\.|<|'
                    r'^(?:>|[#*+-](?=[#\s])|-(?=--))')
_ENTITIES = {'&': '&amp;', '<': '&lt;'}
#: A cell that programs for tables read as a formula. Some of them accept the
#: signs of double width.
_FORMULA = re.compile(r"'*(?:\s*[=+\-@＝＋－＠]|[\t\r\n])")
#: Characters that are not allowed in names of files.
_NOT_IN_FILE_NAMES = re.compile(r'^[.]|[/\x00-\x1f\x7f\ud800-\udfff]')


def visible(text: str) -> str:
    """Replace characters without a glyph by pictures or code points.

    Tabs and line feeds stay.
    """
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    """Write characters without a glyph as Python escapes, all on one line."""
    return ''.join(
        c if c.isprintable() and ord(c) not in _WITHOUT_WIDTH else c.
        encode('unicode_escape').decode() for c in text)


def same_look(text: str) -> str:
    """Return one form of all texts that hardly differ for a reader.

    Letter case, widths of characters and spaces do not count, nor do
    characters without a glyph.

    >>> same_look('Ｌla\u00adMA  2 ') == same_look('llama 2')
    True
    """
    seen = ''.join(
        c for c in normalize('NFKC', text)
        if category(c) != 'Cf' and ord(c) not in _WITHOUT_GLYPH)
    return ' '.join(normalize('NFKC', seen.casefold()).split())


def did_you_mean(missing: Iterable[str], known: Iterable[str]) -> str:
    """Return a question on known names that look like missing ones, or ''.

    >>> did_you_mean(['MMLU', 'x'], ['mmlu', 'arc'])
    "Did you mean 'mmlu'? "
    """
    by_look = {same_look(name): repr(name) for name in known}
    near = [by_look[look] for look in map(same_look, missing)
            if look in by_look]  # yapf: disable
    return f'Did you mean {", ".join(near[:3])}? ' if near else ''


def markdown(text: str) -> str:
    """Escape a text for a cell or an item of Markdown, on one line.

    Addresses of web pages do not become links; those of e-mail may.
    """
    line = one_line(' '.join(text.split()))
    return _MARKS.sub(lambda m: _ENTITIES.get(m[0], '\\' + m[0]), line)


def csv_cell(text: str) -> str:
    """Escape a text for a CSV file, so that no program reads it as a formula.

    An apostrophe goes before `=`, `+`, `-`, `@` and the like; `from_csv_cell`
    removes it.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_csv_cell(cell: str) -> str:
    """Return the text of a cell by `csv_cell`."""
    escaped = cell.startswith("'") and _FORMULA.match(cell)
    return cell[1:] if escaped else cell


def is_file_name(name: str) -> bool:
    """Return True if a file in a folder can have the name."""
    return name != '' and not _NOT_IN_FILE_NAMES.search(name)
