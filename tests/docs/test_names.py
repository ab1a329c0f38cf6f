"""The modules, files and public names that README and docs name."""
import re
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec

import pytest

import csv_plugin
from tests.docs.blocks import APPENDIX, PAGES, ROOT

API = ROOT / 'docs/api.md'


def test_the_api_page_lists_every_public_name_and_no_other():
    listed = re.findall(r'`cp\.(\w+)`', API.read_text('utf-8'))
    assert sorted(set(listed)) == sorted(csv_plugin.__all__)


@pytest.mark.parametrize('name', csv_plugin.__all__)
def test_every_public_name_is_there_and_described(name):
    if name == 'score' or name.endswith('Engine'):
        pytest.importorskip('transformers')
    if name.startswith('plot_'):
        pytest.importorskip('matplotlib')
    value = getattr(csv_plugin, name)
    assert name in dir(csv_plugin)
    if name != '__version__':
        assert value.__doc__


PATHS = re.compile(
    r'`((?:core|io|lm|triage|report|oc|demo|cli|tests|tools|configs)/[\w/]+'
    r'(?:\.py|/))')
MODULES = re.compile(r'\bcsv_plugin(?:\.[a-z_0-9]+)+\b')


@pytest.mark.slow
def test_files_and_modules_that_pages_name_exist():
    missing = []
    for page in PAGES + APPENDIX:
        text = page.read_text('utf-8')
        for path in PATHS.findall(text):
            inside = ROOT / 'csv_plugin' / path
            if not (inside.exists() or (ROOT / path).exists()):
                missing.append(f'{page.name}: {path}')
        for name in MODULES.findall(text):
            if not exists(name):
                missing.append(f'{page.name}: {name}')
    assert not missing


def test_modules_of_the_reading_order_exist():
    page = (ROOT / 'CONTRIBUTING.md').read_text('utf-8')
    order = page.partition('## What to read first')[2].partition('##')[0]
    rooms = re.findall(r'^\d\. `(\w+)`: (.*?)[;.]$', order, re.M | re.S)
    assert [room for room, _ in rooms] == ['oc', 'lm', 'core', 'io', 'report']
    for room, modules in rooms:
        for name in re.findall(r'`([\w/]+)`', modules):
            assert (ROOT / f'csv_plugin/{room}/{name}.py').is_file(), name


def exists(name):
    """Whether a dotted name is a module, or in one, a format or a group."""
    parent, _, last = name.rpartition('.')
    if last in ('predictor', 'dump') or name in entry_points().groups:
        return True
    try:
        return bool(find_spec(name))
    except ModuleNotFoundError:  # A module is no package.
        return hasattr(import_module(parent), last)


def test_functions_of_equations_are_where_the_page_has_them():
    page = (ROOT / 'docs/concepts.md').read_text('utf-8')
    rows = re.findall(r' \| (`[^|]*) \| (`\w+/[^|]*) \|$', page, re.M)
    assert len(rows) > 8
    for names, places in rows:
        source = ''
        for place in re.findall('`(.*?)`', places):
            path = ROOT / 'csv_plugin' / place
            files = [path] if path.is_file() else path.rglob('*.py')
            source += ''.join(file.read_text('utf-8') for file in files)
        for name in re.findall(r'`[\w.]*?(\w+)`', names):
            assert re.search(rf'(def|class) {name}\b', source), name
