"""The pages of the site: each is in its contents, and their links lead on."""
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / 'docs'
PAGES = [
    path for path in (*ROOT.glob('*.md'), *DOCS.rglob('*.md'))
    if '_build' not in path.parts
]
_TREE = re.compile(r'```\{toctree\}\n(?::[^\n]*\n)*(.*?)```', re.S)
_LINK = re.compile(r'(?:\]\(|src(?:set)?=")([^)"\s]+)')
_CODE = re.compile(r'```.*?```|`[^`]*`|^    .*$', re.S | re.M)


def test_every_page_is_in_the_contents_once():
    trees = _TREE.findall((DOCS / 'index.md').read_text('utf-8'))
    listed = ['index', *(name for tree in trees for name in tree.split())]
    pages = [
        path.relative_to(DOCS).with_suffix('').as_posix() for path in PAGES
        if DOCS in path.parents
    ]
    assert sorted(listed) == sorted(pages)


@lru_cache(maxsize=None)
def anchors(path):
    """What links may call the headings of a page, on GitHub and the site."""
    text = re.sub('```.*?```', '', path.read_text('utf-8'), flags=re.S)
    titles = re.findall(r'^#+ +(.+)$', text, re.M)
    return {
        re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')
        for title in titles
    }


@pytest.mark.parametrize('page', PAGES, ids=lambda path: path.stem)
def test_links(page):
    """Those of the site lead to nothing outside of its folder."""
    dead = []
    for link in _LINK.findall(_CODE.sub('', page.read_text('utf-8'))):
        name, _, anchor = link.partition('#')
        target = (page.parent / name if name else page).resolve()
        is_there = target.exists() and (not anchor
                                        or anchor in anchors(target))
        is_inside = DOCS not in page.parents or DOCS in target.parents
        if not re.match('https?:', link) and not (is_there and is_inside):
            dead.append(link)
    assert not dead
