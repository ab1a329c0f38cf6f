"""What the verbs say of themselves."""
import argparse
import re
from importlib import import_module

import pytest

from csv_plugin.cli.salience import VERBS


def parser_of(verb):
    parser = argparse.ArgumentParser()
    import_module(VERBS[verb].module).add_arguments(parser)
    return parser


@pytest.mark.parametrize('verb', VERBS)
def test_every_verb_has_an_example_in_lines_that_fit(verb):
    """A backslash at the end of a line is doubled, or it joins two."""
    words = import_module(VERBS[verb].module).__doc__ or ''
    assert f'\n    salience {verb} ' in words.replace('\n', ' \n')
    assert max(map(len, words.splitlines())) < 80


@pytest.mark.parametrize('verb', VERBS)
def test_every_option_is_explained(verb):
    """With what holds without it; and it means the same everywhere."""
    parser = parser_of(verb)
    assert parser.format_help()
    for action in parser._actions:
        if action.dest != 'help':
            assert re.search('default|required|in place of', action.help)
    # An option with two names is called by the first.
    metavars = {
        action.option_strings[0]: action.metavar
        for action in parser._actions if action.option_strings
    }
    assert metavars.get('--predictor', '[LABEL=]FILE') == '[LABEL=]FILE'
    assert metavars.get('--models', 'CSV') == 'CSV'
    assert metavars.get('--benchmarks', 'CSV') == 'CSV'
