"""What README and docs say holds: names exist, snippets run."""
import doctest
import re
import shutil
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

import csv_plugin
from csv_plugin.demo import shipped
from csv_plugin.report.leaderboards import write_leaderboard
from tests.report.page.pages import make_board
from tests.tables import small_tables, write_tables

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
API = ROOT / 'docs/api.md'


def blocks(page):
    """Indented blocks of a page: its number of the first line, the text."""
    lines = page.read_text('utf-8').splitlines() + ['end']
    start, block = 0, []
    for number, line in enumerate(lines, start=1):
        if line.startswith('    ') or (block and not line.strip()):
            start = start if block else number
            block.append(line)
        elif block:
            yield start, textwrap.dedent('\n'.join(block)).strip('\n')
            block = []


def snippets(kind):
    """Python of all pages, such as (README.md:93, text): code or configs."""
    for page in PAGES:
        for line, block in blocks(page):
            is_python = re.match(r'(from|import|with|texts|losses) ?\S+',
                                 block)
            if not is_python or '>>>' in block or block.startswith('losses ('):
                continue
            is_config = 'read_base' in block
            if is_config == (kind == 'configs'):
                yield pytest.param(
                    block, id=f'{page.relative_to(ROOT)}:{line}')


def test_the_api_page_lists_every_public_name_and_no_other():
    listed = re.findall(r'`cp\.(\w+)`', API.read_text('utf-8'))
    assert sorted(set(listed)) == sorted(csv_plugin.__all__)


@pytest.mark.parametrize('name', csv_plugin.__all__)
def test_every_public_name_is_there_and_described(name):
    if name == 'score' or name.endswith('Engine'):
        pytest.importorskip('transformers')
    value = getattr(csv_plugin, name)
    assert name in dir(csv_plugin)
    if name not in ('__version__', 'SOLVERS'):
        assert value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        csv_plugin.fitt


@pytest.mark.slow
def test_examples_of_the_api_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(
        str(API), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 5 and not result.failed


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that snippets name."""
    tables = small_tables()
    splits = dict.fromkeys(tables.features.models, 'train')
    splits |= dict(zip(tables.features.models, ('validation', 'test')))
    write_tables(tmp_path, tables, splits)
    (tmp_path / 'runs/mix1/checkpoint-1000').mkdir(parents=True)
    run = tmp_path / 'outputs/csv/20260101_120000/summary'
    run.mkdir(parents=True)
    write_leaderboard(run / 'leaderboard_20260101_120000', make_board())
    shutil.copy(shipped.TEXTS, tmp_path / 'texts.jsonl')
    shutil.copy(shipped.PREDICTOR, tmp_path / 'predictor.safetensors')
    for name, model in (('mine', 'a-l@100'), ('other', 'd-s@50')):
        shutil.copy(shipped.COLLECTION / f'{model}.parquet',
                    tmp_path / f'{name}.parquet')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize('code', [*snippets('code')])
def test_a_snippet_runs(code, folder):
    pytest.importorskip('pandas')
    scoring = pytest.importorskip('csv_plugin.lm.scoring_lm')
    model, tokenizer = scoring.load_scoring_lm(shipped.SCORING_LM,
                                               shipped.SCORING_TOKENIZER)
    names = dict(cp=csv_plugin, model=model, tokenizer=tokenizer)
    exec(compile(code, 'snippet', 'exec'), names)


@pytest.mark.host
@pytest.mark.slow
@pytest.mark.parametrize('code', [*snippets('configs')])
def test_a_config_snippet_is_a_config(code, folder):
    pytest.importorskip('opencompass')
    from mmengine.config import Config
    shutil.copy('texts.jsonl', 'my_texts.jsonl')
    start = ('from mmengine.config import read_base\n'
             'datasets = []\nmmlu_datasets = []\n')
    Path('config.py').write_text(start + code + '\n', 'utf-8')
    config = Config.fromfile('config.py')
    assert {'datasets', 'models'} & config.keys()


PATHS = re.compile(
    r'`((?:core|io|lm|triage|report|oc|demo|cli|tests|tools|configs)/[\w/]+'
    r'(?:\.py|/))')
MODULES = re.compile(r'\bcsv_plugin(?:\.[a-z_0-9]+)+\b')


def test_files_and_modules_that_pages_name_exist():
    missing = []
    for page in PAGES:
        text = page.read_text('utf-8')
        for path in PATHS.findall(text):
            inside = ROOT / 'csv_plugin' / path
            if not (inside.exists() or (ROOT / path).exists()):
                missing.append(f'{page.name}: {path}')
        for name in MODULES.findall(text):
            if not exists(name):
                missing.append(f'{page.name}: {name}')
    assert not missing


#: Names in file formats that look like modules.
FORMATS = ('csv_plugin.predictor', 'csv_plugin.dump', 'csv_plugin.states')


def exists(name):
    """Whether a dotted name is a module, or in one."""
    if name in FORMATS:
        return True
    parts = name.split('.')
    path = ROOT.joinpath(*parts)
    if path.with_suffix('.py').exists() or path.is_dir():
        return True
    parent = ROOT.joinpath(*parts[:-1])
    if not (parent.with_suffix('.py').exists() or
            (parent / '__init__.py').exists()):
        return False
    return hasattr(import_module('.'.join(parts[:-1])), parts[-1])
