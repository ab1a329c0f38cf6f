"""Count the words of the documentation and find what is hard to read.

    python tools/count_words.py [PAGE ...]

prints a row per page, by default README, CONTRIBUTING and all pages of the
site: words, words of sentences (outside of code and tables), sentences of more
than 35 words, and words that docs/glossary.md replaces. A word has a letter or
a digit. Pages of the appendix and the glossary are only counted. With pages
named, the long sentences and the replaced words are printed too.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Sentences of more words than this are listed.
LONGEST = 35
REPLACED = re.compile(
    r'\b(witness(?:es)?|alarms?|stated errors?|(?:partial|known) scores'
    r'|lacks?|lacking|tells? of|tells? most|fitted to (?:are|is)'
    r'|promises? nothing|to speak of|in the mean|shelf|condens\w+)\b', re.I)
#: Fences, pictures, and the head of a page that is a notebook.
_BLOCK = re.compile(
    r'\A---\n.*?\n---\n|^ *```.*?^ *``` *$|<picture>.*?</picture>',
    re.S | re.M)
_ITEM = re.compile(r'\s*(?:[-*]|\d+\.) +')
_LINK = re.compile(r'!?\[([^]]*)\]\([^)]*\)')


def n_words(text: str) -> int:
    """Number of words with a letter or a digit.

    >>> n_words('| a table | 1.5 |\\n|---|---:|')
    3
    """
    return sum(any(map(str.isalnum, word)) for word in text.split())


def paragraphs(text: str) -> list[str]:
    """Paragraphs and items of lists, without code, tables and headings.

    >>> paragraphs('# A page\\n\\nText.\\n\\n    code\\n\\n* One\\n  item.\\n')
    ['Text.', 'One item.']
    """
    lines, in_list = [], False
    for line in _BLOCK.sub('', text).splitlines():
        is_item = bool(_ITEM.match(line))
        in_list = is_item or (in_list and not line[:1].strip())
        is_code = line.startswith('      ' if in_list else '    ')
        if is_code or re.match(r' *[|#]|<!--', line):
            line = ''
        lines.append(_ITEM.sub('\n', line, count=1) if is_item else line)
    parts = re.split(r'\n\s*\n', '\n'.join(lines))
    return [' '.join(part.split()) for part in parts if part.strip()]


def sentences(paragraph: str) -> list[str]:
    """Sentences of a paragraph, with the texts of links.

    >>> sentences('It has 1.5 points. See [Results](results.md).')
    ['It has 1.5 points.', 'See Results.']
    """
    text = _LINK.sub(r'\1', paragraph)
    return re.split(r'(?<=[.?!])[*)]* +(?=[A-Z`*0-9\[(])', text)


def count(path: Path) -> tuple[int, int, list[str], list[str]]:
    """Words, words of sentences, long sentences and replaced words."""
    text = path.read_text('utf-8')
    parts = paragraphs(text)
    n_read = sum(map(n_words, parts))
    if path.parent.name == 'appendix' or path.stem == 'glossary':
        return n_words(text), n_read, [], []
    long = [
        sentence for part in parts for sentence in sentences(part)
        if n_words(sentence) > LONGEST
    ]
    plain = re.sub('`[^`]*`', '', ' '.join(parts))
    return n_words(text), n_read, long, REPLACED.findall(plain)


def main(names: list[str]) -> None:
    docs = ROOT / 'docs'
    pages = [Path(name).resolve() for name in names] or [
        ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted(
            path for path in docs.rglob('*.md') if '_build' not in path.parts)
    ]
    rows = [(path, *count(path)) for path in pages]
    print(f'{"page":40}  words   read  long  replaced')
    for path, words, read, long, replaced in rows:
        name = path.relative_to(ROOT).as_posix()
        print(f'{name:40} {words:6,} {read:6,} {len(long):5} '
              f'{len(replaced):9}')
        for line in (*long, *replaced) if names else ():
            print(f'    {line}')
    site = [row for row in rows if docs in row[0].parents]
    main_part = [row for row in site if row[0].parent.name != 'appendix']
    for title, part in (('site', site), ('without appendix', main_part)):
        print(f'{title:40} {sum(row[1] for row in part):6,} '
              f'{sum(row[2] for row in part):6,}')


if __name__ == '__main__':
    main(sys.argv[1:])
