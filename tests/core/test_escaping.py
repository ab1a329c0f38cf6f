"""Names from others are harmless, and usual names stay as they are."""
import html
import os
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError, check_choice, check_known
from csv_plugin.core.escaping import (csv_cell, did_you_mean, from_csv_cell,
                                      is_file_name, markdown, one_line,
                                      slightly_other)
from tests.hostile_names import FORMULAS, LEADING_OUT, MARKS, NAMES, USUAL

SIGNS = ('=', '+', '-', '@', '＝', '＋', '－', '＠')


def test_usual_names_stay_as_they_are():
    for name in USUAL:
        assert name == one_line(name) == markdown(name) == csv_cell(name)


@pytest.mark.parametrize('wrong, right', [
    ('stebilityai/stablelm-3b-4e1t', 'stabilityai/stablelm-3b-4e1t'),
    ('stabilityai/stablelm-3b-4e1tx', 'stabilityai/stablelm-3b-4e1t'),
    ('ARC_easy', 'arc_easy'), ('arc_esay', 'arc_easy'), ('arc', None),
    ('EleutherAI/pythia-1b', None), ('stabilityai/stablelm-7b-4e1t', None)
])  # yapf: disable
def test_misspelt_names(wrong, right):
    known = ['stabilityai/stablelm-3b-4e1t', 'arc_easy', 'arc_challenge']
    asked = did_you_mean([wrong], known)
    assert asked == (f'Did you mean {right!r}? ' if right else '')
    for check in (check_choice, check_known):
        names = wrong if check is check_choice else [wrong]
        with pytest.raises(InputError) as error:
            check('names', names, known, 'Correct it.')
        assert str(error.value).endswith(f'. {asked}Correct it.')


@pytest.mark.parametrize('name, other, is_slightly_other', [
    ('wikitext', 'wikitexts', True),
    ('wikitext', 'wiki texts', True),
    ('wikitext', 'wikitekst', True),
    ('wikitext', 'wikitekxst', True),
    ('wikitext', 'wikitextabc', False),  # Three letters.
    ('abcdef', 'abcxyzef', False),  # Three letters of eight.
    ('code', 'coda', True),
    ('code', 'cards', False),  # Of few letters, a third may differ.
    ('law', 'lxx', False),
    ('wiki1', 'wiki2', False),
])  # yapf: disable
def test_names_that_differ_slightly(name, other, is_slightly_other):
    for one, two in ((name, other), (other, name)):
        found = slightly_other(one, ['something', two])
        assert found == (two if is_slightly_other else '')


def test_no_cell_is_a_formula():
    for name in (*FORMULAS, '\ta', '\na'):
        assert csv_cell(name) == f"'{name}" and from_csv_cell(
            f"'{name}") == name


@given(st.text(alphabet="'=+-@＝ \t\r\na1"))
def test_cells_are_read_back(name):
    assert from_csv_cell(csv_cell(name)) == name
    assert not csv_cell(name).lstrip(' ').startswith(SIGNS)


@given(st.text())
@example('\u3164')
def test_a_line_has_glyphs_alone(text):
    line = one_line(text)
    assert line.isprintable()
    assert not set(line) & set('\u034f\u115f\u1160\u180e\u3164\uffa0')


def rendered(text: str) -> str:
    """The HTML of a cell and of an item, by a renderer that lets HTML pass."""
    module = pytest.importorskip('markdown_it')
    renderer = module.MarkdownIt('commonmark').enable(
        ['table', 'strikethrough'])
    return renderer.render(f'| h |\n|---|\n| {text} |\n\n* {text}\n')


def test_markdown_reads_as_the_name():
    for name in (*NAMES, *USUAL):
        page = rendered(markdown(name))
        assert set(re.findall(r'<(\w+)', page)) == {
            'table', 'thead', 'tbody', 'tr', 'th', 'td', 'ul', 'li'
        }
        shown = one_line(' '.join(name.split()))
        [cell] = re.findall('<td>(.*?)</td>', page)
        assert html.unescape(cell) == shown
        assert html.unescape(page.partition('<li>')[2]).startswith(shown)
    for name in MARKS:
        # GitHub links them, which a renderer of plain Markdown does not.
        assert not re.search(r'https?://|ftp://|www\.', markdown(name))


@given(st.text(st.sampled_from('#+-=*_~`$[]()!<>&;|\\ ab:/w.')))
def test_markdown_is_never_more_than_text(text):
    page = rendered(markdown(text))
    assert not re.search('<(a|img|em|strong|s|code|del|p|br)[ >/]', page)


def test_files_stay_in_their_folder(tmp_path):
    for name in filter(is_file_name, NAMES):
        path = tmp_path / name
        assert path.parent == tmp_path
        assert os.path.normpath(path) == str(path)
    for name in (*LEADING_OUT, '', 'a\x00b', 'a\nb', '\udcff'):
        assert not is_file_name(name)
