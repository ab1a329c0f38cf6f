"""Rooms import downward only, without circles; every module imports alone."""
import ast
import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from tests.package_source import (PACKAGE, ROOT, imports, package_of,
                                  source_files)

#: What each room may import besides `data` and the version; '' is
#: `csv_plugin` itself, which imports what a user asks for when it is asked.
ALLOWED = {
    'data': set(),
    'core': {'core'},
    'io': {'core', 'io'},
    'lm': {'core', 'io', 'lm'},
    'triage': {'core', 'io', 'triage'},
    'report': {'core', 'io', 'triage', 'report', 'extras'},
    'extras': {'core', 'io', 'lm', 'triage', 'report', 'extras'},
    'oc': {'core', 'io', 'lm', 'triage', 'report', 'oc'},
    'demo': {'core', 'io', 'lm', 'triage', 'report', 'demo'},
    # Files that OpenCompass reads, not modules that others import.
    'configs': {'io', 'oc', 'demo', 'configs'},
}
ROOMS = {'', 'cli', *ALLOWED}
ALLOWED |= {'': ROOMS, 'cli': ROOMS}

HEAVY = ('torch', 'transformers', 'opencompass', 'mmengine', 'datasets')
#: What light rooms do not load when they are imported.
LOADED_LATE = HEAVY + ('pandas', )
#: Packages that an installation without extras lacks.
OPTIONAL = HEAVY + ('accelerate', 'huggingface_hub', 'jinja2', 'matplotlib',
                    'tensorboardX')
#: Rooms that load nothing heavy. They also import nothing heavy inside of
#: functions, except that `csv_plugin` itself may.
LIGHT_ROOMS = {'', 'data', 'core', 'io', 'triage', 'report'}
#: pandas is loaded by `to_frame` alone, where it is installed.
CORE_THIRD_PARTY = {'numpy', 'scipy', 'threadpoolctl', 'pandas'}

SOURCES = source_files()
TREES = {
    name: ast.parse(path.read_text(encoding='utf-8'))
    for name, path in SOURCES.items()
}


def room_of(name: str) -> str:
    """The room that a dotted name below `csv_plugin` lies in."""
    parts = name.split('.')
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else ''


def wrong_arrows(source: str | ast.AST, package: str) -> list[str]:
    """Imports that a module of `package` must not have."""
    tree = ast.parse(source) if isinstance(source, str) else source
    room = room_of(package)
    run = set(imports(tree, package, type_checking=False))
    return [
        name for name in imports(tree, package)
        if is_wrong(name, room, name in run)
    ]


def is_wrong(name: str, room: str, is_run: bool) -> bool:
    """Whether a room must not import a name.

    Args:
        name (str): Absolute and dotted.
        room (str): Where the import stands.
        is_run (bool): False where only type checkers read the import.
    """
    top = name.split('.')[0]
    if top == PACKAGE:
        target = room_of(name)
        # The interface for users loads every room.
        is_interface = target == '' and not re.search(r'\.__\w+__$', name)
        return (target not in ALLOWED[room] | {'', 'data'}
                or is_interface and room not in ('', 'cli'))
    if top in ('tools', 'configs', 'tests'):
        return True
    if room == 'core':
        return top not in CORE_THIRD_PARTY | sys.stdlib_module_names
    return is_run and room in LIGHT_ROOMS - {''} and top in HEAVY


# What many modules import is loaded once, and a child of that process imports
# each module: it has loaded nothing of this package.
FORKS = """
import contextlib, importlib, json, os, sys, traceback
heavy, preloaded, modules = map(json.loads, sys.argv[1:])
for name in preloaded:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
before = set(heavy) & set(sys.modules)
for module in modules:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        error = ''
        try:
            importlib.import_module(module)
        except BaseException:
            error = traceback.format_exc()
        loaded = sorted(set(heavy) & set(sys.modules))
        answer = json.dumps([module, error[-9000:], loaded]).encode()
        os.write(write, answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, 'rb') as pipe:
        print(pipe.read().decode())
    os.waitpid(child, 0)
"""


