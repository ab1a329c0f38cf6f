"""What the verbs say of themselves."""
import argparse
import re
from importlib import import_module

import pytest

from csv_plugin.cli.salience import VERBS


def parser_of(verb):
    module = import_module(VERBS[verb].module)
    parser = argparse.ArgumentParser(
        description=module.__doc__,
        formatter_class=argparse.RawTextHelpFormatter)
    module.add_arguments(parser)
    return parser


@pytest.mark.parametrize('verb', VERBS)
def test_every_verb_has_an_example_in_lines_that_fit(verb):
    """A backslash at the end of a line is doubled, or it joins two."""
    words = import_module(VERBS[verb].module).__doc__ or ''
    assert f'\n    salience {verb} ' in words.replace('\n', ' \n')
    assert max(map(len, words.splitlines())) < 80


@pytest.mark.parametrize('verb', VERBS)
def test_every_option_is_explained(verb, monkeypatch):
    """In lines that fit, and with what holds without it."""
    monkeypatch.setenv('COLUMNS', '80')
    parser = parser_of(verb)
    for action in parser._actions:
        assert action.help, action.dest
        if action.dest != 'help':
            assert re.search('default|required|in place of', action.help)
    explained = parser.format_help().replace(parser.format_usage(), '')
    assert max(map(len, explained.splitlines())) < 80


@pytest.mark.parametrize('verb', VERBS)
def test_an_option_means_the_same_everywhere(verb):
    """Predictors have labels, models and benchmarks are tables."""
    metavars = {
        option: action.metavar
        for action in parser_of(verb)._actions
        for option in action.option_strings
    }
    assert metavars.get('--predictor', '[LABEL=]FILE') == '[LABEL=]FILE'
    assert metavars.get('--models', 'CSV') == 'CSV'
    assert metavars.get('--benchmarks', 'CSV') == 'CSV'
