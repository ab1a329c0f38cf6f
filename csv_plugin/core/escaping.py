r"""Names from other people, written so that they do no harm where they go.

One function for each destination. Names of usual letters, digits and signs
stay as they are.

>>> name = '=1+2\n[a](http://b.c)|\u202e'
>>> one_line(name)
'=1+2\\n[a](http://b.c)|\\u202e'
>>> markdown(name)
'=1+2 \\[a](http:\\//b.c)\\|\\\\u202e'
>>> csv_cell(name) == "'" + name
True
>>> file_name('../../a')
'%2E.%2F..%2Fa'
"""
import re
from itertools import chain

#: Marks that turn the direction of what follows.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F),
               *range(0x2066, 0x206A))
#: Separators and spaces without a width. The joiners of emoji and of some
#: scripts are not among them.
_WITHOUT_WIDTH = (0x034F, 0x115F, 0x1160, 0x180E, 0x200B, 0x2028, 0x2029,
                  *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x3164,
                  0xFEFF, 0xFFA0)
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

#: What Markdown, as GitHub reads it, takes for more than text: escapes, cells
#: and code; links and pictures; pairs of marks; underscores that do not stand
#: within a word; names of characters; addresses; tags; and, at the beginning,
#: headings, quotations, lists and rules.
_MARKS = re.compile(r'[\\|`\[]|([*~$])(?=.*\1)|(?<![^\W_])_|_(?![^\W_])|'
                    r'&(?=#?\w+;)|(?<=:)/(?=/)|(?<=\bwww)\.|<|'
                    r'^(?:>|[#*+-](?=[#\s])|-(?=--))')
_ENTITIES = {'&': '&amp;', '<': '&lt;'}
#: A cell that programs for tables read as a formula, perhaps behind
#: apostrophes. The signs of double width count in some of them.
_FORMULA = re.compile(r"'*(?:\s*[=+\-@＝＋－＠]|[\t\r\n])")
#: What a file of one folder is not named after, and would not be found under.
_NOT_IN_FILE_NAMES = re.compile(r'^[.]|[/\x00-\x1f\x7f\ud800-\udfff]')


def visible(text: str) -> str:
    r"""A text with pictures or code points for characters without a glyph.

    These are control characters, marks that turn the direction of a line,
    separators without a width, and lone surrogates. Tabs and line feeds
    stay.

    >>> visible('a\x00b\r\n\u202ec')
    'a␀b␍\n⟨U+202E⟩c'
    """
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    r"""A name for the screen or a file of plain text, all on one line.

    Characters without a glyph are written as Python escapes.

    >>> print(one_line('a\tb\nc\x1b[2J\u202ed'))
    a\tb\nc\x1b[2J\u202ed
    """
    return ''.join(
        c if c.isprintable() and ord(c) not in _WITHOUT_WIDTH else c.
        encode('unicode_escape').decode() for c in text)


def markdown(text: str) -> str:
    r"""A text in a cell or an item of Markdown: one line that reads the same.

    Addresses of web pages do not become links. Addresses of e-mail may.

    >>> markdown('a|b <i>\nc _d_ e_f *')
    'a\\|b &lt;i> c \\_d\\_ e_f *'
    """
    line = one_line(' '.join(text.split()))
    return _MARKS.sub(lambda m: _ENTITIES.get(m[0], '\\' + m[0]), line)


def csv_cell(text: str) -> str:
    """A text in a cell of a CSV file: no program reads it as a formula.

    An apostrophe goes before `=`, `+`, `-`, `@` and the like, which
    `from_csv_cell` takes away.

    >>> csv_cell('-a'), csv_cell("'-a"), csv_cell("'a"), csv_cell('a-b')
    ("'-a", "''-a", "'a", 'a-b')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_csv_cell(cell: str) -> str:
    """The text that `csv_cell` made a cell of.

    >>> [from_csv_cell(cell) for cell in ("'-a", "''-a", "'a", '-a')]
    ['-a', "'-a", "'a", '-a']
    """
    escaped = cell.startswith("'") and _FORMULA.match(cell)
    return cell[1:] if escaped else cell


def is_file_name(name: str) -> bool:
    """Whether a name, as it is, can be that of a file of one folder.

    >>> is_file_name('mix-2@7'), is_file_name('../a'), is_file_name('')
    (True, False, False)
    """
    return name != '' and not _NOT_IN_FILE_NAMES.search(name)


def file_name(name: str) -> str:
    """A name made one of a file, which leads to no other folder.

    Different names stay different, and usual ones stay as they are.

    >>> file_name('mix-2 (7b)'), file_name('../b'), file_name('50%')
    ('mix-2 (7b)', '%2E.%2Fb', '50%25')
    """
    kept = name.replace('%', '%25')
    return _NOT_IN_FILE_NAMES.sub(lambda m: f'%{ord(m[0]):02X}', kept)