def import_each(modules: Collection[str],
                preloaded: Collection[str],
                folder: Path = ROOT) -> dict[str, tuple[str, list[str]]]:
    """Import each module in a process of its own.

    Args:
        modules (Collection[str]): Their dotted names.
        preloaded (Collection[str]): What all of the processes have loaded.
        folder (Path): Where they are.

    Returns:
        dict[str, tuple[str, list[str]]]: By module, its traceback, or '', and
            what is loaded afterwards of LOADED_LATE.
    """
    path = os.pathsep.join([str(folder), os.environ.get('PYTHONPATH', '')])
    process = subprocess.run([
        sys.executable, '-c', FORKS,
        *(json.dumps(list(names))
          for names in (LOADED_LATE, preloaded, modules))
    ],
                             cwd=folder,
                             env={
                                 **os.environ, 'PYTHONPATH': path
                             },
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    answers = [
        json.loads(line) for line in process.stdout.splitlines()
        if line.startswith('["')
    ]
    assert [answer[0] for answer in answers] == list(modules), process.stdout
    return {module: (error, loaded) for module, error, loaded in answers}


def third_party(modules: Collection[str]) -> list[str]:
    """What these modules import from elsewhere, outside of functions."""
    names = set()
    for module in modules:
        top_level = ast.Module([
            statement for statement in TREES[module].body
            if isinstance(statement, (ast.Import, ast.ImportFrom))
        ], [])
        for name in imports(top_level, package_of(SOURCES[module])):
            if name.split('.')[0] not in {PACKAGE, *sys.stdlib_module_names}:
                names.add(name)
    return sorted(names)


LIGHT = [name for name in SOURCES if room_of(name) in LIGHT_ROOMS]


@functools.lru_cache(maxsize=None)
def light_imports() -> Mapping[str, tuple[str, list[str]]]:
    """Modules of light rooms, where nothing heavy is loaded beforehand."""
    names = third_party(LIGHT)
    light = [n for n in names if n.split('.')[0] not in LOADED_LATE]
    return import_each(LIGHT, light)


def import_errors(
        results: Mapping[str, tuple[str, list[str]]]) -> dict[str, str]:
    """Tracebacks by module, except where a package is not installed."""
    errors = {}
    for module, (error, _) in results.items():
        missing = re.search(r"No module named '(\w+)", error)
        if error and not (missing and missing[1] in OPTIONAL
                          and not importlib.util.find_spec(missing[1])):
            errors[module] = error
    return errors


def heavy_loads(
        results: Mapping[str, tuple[str, list[str]]]) -> dict[str, list[str]]:
    return {module: heavy for module, (_, heavy) in results.items() if heavy}


def test_every_room_is_named():
    """A new room says what it may import before anything can stand in it."""
    folder = ROOT / PACKAGE
    assert {room_of(name) for name in SOURCES} <= ROOMS
    assert ROOMS - {''} == {
        path.stem
        for path in folder.iterdir() if path.name != '__init__.py' and
        (path.suffix == '.py' or (path.is_dir() and any(path.rglob('*.py'))))
    }
    assert all(rooms <= ROOMS for rooms in ALLOWED.values())


def test_imports_point_downward():
    wrong = {
        name: wrong_arrows(TREES[name], package_of(SOURCES[name]))
        for name in SOURCES
    }
    assert not {name: arrows for name, arrows in wrong.items() if arrows}


@pytest.mark.slow
def test_every_light_module_imports_alone():
    errors = import_errors(light_imports())
    assert not errors, '\n'.join(errors.values())


@pytest.mark.slow
def test_every_other_module_imports_alone():
    other = [name for name in SOURCES if name not in LIGHT]
    errors = import_errors(import_each(other, third_party(SOURCES)))
    assert not errors, '\n'.join(errors.values())


@pytest.mark.slow
def test_light_rooms_load_nothing_heavy():
    assert not heavy_loads(light_imports())


def test_planted_modules_that_fail_or_load_what_is_heavy(tmp_path):
    planted = {
        'broken': 'x = y',
        'absent': 'import nowhere_to_be_found',
        'heavy': 'import deep',
        'deep': 'import mmengine',
        'mmengine': '',
        'lazy': 'def load():\n    import mmengine',
        'again': 'import broken',
        'stops': 'raise SystemExit(0)'
    }
    for name, source in planted.items():
        (tmp_path / f'{name}.py').write_text(source)
    results = import_each(list(planted), ['json'], tmp_path)
    assert heavy_loads(results) == {
        'heavy': ['mmengine'],
        'deep': ['mmengine'],
        'mmengine': ['mmengine']
    }
    errors = import_errors(results)
    assert list(errors) == ['broken', 'absent', 'again', 'stops']
    assert "name 'y' is not defined" in errors['again']


@pytest.mark.parametrize('room', sorted(ROOMS))
def test_wrong_arrow_of_a_room_is_caught(room):
    """To every room that it must not import, in every way of importing it."""
    package = f'{PACKAGE}.{room}'.rstrip('.')
    for target in sorted(ROOMS - {''}):
        name = f'{PACKAGE}.{target}.anything'
        wrong = [name] if target not in ALLOWED[room] | {'data'} else []
        for source in (
                f'import {name}', f'import {name} as other',
                f'from {PACKAGE}.{target} import anything',
                f'def f():\n    from {PACKAGE}.{target} import anything',
                f'if TYPE_CHECKING:\n    import {name}',
                f'import_module({name!r})'):
            assert wrong_arrows(source, package) == wrong, source
    for top in ('tools', 'configs', 'tests'):
        assert wrong_arrows(f'import {top}.anything', package)


@pytest.mark.parametrize('room', sorted(LIGHT_ROOMS - {''}))
@pytest.mark.parametrize('heavy', HEAVY)
def test_heavy_import_in_a_function_is_caught(room, heavy):
    package = f'{PACKAGE}.{room}'
    source = f'def f():\n    from {heavy} import nn'
    assert wrong_arrows(source, package) == [f'{heavy}.nn']
    assert wrong_arrows(source, f'{PACKAGE}.lm') == []


@pytest.mark.parametrize('source, package, expected', [
    ('from csv_plugin import io', 'csv_plugin.core', ['csv_plugin.io']),
    ('from .. import oc', 'csv_plugin.io', ['csv_plugin.oc']),
    ('from ..lm.engines import run', 'csv_plugin.core',
     ['csv_plugin.lm.engines.run']),
    ('from ...io import tables', 'csv_plugin.core.salience',
     ['csv_plugin.io.tables']),
    ('import numpy, pyarrow', 'csv_plugin.core', ['pyarrow']),
    ('from torch import nn', 'csv_plugin.core.salience', ['torch.nn']),
    ('from csv_plugin import fit', 'csv_plugin.lm', ['csv_plugin.fit']),
    ('import csv_plugin', 'tools.studies.world', ['csv_plugin']),
    ('__import__("csv_plugin.cli")', 'csv_plugin.configs', ['csv_plugin.cli']),
])
def test_upward_import_is_caught(source, package, expected):
    assert wrong_arrows(source, package) == expected


@pytest.mark.parametrize('source, package', [
    ('import json\nimport numpy as np\nfrom scipy import sparse',
     'csv_plugin.core'),
    ('from .spans import TokenSpans', 'csv_plugin.core'),
    ('from csv_plugin import __version__', 'csv_plugin.core'),
    ('from csv_plugin.data import table', 'csv_plugin.core'),
    ('from ..core import spans\nimport pyarrow', 'csv_plugin.io'),
    ('from csv_plugin.lm import engines', 'csv_plugin.oc'),
    ('import csv_plugin', 'csv_plugin.cli'),
    ('from .lm import dumping', 'csv_plugin'),
    ('if TYPE_CHECKING:\n    import torch', 'csv_plugin.report'),
])
def test_downward_import_passes(source, package):
    assert not wrong_arrows(source, package)


def module_graph(trees: Mapping[str, ast.AST],
                 packages: Mapping[str, str]) -> dict[str, set[str]]:
    """For every module, the modules that it imports anywhere."""
    graph: dict[str, set[str]] = {}
    for module, tree in trees.items():
        graph[module] = set()
        for name in imports(tree, packages[module], type_checking=False):
            target = name if name in trees else name.rpartition('.')[0]
            if target in trees:
                graph[module].add(target)
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules each of which leads to all of its group."""
    ahead = {}
    for module in graph:
        reached: set[str] = set()
        waiting = [module]
        while waiting:
            new = graph[waiting.pop()] - reached
            reached |= new
            waiting += new
        ahead[module] = reached
    groups = {
        frozenset(other for other in ahead[module] if module in ahead[other])
        for module in graph if module in ahead[module]
    }
    return sorted(map(sorted, groups))


def test_no_circle_of_imports():
    packages = {name: package_of(path) for name, path in SOURCES.items()}
    assert not circles(module_graph(TREES, packages))


def test_circle_is_noticed():
    sources = {
        'p': 'from p.a import f',
        'p.a': 'def f():\n    from p.b import g',
        'p.b': 'from .c import h',
        'p.c': 'import p.a',
        'p.d': 'if TYPE_CHECKING:\n    from p import e\nfrom p import a',
        'p.e': 'from p.d import k',
        'p.f': 'from p import f',
    }
    trees = {name: ast.parse(source) for name, source in sources.items()}
    graph = module_graph(trees, dict.fromkeys(trees, 'p'))
    assert graph['p'] == {'p.a'} and graph['p.d'] == {'p.a'}
    assert circles(graph) == [['p.a', 'p.b', 'p.c'], ['p.f']]


def shadowing(names: Collection[str]) -> list[str]:
    """Modules, but for rooms, named like a module of Python itself."""
    return [
        name for name in names if name.count('.') > 1
        and name.split('.')[-1] in sys.stdlib_module_names
    ]


def test_no_module_is_named_like_one_of_python():
    assert not shadowing(SOURCES)


def test_module_named_like_one_of_python_is_noticed():
    names = ('csv_plugin.io', 'csv_plugin.io.collections',
             'csv_plugin.lm.statistics', 'csv_plugin.lm.tokens')
    assert shadowing(names) == [
        'csv_plugin.io.collections', 'csv_plugin.lm.statistics'
    ]


def shared_names(paths: Collection[Path]) -> dict[str, int]:
    """Names that several files have, but for packages and configs."""
    counts = Counter(
        path.stem for path in paths
        if path.stem != '__init__' and 'configs' not in path.parts)
    return {name: count for name, count in counts.items() if count > 1}


def test_every_module_has_a_name_of_its_own():
    folder = ROOT / PACKAGE
    assert not shared_names(
        [path.relative_to(folder) for path in SOURCES.values()])


def test_shared_name_is_noticed():
    assert shared_names([
        Path('io/tables.py'),
        Path('extras/page/tables.py'),
        Path('configs/models/tables.py'),
        Path('io/__init__.py'),
        Path('lm/__init__.py'),
        Path('lm/heads.py')
    ]) == {'tables': 2}  # yapf: disable
