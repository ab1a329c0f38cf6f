"""Escape names before they are written, and find names that look alike.

Names of models and benchmarks come from users and files, and may contain
anything. Usual names stay as they are.
"""
import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from unicodedata import category, normalize

from csv_plugin.core.conventions import digits, nearest_names

#: Characters that nobody sees, although `str.isprintable` is True for them.
_BLANK = '\u034f\u115f\u1160\u3164\uffa0'
#: Variation selectors: they choose a variant of the character before them.
_VARIANTS = range(0xFE00, 0xFE10)
#: Letters (mostly Cyrillic and Greek) that look like a Latin letter, in lower
#: or upper case; replaced by the Latin letter, in lower case.
_LATIN_LOOKALIKES = str.maketrans('авеёкмнорстухіїјѕԁһԛԝӏαβεζηικμνορτυχıɡ',
                                  'abeekmhopctyxiijsdhqwlabezhikmvoptuxig')
#: Tab, line feed, special spaces, soft hyphen and joiners, which are usual in
#: texts.
_OF_TEXTS = '\t\n\xa0\xad\u200c\u200d\u3000'

#: Characters that GitHub's Markdown reads as markup, in the order of the
#: pattern: escapes, table cells, code, links and pictures; paired * ~ and $;
#: underscores at the edge of a word; entities; addresses of web pages; tags;
#: and, at the beginning of the text, quotations, headings, lists and rules.
_MARKS = re.compile(r'[\\|`\[]|([*~$])(?=.*\1)|(?<![^\W_])_|_(?![^\W_])|'
                    r'&(?=#?\w+;)|(?<=:)/(?=/)|(?<=\bwww)\.|<|'
                    r'^(?:>|[#*+-](?=[#\s])|-(?=--))')
_ENTITIES = {'&': '&amp;', '<': '&lt;'}
#: The beginning of a cell that a spreadsheet program may read as a formula;
#: some programs accept full-width signs. Apostrophes may precede it, so that
#: `from_csv_cell` inverts `csv_cell` for every text.
_FORMULA = re.compile(r"'*(?:\s*[=+\-@＝＋－＠]|[\t\r\n])")
#: Characters that are not allowed in names of files.
_NOT_IN_FILE_NAMES = re.compile(r'^[.]|[/\x00-\x1f\x7f\ud800-\udfff]')


def one_line(text: str, kept: str = '') -> str:
    r"""Replace invisible characters by Python escapes.

    Characters in `kept` stay as they are.

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
    """Replace invisible characters of a longer text by Python escapes.

    Line feeds, tabs and other characters that are usual in texts stay.
    """
    return one_line(text, _OF_TEXTS)


def same_look(text: str) -> str:
    """Return a form that is equal for texts that look the same to a reader.

    >>> same_look('Ｌla\u00adMA  2 ') == same_look('llama 2')
    True
    >>> same_look('ll\u0430ma') == same_look('llama')
    True
    """
    seen = ''
    for letter in normalize('NFKC', text):
        is_format = category(letter) == 'Cf'
        is_variant = ord(letter) in _VARIANTS
        is_blank = letter in _BLANK
        if not (is_format or is_variant or is_blank):
            seen += letter
    folded = normalize('NFKC', seen.casefold())
    words = folded.translate(_LATIN_LOOKALIKES).split()
    return ' '.join(words)


def did_you_mean(missing: Iterable[str], known: Iterable[str]) -> str:
    """Return 'Did you mean ...? ' with known names, or '' if none is similar.

    Names are compared by `same_look`; see `nearest_names`.

    >>> did_you_mean(['MMLU', 'stebilityai/a'], ['mmlu', 'stabilityai/a'])
    "Did you mean 'mmlu', 'stabilityai/a'? "
    >>> did_you_mean(['x'], ['mmlu', 'arc'])
    ''
    """
    return nearest_names(missing, known, same_look)


def slightly_other(name: str, known: Iterable[str]) -> str:
    """Return the name in `known` that differs slightly from `name`, or ''.

    Such names have the same digits, and differ only in case, in spaces, or in
    one or two letters; in names of few letters, in a third of them.

    >>> slightly_other('wiki text', ['arc', 'Wiki_Text'])
    'Wiki_Text'
    >>> slightly_other('web-1', ['web-2', 'book'])
    ''
    """
    wanted = same_look(name).replace(' ', '')
    for other in known:
        letters = same_look(other).replace(' ', '')
        longest = max(len(wanted), len(letters))
        if abs(len(wanted) - len(letters)) > 2:
            continue
        same = SequenceMatcher(None, wanted, letters).get_matching_blocks()
        n_changed = longest - sum(block.size for block in same)
        if n_changed <= min(
                2, longest // 3) and digits(wanted) == digits(letters):
            return other
    return ''


def markdown(text: str) -> str:
    """Return a text as one line of Markdown, for a table cell or a list item.

    Markup in the text is escaped. Addresses of web pages do not become links;
    e-mail addresses may.
    """
    line = ' '.join(text.split())
    return _MARKS.sub(_escaped, one_line(line))


def _escaped(found: re.Match[str]) -> str:
    """Return how Markdown shows a character of markup as it is."""
    character = found[0]
    return _ENTITIES.get(character, '\\' + character)


def csv_cell(text: str) -> str:
    """Return a text for a CSV cell, with an apostrophe before a formula."""
    if _FORMULA.match(text):
        return f"'{text}"
    return text


def from_csv_cell(cell: str) -> str:
    """Return the text for which `csv_cell` wrote this cell."""
    if _FORMULA.match(cell):
        return cell.removeprefix("'")
    return cell


def is_file_name(name: str) -> bool:
    """Return True if `name` is allowed as the name of a file."""
    return name != '' and not _NOT_IN_FILE_NAMES.search(name)
