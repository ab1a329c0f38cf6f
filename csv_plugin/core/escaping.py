"""Escapes of names from elsewhere; usual names stay as they are."""
import re
from collections.abc import Iterable
from unicodedata import category, normalize

from csv_plugin.core.conventions import nearest_names

#: Letters and marks without a glyph, which Python calls printable.
_BLANK = '\u034f\u115f\u1160\u3164\uffa0'
#: Marks that choose a variant of the character before.
_VARIANTS = range(0xFE00, 0xFE10)
#: Cyrillic and Greek letters that look like Latin ones, small or capital.
_ALIKE = str.maketrans('авеёкмнорстухіїјѕԁһԛԝӏαβεζηικμνορτυχıɡ',
                       'abeekmhopctyxiijsdhqwlabezhikmvoptuxig')
#: Spaces, hyphens and joiners that texts contain, and tabs and line feeds.
_OF_TEXTS = '\t\n\xa0\xad\u200c\u200d\u3000'

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


def one_line(text: str, kept: str = '') -> str:
    r"""Write invisible characters but those of `kept` as Python escapes.

    >>> one_line('a\nb')
    'a\\nb'
    """
    line = ''
    for letter in text:
        is_visible = letter.isprintable() and letter not in _BLANK
        if not is_visible and letter not in kept:
            letter = letter.encode('unicode_escape').decode()
        line += letter
    return line


def visible(text: str) -> str:
    """Write invisible characters as Python escapes; lines and tabs stay."""
    return one_line(text, _OF_TEXTS)


def same_look(text: str) -> str:
    """Return a text without what hardly differs for a reader.

    >>> same_look('Ｌla\u00adMA  2 ') == same_look('llama 2')
    True
    >>> same_look('ll\u0430ma') == same_look('llama')
    True
    """
    seen = ''
    for letter in normalize('NFKC', text):
        is_format = category(letter) == 'Cf'
        is_variant = ord(letter) in _VARIANTS
        if not is_format and not is_variant and letter not in _BLANK:
            seen += letter
    folded = normalize('NFKC', seen.casefold()).translate(_ALIKE)
    return ' '.join(folded.split())


def did_you_mean(missing: Iterable[str], known: Iterable[str]) -> str:
    """Return a question on known names that are like missing ones, or ''.

    >>> did_you_mean(['MMLU', 'stebilityai/a'], ['mmlu', 'stabilityai/a'])
    "Did you mean 'mmlu', 'stabilityai/a'? "
    >>> did_you_mean(['x'], ['mmlu', 'arc'])
    ''
    """
    return nearest_names(missing, known, same_look)


def markdown(text: str) -> str:
    """Escape a text for a cell or an item of Markdown, on one line.

    Addresses of web pages do not become links; those of e-mail may.
    """
    line = one_line(' '.join(text.split()))
    return _MARKS.sub(lambda m: _ENTITIES.get(m[0], '\\' + m[0]), line)


def csv_cell(text: str) -> str:
    """Put an apostrophe before what a program would read as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def from_csv_cell(cell: str) -> str:
    """Return the text of a cell by `csv_cell`."""
    escaped = cell.startswith("'") and _FORMULA.match(cell)
    return cell[1:] if escaped else cell


def is_file_name(name: str) -> bool:
    """Return True if a file in a folder can have the name."""
    return name != '' and not _NOT_IN_FILE_NAMES.search(name)
