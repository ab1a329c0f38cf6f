"""Layers import downward only, and every module imports alone."""
import ast
import functools
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'csv_plugin'
HEAVY = ('torch', 'transformers', 'opencompass', 'mmengine')
OPTIONAL = HEAVY + ('datasets', 'jinja2', 'matplotlib', 'tensorboardX')
CORE_THIRD_PARTY = {'numpy', 'scipy', 'threadpoolctl'}

# What each part may import; '' is `csv_plugin` itself. Every part may import
# '' and `data`, which hold a version and files; parts not named here may
# import every other part.
ALLOWED = {
    '': {'core'},
    'data': set(),
    'core': {'core'},
    'io': {'core', 'io'},
    'lm': {'core', 'io', 'lm'},
    'oc': {'core', 'io', 'lm', 'oc', 'report', 'demo'},
}
PARTS = set(ALLOWED) | {'report', 'demo'} | {
    path.stem
    for path in (ROOT / PACKAGE).iterdir()
    if path.suffix == '.py' or (path / '__init__.py').exists()
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


SOURCES = {
    module_name(path): path
    for path in sorted((ROOT / PACKAGE).rglob('*.py'))
}
LIGHT = [
    name for name in SOURCES
    if name == PACKAGE or name.split('.')[1] in ('core', 'io', 'data')
]


def imports(source: str, package: str) -> Iterator[str]:
    """Absolute dotted names imported by a module of `package`.

    `from a import b` counts as `a.b`, since b may be a module.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = '.' * node.level + (node.module or '')
            base = importlib.util.resolve_name(base, package)
            yield from (f'{base}.{alias.name}' for alias in node.names)


def part_of(name: str) -> str:
    """The part a dotted name below `csv_plugin` lies in."""
    parts = name.split('.')
    return parts[1] if len(parts) > 1 and parts[1] in PARTS else ''


def violations(source: str, package: str) -> list[str]:
    """Imports that a module of `package` must not have."""
    own = part_of(package)
    allowed = ALLOWED.get(own, PARTS) | {'', 'data'}
    found = []
    for name in imports(source, package):
        top = name.split('.')[0]
        if top == PACKAGE:
            wrong = part_of(name) not in allowed
        elif own == 'core':
            wrong = top not in CORE_THIRD_PARTY | sys.stdlib_module_names
        else:
            wrong = top in ('tools', 'configs')
        if wrong:
            found.append(name)
    return found


@functools.lru_cache(maxsize=None)
def import_alone(module: str) -> subprocess.CompletedProcess[str]:
    """Import in a fresh interpreter, which prints the heavy modules loaded."""
    code = (f'import sys, {module}\n'
            f'print(*sorted(set({HEAVY}) & set(sys.modules)))')
    return subprocess.run([sys.executable, '-c', code],
                          cwd=ROOT,
                          capture_output=True,
                          text=True)


# Heavy modules take seconds to load, so they are loaded once, and a child of
# that process imports each of ours.
FORKS = """
import contextlib, importlib, json, os, sys, traceback
for name in sys.argv[1].split():
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
for module in sys.argv[2].split():
    read, write = os.pipe()
    if not os.fork():
        try:
            importlib.import_module(module)
            error = ''
        except BaseException:
            error = traceback.format_exc()
        os.write(write, error.encode()[-60000:])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, 'rb') as pipe:
        print(json.dumps([module, pipe.read().decode('utf-8', 'replace')]))
    os.wait()
"""


@functools.lru_cache(maxsize=None)
def import_errors() -> dict[str, str]:
    """Tracebacks of modules that are not light, imported one by one."""
    heavy = [name for name in SOURCES if name not in LIGHT]
    process = subprocess.run(
        [sys.executable, '-c', FORKS, ' '.join(OPTIONAL), ' '.join(heavy)],
        cwd=ROOT,
        capture_output=True,
        text=True)
    assert process.returncode == 0, process.stderr
    return dict(
        json.loads(line) for line in process.stdout.splitlines()
        if line.startswith('["'))


@pytest.mark.parametrize('module', SOURCES)
def test_module_imports_alone(module):
    error = import_alone(module).stderr if module in LIGHT else \
        import_errors()[module]
    missing = re.search(r"No module named '(\w+)", error)
    if (missing and missing[1] in OPTIONAL
            and not importlib.util.find_spec(missing[1])):
        pytest.skip(f'{module} needs {missing[1]}, which is not installed')
    assert 'Error' not in error, error


@pytest.mark.parametrize('module', LIGHT)
def test_light_module_loads_nothing_heavy(module):
    loaded = import_alone(module).stdout.split()
    assert not loaded


def test_heavy_module_is_noticed():
    # Any module that is surely loaded shows that the list is not just empty.
    process = import_alone('unittest.mock as mmengine; '
                           'sys.modules["mmengine"] = mmengine')
    assert process.stdout.split() == ['mmengine'], process.stderr


@pytest.mark.parametrize('module', SOURCES)
def test_imports_point_downward(module):
    path = SOURCES[module]
    package = module_name(path.parent / '__init__.py')
    assert not violations(path.read_text(encoding='utf-8'), package)


@pytest.mark.parametrize('source, package, expected', [
    ('from csv_plugin.oc import models', 'csv_plugin.lm',
     ['csv_plugin.oc.models']),
    ('from csv_plugin import io', 'csv_plugin.core', ['csv_plugin.io']),
    ('import csv_plugin.lm.engines as e', 'csv_plugin.io',
     ['csv_plugin.lm.engines']),
    ('from .. import oc', 'csv_plugin.io', ['csv_plugin.oc']),
    ('from ..lm.engines import run', 'csv_plugin.core',
     ['csv_plugin.lm.engines.run']),
    ('from ...io import tables', 'csv_plugin.core.salience',
     ['csv_plugin.io.tables']),
    ('def f():\n    from csv_plugin.io import tables', 'csv_plugin.core',
     ['csv_plugin.io.tables']),
    ('from .demo import world', 'csv_plugin', ['csv_plugin.demo.world']),
    ('import numpy, pandas', 'csv_plugin.core', ['pandas']),
    ('from torch import nn', 'csv_plugin.core.salience', ['torch.nn']),
    ('import tools', 'csv_plugin.demo', ['tools']),
    ('from configs import eval_csv', 'csv_plugin.oc', ['configs.eval_csv']),
])
def test_upward_import_is_caught(source, package, expected):
    assert violations(source, package) == expected


@pytest.mark.parametrize('source, package', [
    ('import json\nimport numpy as np\nfrom scipy import sparse',
     'csv_plugin.core'),
    ('from .spans import TokenSpans', 'csv_plugin.core'),
    ('from csv_plugin import __version__', 'csv_plugin.core'),
    ('from csv_plugin.data import table', 'csv_plugin.core'),
    ('from ..core import spans\nimport pyarrow', 'csv_plugin.io'),
    ('from csv_plugin.lm import engines', 'csv_plugin.oc'),
    ('from csv_plugin.oc import models', 'csv_plugin.demo'),
])
def test_downward_import_passes(source, package):
    assert not violations(source, package)
