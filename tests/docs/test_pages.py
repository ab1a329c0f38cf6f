"""README and docs: their blocks can be run, their commands name what is there.
"""
import re
import shlex

import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import VERBS, make_parser
from tests.docs.blocks import (APPENDIX, EVERY_PAGE, PAGES, ROOT, all_blocks,
                               inline_commands)
from tests.docs.running import KINDS, can_run


def test_every_block_is_run():
    """Here, by a test of its own page, or by the builder of the site."""
    for block in all_blocks():
        where = f'{block.page}:{block.line}'
        if block.kind == 'commands':
            assert all(map(can_run, block.commands)), where
        assert not ('/gallery/' in block.page and block.kind in KINDS), where
    for page in PAGES + APPENDIX:
        assert '<!-- not run' not in page.read_text('utf-8'), page


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
    yield from inline_commands(EVERY_PAGE)


@pytest.mark.slow
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


def test_forecasts_are_those_of_the_appendix():
    """The page on triage repeats some numbers of the appendix, rounded."""
    appendix = (ROOT / 'docs/appendix/forecasts.md').read_text('utf-8')
    there = {float(number) for number in re.findall(r'\d+\.\d+', appendix)}
    page = (ROOT / 'docs/triage.md').read_text('utf-8')
    _, _, table = page.partition('| runs | share |')
    rows = table.partition('\n\n')[0].splitlines()[2:]
    assert len(rows) == 8
    for row in rows:
        *_, now, forecast, _, _ = row.split('|')
        for shown in (now.strip(), forecast.strip()):
            digits = len(shown.partition('.')[2])
            assert float(shown) in {round(number, digits) for number in there}
