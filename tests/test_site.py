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
    dead = []
    for link in _LINK.findall(_CODE.sub('', page.read_text('utf-8'))):
        name, _, anchor = link.partition('#')
        target = page.parent / name if name else page
        if not re.match('https?:', link) and not (
                target.exists() and (not anchor or anchor in anchors(target))):
            dead.append(link)
    assert not dead


def test_pages_of_the_site_link_to_nothing_outside_of_it():
    """Neither a page nor a picture: the site is the folder alone."""
    outside = [
        f'{page.name}: {link}' for page in PAGES if DOCS in page.parents
        for link in _LINK.findall(_CODE.sub('', page.read_text('utf-8')))
        if not re.match('https?:|#', link) and DOCS not in (
            page.parent / link.partition('#')[0]).resolve().parents
    ]
    assert not outside
