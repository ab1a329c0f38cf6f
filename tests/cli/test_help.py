"""What the commands say of themselves."""
import argparse
import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from csv_plugin.cli.salience import VERBS

ROOT = Path(__file__).resolve().parents[2]
#: Modules of commands, and how their examples call them: by a verb of
#: `salience`, or by a file of tools/.
COMMANDS = {
    path.stem: f'python tools/{path.name}'
    for path in sorted((ROOT / 'tools').glob('*.py'))
} | {
    verb.module.rpartition('.')[2]: f'salience {name}'
    for name, verb in VERBS.items()
}


def test_examples_keep_their_lines():
    """A backslash at the end of a line is doubled, or it joins two."""
    wrong = []
    for module, call in COMMANDS.items():
        path = ROOT / f'csv_plugin/cli/{module}.py'
        words = ast.get_docstring(ast.parse(path.read_text('utf-8'))) or ''
        if (f'\n    {call} ' not in words.replace('\n', ' \n')
                or max(map(len, words.splitlines())) >= 80):
            wrong.append(module)
    assert not wrong


class Parsed(Exception):
    """Carries the parser of a command, in place of its options."""


def stopped(parser, *_):
    raise Parsed(parser)


def parser_of(module, monkeypatch):
    """The parser of a command, whose program is not run."""
    if hasattr(module, 'add_arguments'):
        parser = argparse.ArgumentParser(
            description=module.__doc__,
            formatter_class=argparse.RawTextHelpFormatter)
        module.add_arguments(parser)
        return parser
    monkeypatch.setattr(argparse.ArgumentParser, 'parse_args', stopped)
    with pytest.raises(Parsed) as caught:
        module.main([])
    parser, = caught.value.args
    return parser


@pytest.mark.parametrize('command', COMMANDS)
def test_every_option_is_explained(command, monkeypatch):
    """In lines that fit, and with what holds without it."""
    monkeypatch.setenv('COLUMNS', '80')
    parser = parser_of(import_module(f'csv_plugin.cli.{command}'), monkeypatch)
    for action in parser._actions:
        assert action.help, action.dest
        if action.dest != 'help':
            assert re.search('default|required|in place of', action.help)
        if action.type in (int, float):
            assert action.metavar, action.dest
    usage = parser.format_usage()
    explained = parser.format_help().replace(usage, '')
    assert max(map(len, explained.splitlines())) < 80
