"""What the commands say of themselves."""
import argparse
import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = sorted(path.stem for path in (ROOT / 'tools').glob('*.py'))


def test_examples_keep_their_lines():
    """A backslash at the end of a line is doubled, or it joins two."""
    wrong = []
    for command in COMMANDS:
        path = ROOT / f'csv_plugin/cli/{command}.py'
        words = ast.get_docstring(ast.parse(path.read_text('utf-8'))) or ''
        if (f'python tools/{command}.py' not in words
                or max(map(len, words.splitlines())) >= 80):
            wrong.append(command)
    assert not wrong


class Parsed(Exception):
    """Carries the parser of a command, in place of its options."""


def stopped(parser, *_):
    raise Parsed(parser)


@pytest.mark.parametrize('command', COMMANDS)
def test_every_option_is_explained(command, monkeypatch):
    """In lines that fit, and with what holds without it."""
    monkeypatch.setenv('COLUMNS', '80')
    monkeypatch.setattr(argparse.ArgumentParser, 'parse_args', stopped)
    with pytest.raises(Parsed) as caught:
        import_module(f'csv_plugin.cli.{command}').main([])
    parser, = caught.value.args
    for action in parser._actions:
        assert action.help, action.dest
        if action.dest != 'help':
            assert re.search('default|required|in place of', action.help)
        if action.type in (int, float):
            assert action.metavar, action.dest
    usage = parser.format_usage()
    explained = parser.format_help().replace(usage, '')
    assert max(map(len, explained.splitlines())) < 80
