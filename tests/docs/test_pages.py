"""README and docs: every command, snippet and example of theirs is run.

A page is run from its first block to its last, in a folder with the files that
it names. What a comment above says is not run names what is there, at least.
"""
import re
import shlex
import shutil

import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import VERBS, make_parser
from csv_plugin.demo import shipped
from tests.docs.blocks import ROOT, all_blocks, inline_commands
from tests.docs.running import pages_with_code, run_page
from tests.docs.world import make_world


def test_every_verb_has_an_example():
    verbs = {
        command.split()[1]
        for block in all_blocks() if block.page == 'docs/command.md'
        for command in block.commands if command.startswith('salience ')
    }
    assert verbs >= {*VERBS}


def all_commands():
    """Those of blocks and those in sentences."""
    for block in all_blocks():
        yield from block.commands if block.kind == 'commands' else ()
    yield from inline_commands()


def test_commands_name_what_is_there():
    """Verbs and their options, files, modules, and targets of make."""
    wrong = {
        command: problem
        for command in all_commands()
        for problem in problems(command)
    }
    assert not wrong


def problems(command):
    """What a command of this project names that is not there."""
    words = [
        word for word in shlex.split(command)
        if not re.match('[A-Z_]+=', word)
    ]
    if words[:1] == ['make']:
        if f'\n{words[1]}:' not in (ROOT / 'Makefile').read_text():
            yield words[1]
    for word in words:
        if re.match(r'(tools|tests|configs)/[\w/.]+\.(py|sh)$', word):
            if not (ROOT / word).is_file():
                yield word
        elif re.match(r'(tools|tests)(\.\w+)+$', word):
            path = ROOT / word.replace('.', '/')
            if not (path / '__main__.py').is_file() and '__main__' not in \
                    path.with_suffix('.py').read_text():
                yield word
    if 'salience' in words[:-1]:
        yield from unknown_options(*words[words.index('salience') + 1:])


def unknown_options(verb, *words):
    """The verb or the options of `salience` that there are not."""
    if verb.startswith('-'):
        return
    if verb not in VERBS:
        yield verb
        return
    try:
        parser = make_parser([verb])
    except cp.InputError:  # a package is not installed
        return
    known = parser._subparsers._group_actions[0].choices[verb]
    options = [word for word in words if word.startswith('--')]
    yield from set(options) - set(known._option_string_actions)


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp('world')
    make_world(root)
    return root


@pytest.fixture
def folder(world, tmp_path, monkeypatch):
    """A copy of the files for one page."""
    here = tmp_path / 'here'
    shutil.copytree(world, here, symlinks=True)
    for link in ('WORK_DIR', 'outputs/mine/TIME', 'outputs/csv/TIME'):
        (here / link).unlink()
        (here / link).symlink_to(here / 'outputs/mine/20260101_120000')
    monkeypatch.chdir(here)
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setattr(shipped, 'FOLDER', here / 'demo')
    return here


@pytest.mark.slow
@pytest.mark.parametrize('page', [
    pytest.param(page, id=page.stem)
    for page in pages_with_code() if page.stem not in ('importing', 'tutorial')
])
def test_page(page, folder):
    for package in ('transformers', 'pandas', 'jinja2', 'matplotlib'):
        pytest.importorskip(package)
    if not shutil.which('bash'):
        pytest.skip('bash is not installed')
    import transformers

    from csv_plugin.lm.loading import load_scoring_lm
    model, tokenizer = load_scoring_lm('my-model')
    run_page(
        page,
        dict(
            cp=cp, model=model, tokenizer=tokenizer,
            transformers=transformers))
