"""The pinned environment and what a wheel contains."""
import configparser
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tables import small_tables, write_tables

ROOT = Path(__file__).resolve().parents[1]
# Named by torch itself, exactly, on the platforms that have them.
LEFT_OUT = re.compile(r'(nvidia|cuda)-|triton$')


def read_pins() -> dict[str, str]:
    text = (ROOT / 'constraints.txt').read_text('utf-8')
    return dict(re.findall(r'^([^#=\n]+)==(.+)$', text, re.M))


def read_requirements() -> list[Requirement]:
    """Of the package and all its extras."""
    config = configparser.ConfigParser()
    config.read(ROOT / 'setup.cfg', encoding='utf-8')
    blocks = [config['options']['install_requires']]
    blocks += config['options.extras_require'].values()
    return [
        Requirement(line) for block in blocks
        for line in block.strip().splitlines() if not line.startswith('#')
    ]


PINS = read_pins()
REQUIREMENTS = read_requirements()


def installed_version(name: str) -> str | None:
    """Without the local part: 2.13.0+cpu is pinned as 2.13.0."""
    try:
        return metadata.version(name).partition('+')[0]
    except metadata.PackageNotFoundError:
        return None


def unpinned_dependencies() -> set[str]:
    """Walks from the project through what is installed as pinned."""
    unpinned, seen, waiting = set(), set(), list(REQUIREMENTS)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if str(requirement) in seen or LEFT_OUT.match(name):
            continue
        seen.add(str(requirement))
        if name not in PINS:
            unpinned.add(name)
        elif installed_version(name) == PINS[name]:
            waiting += [
                child for child in map(Requirement,
                                       metadata.requires(name) or ())
                if child.marker is None or any(
                    child.marker.evaluate({'extra': extra})
                    for extra in requirement.extras | {''})
            ]
    return unpinned


@pytest.mark.slow
def test_dependencies_of_pinned_packages_are_pinned():
    assert not unpinned_dependencies()


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A copy of what is packed: building leaves files behind."""
    source = tmp_path_factory.mktemp('packaging') / 'source'
    shutil.copytree(
        ROOT / 'csv_plugin',
        source / 'csv_plugin',
        ignore=shutil.ignore_patterns('__pycache__'))
    for pattern in ('setup.*', '*.toml', '*.md', 'LICENSE'):
        for path in ROOT.glob(pattern):
            shutil.copy(path, source)
    return source


@pytest.fixture(scope='module')
def wheel(source):
    pip('wheel', '--no-build-isolation', '--wheel-dir', source.parent, source)
    wheel, = source.parent.glob('*.whl')
    return wheel


def pip(verb, *options):
    command = [sys.executable, '-m', 'pip', verb, '--no-deps', *options]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_package(source, wheel):
    packed = zipfile.ZipFile(wheel).namelist()
    files = {
        path.relative_to(source).as_posix()
        for path in (source / 'csv_plugin').rglob('*') if path.is_file()
    }
    assert {'csv_plugin/py.typed',
            'csv_plugin/configs/runs/eval_csv.py'} <= files
    assert files <= {*packed}
    assert [name for name in packed if name.endswith('/LICENSE')]


@pytest.fixture
def salience(wheel, tmp_path):
    """Runs the command of the wheel alone, in an empty folder."""
    site, here = tmp_path / 'site', tmp_path / 'here'
    pip('install', '--target', site, wheel)
    here.mkdir()

    def salience(*words):
        process = subprocess.run([site / 'bin/salience', *map(str, words)],
                                 env={
                                     **os.environ, 'PYTHONPATH': str(site),
                                     'OMP_NUM_THREADS': '1'
                                 },
                                 cwd=here,
                                 capture_output=True,
                                 text=True)
        assert process.returncode == 0, process.stderr
        return process.stdout

    return salience


@pytest.mark.slow
def test_wheel_alone_fits_tables(salience, tmp_path):
    """From an empty folder: configs, a predictor, predictions."""
    here, package = tmp_path / 'here', tmp_path / 'site/csv_plugin'
    tables = small_tables().only('easy', 'hard')
    splits = dict.fromkeys(tables.models, 'train') | {tables.models[0]: 'test'}
    write_tables(here, tables, splits)
    assert 'VERB' in salience('--help')
    assert salience('demo', '--where').strip() == str(package / 'demo')
    configs = salience('demo', '--where', 'configs').strip()
    assert configs == str(package / 'configs')
    salience('demo', '--copy-configs')
    assert (here / 'eval_csv.py').is_file()
    salience('fit', *(f'--{name}={name}.csv'
                      for name in ('losses', 'scores', 'models',
                                   'benchmarks')), '--fit', 'train', '--out',
             'study')  # yapf: disable
    predictor = 'study/predictor.safetensors'
    assert tables.models[0] in salience('predict', '--losses', 'losses.csv',
                                        '--predictor', predictor)


@pytest.mark.parametrize('target', ['demo', 'test', 'docs'])
def test_the_demonstration_installs_no_tools(tmp_path, target):
    """Others do, and what is installed is not installed again."""
    if shutil.which('make') is None:
        pytest.skip('make is not installed')
    for name in ('Makefile', 'setup.cfg', 'pyproject.toml', 'constraints.txt'):
        shutil.copy(ROOT / name, tmp_path)

    def installed() -> list[str]:
        """The extras that each call of pip would install."""
        process = subprocess.run(['make', '--dry-run', target],
                                 cwd=tmp_path,
                                 capture_output=True,
                                 text=True)
        assert process.returncode == 0, process.stderr
        return re.findall(r"pip install .* '\.\[(.*)\]'", process.stdout)

    needed, tools = 'opencompass,report', 'opencompass,report,test,style,docs'
    rest = [] if target == 'demo' else [tools]
    assert installed() == [needed, *rest]
    (tmp_path / '.venv').mkdir()
    (tmp_path / '.venv/installed').touch()
    assert installed() == rest
    (tmp_path / '.venv/tools').touch()
    assert installed() == []
