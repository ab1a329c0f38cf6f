"""The pinned environment and what a wheel contains."""
import configparser
import importlib.util
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

ROOT = Path(__file__).resolve().parents[1]
# Named by torch itself, exactly, on the platforms that have them.
LEFT_OUT = re.compile(r'(nvidia|cuda)-|triton$')


def read_pins() -> dict[str, str]:
    lines = (ROOT / 'constraints.txt').read_text('utf-8').splitlines()
    pins = {}
    for line in lines:
        if line and not line.startswith('#'):
            name, _, version = line.partition('==')
            pins[name] = version
    return pins


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


def test_constraints_are_sorted_exact_pins():
    text = (ROOT / 'constraints.txt').read_text('utf-8')
    pins = [line for line in text.splitlines() if not line.startswith('#')]
    for pin in pins:
        assert re.fullmatch(r'[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*', pin)
    names = [pin.partition('==')[0] for pin in pins]
    assert names == sorted(set(names))
    assert '://' not in text


def test_constraints_leave_accelerator_libraries_to_torch():
    assert not [name for name in PINS if LEFT_OUT.match(name)]


def test_pins_meet_requirements():
    unmet = []
    for requirement in REQUIREMENTS:
        pin = PINS[canonicalize_name(requirement.name)]
        if not requirement.specifier.contains(pin, prereleases=True):
            unmet.append(f'{requirement}, pinned {pin}')
    assert not unmet


def test_dependencies_of_pinned_packages_are_pinned():
    assert not unpinned_dependencies()


@pytest.mark.parametrize('name',
                         ['opencompass', 'transformers', 'pyarrow', 'numpy'])
def test_installed_version_is_the_pinned_one(name):
    version = installed_version(name)
    if version is None:
        pytest.skip(f'{name} is not installed')
    assert version == PINS[name]


def test_opencompass_imports():
    if importlib.util.find_spec('opencompass') is None:
        pytest.skip('opencompass is not installed')
    process = subprocess.run(
        [sys.executable, '-c', 'import opencompass, datasets'],
        capture_output=True,
        text=True)
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_package(tmp_path):
    # A copy: building leaves files behind.
    source = tmp_path / 'source'
    shutil.copytree(
        ROOT / 'csv_plugin',
        source / 'csv_plugin',
        ignore=shutil.ignore_patterns('__pycache__'))
    for pattern in ('setup.*', '*.toml', '*.md', 'LICENSE'):
        for path in ROOT.glob(pattern):
            shutil.copy(path, source)
    command = [sys.executable, '-m', 'pip', 'wheel', '--no-deps']
    command += ['--no-build-isolation', '--wheel-dir', tmp_path, source]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr

    wheel, = tmp_path.glob('*.whl')
    packed = zipfile.ZipFile(wheel).namelist()
    files = {
        path.relative_to(source).as_posix()
        for path in (source / 'csv_plugin').rglob('*') if path.is_file()
    }
    assert 'csv_plugin/py.typed' in files
    assert files <= set(packed)
    assert [name for name in packed if name.endswith('/LICENSE')]
