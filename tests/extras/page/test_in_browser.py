"""The page in a headless browser."""
import pytest

from csv_plugin.extras.page.rendering import render
from tests.extras.page.browser import needs_browser, visit
from tests.extras.page.pages import EVIL, hostile_page, make_page, page_cells
from tests.report.boards import NO_DUMP, predict

pytestmark = pytest.mark.slow

SORT = """
const table = document.querySelector('table.sortable');
const headers = [...table.querySelectorAll('th[data-column]')];
const names = () => [...table.tBodies[0].rows].map(
  row => row.cells[0].textContent);
return headers.flatMap(header => [0, 1].map(() => {
  const button = header.querySelector('button');
  button.focus();
  if (document.activeElement !== button) return 'no focus';
  button.click();
  const sorted = [...table.querySelectorAll('[aria-sort]')];
  return [header.textContent, sorted.length,
          header.getAttribute('aria-sort'), names(),
          table.tFoot.rows.length];
}));
"""


@needs_browser
def test_sorting(tmp_path):
    cells = page_cells(('m10', 'm9', 'a', 'z'), ('b', ), ('p', ))
    for model, real, prediction in (('m10', 0.09, predict(0.2)),
                                    ('m9', 1.0, predict(0.1)), ('a', NO_DUMP,
                                                                predict(0.3)),
                                    ('z', 0.1, NO_DUMP)):
        cells.real[model, 'b'] = real
        cells.predicted['p', model, 'b'] = prediction
    visited = visit(render(make_page(cells.board())), tmp_path, SORT)
    assert visited.problems == [] and visited.loaded == []
    names = ['a', 'm9', 'm10', 'z']
    expected = [
        ('model', 'ascending', names),
        ('model', 'descending', names[::-1]),
        ('real', 'descending', ['m9', 'z', 'm10', 'a']),
        ('real', 'ascending', ['m10', 'z', 'm9', 'a']),
        ('predicted', 'descending', ['a', 'm10', 'm9', 'z']),
        ('predicted', 'ascending', ['m9', 'm10', 'a', 'z']),
        # 20 - 9 and 10 - 100; where there is none, the order stays.
        ('diff', 'descending', ['m10', 'm9', 'a', 'z']),
        ('diff', 'ascending', ['m9', 'm10', 'a', 'z']),
    ]
    assert visited.result == [[header, 1, order, rows, 1]
                              for header, order, rows in expected]


@needs_browser
def test_hostile_texts_do_nothing(tmp_path):
    action = """
        document.querySelectorAll('button').forEach(b => b.click());
        document.querySelectorAll('b, bdi').forEach(b => b.click());
        return [document.querySelector('.kicker').textContent,
                document.querySelector('.means tbody th').textContent,
                document.querySelector('.text').textContent,
                document.scripts.length];"""
    visited = visit(render(hostile_page()), tmp_path, action)
    # The page's own script and the two of the visit.
    assert visited.result == [EVIL, EVIL, EVIL, 3]
    assert visited.problems == [] and visited.loaded == []
