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


def is_active(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({'extra': extra}) for extra in extras | {''})


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
            children = map(Requirement, metadata.requires(name) or ())
            waiting += [
                child for child in children
                if is_active(child, requirement.extras)
            ]
    return unpinned


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


@pytest.fixture(scope='module')
def site(wheel, tmp_path_factory):
    """A folder with the wheel alone; all else comes from this environment."""
    site = tmp_path_factory.mktemp('site')
    pip('install', '--target', site, wheel)
    return site


@pytest.fixture
def here(tmp_path):
    here = tmp_path / 'here'
    here.mkdir()
    return here


@pytest.fixture
def salience(site, here):
    """Runs the command that the wheel installs in that folder."""

    def salience(*words):
        process = subprocess.run([site / 'bin/salience', *map(str, words)],
                                 env=environment(site),
                                 cwd=here,
                                 capture_output=True,
                                 text=True)
        assert process.returncode == 0, process.stderr
        return process.stdout

    return salience


def environment(site):
    return {**os.environ, 'PYTHONPATH': str(site), 'OMP_NUM_THREADS': '1'}


@pytest.mark.slow
def test_wheel_alone_fits_tables(site, here, salience):
    """From an empty folder: configs, a predictor, predictions."""
    tables = small_tables().only('easy', 'hard')
    splits = dict.fromkeys(tables.models, 'train') | {tables.models[0]: 'test'}
    write_tables(here, tables, splits)
    assert 'VERB' in salience('--help')
    assert salience('configs',
                    '--where').strip() == str(site / 'csv_plugin/configs')
    assert salience('demo', '--where').strip() == str(site / 'csv_plugin/demo')
    salience('configs')
    assert (here / 'eval_csv.py').is_file()
    salience('fit', *(f'--{name}={name}.csv'
                      for name in ('losses', 'scores', 'models',
                                   'benchmarks')), '--fit', 'train', '--out',
             'study')  # yapf: disable
    predictor = 'study/predictor.safetensors'
    assert tables.models[0] in salience('predict', '--losses', 'losses.csv',
                                        '--predictor', predictor)


#: At the end of a copy of eval_csv.py: one model, a few questions.
FEW = '''
models = models[3:4]
datasets = [datasets[2], datasets[-1]]
datasets[0]['reader_cfg']['test_range'] = '[:8]'
'''


@pytest.mark.host
@pytest.mark.slow
def test_wheel_alone_runs_a_config_of_ones_own(site, here, salience):
    pytest.importorskip('opencompass')
    salience('configs', 'eval_csv')
    with open(here / 'eval_csv.py', 'a', encoding='utf-8') as file:
        file.write(FEW)
    process = subprocess.run([
        sys.executable, '-m', 'opencompass.cli.main', 'eval_csv.py', '--debug'
    ],
                             env=environment(site),
                             cwd=here,
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    assert 'd-s@100' in process.stdout.partition('mean of')[2]
    run, = (here / 'outputs/csv').glob('2*')
    assert 'Nothing is missing.' in salience('status', run)
    predictor = site / 'csv_plugin/demo/predictor.safetensors'
    assert 'd-s@100' in salience('predict', run, '--predictor', predictor)
