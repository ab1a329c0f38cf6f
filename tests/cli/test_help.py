"""What the verbs say of themselves."""
import argparse
import re
from importlib import import_module

import pytest

from csv_plugin.cli.salience import VERBS

METAVARS = {'--models': 'CSV', '--benchmarks': 'CSV'}


@pytest.mark.parametrize('verb', VERBS)
def test_every_verb_has_an_example_in_lines_that_fit(verb):
    """A backslash at the end of a line is doubled, or it joins two."""
    words = import_module(VERBS[verb].module).__doc__ or ''
    assert f'\n    salience {verb} ' in words.replace('\n', ' \n')
    assert max(map(len, words.splitlines())) < 80


@pytest.mark.parametrize('verb', VERBS)
def test_every_option_is_explained(verb):
    """With what holds without it; and it means the same everywhere."""
    parser = argparse.ArgumentParser(add_help=False)
    import_module(VERBS[verb].module).add_arguments(parser)
    assert parser.format_help()
    for action in parser._actions:
        assert re.search('default|required|in place of', action.help)
        # An option with two names is called by the first.
        name, *_ = (*action.option_strings, '')
        assert action.metavar == METAVARS.get(name, action.metavar)


@pytest.mark.parametrize('verb', ['predict', 'triage', 'watch', 'compare'])
def test_verbs_that_print_intervals_name_their_level(verb):
    parser = argparse.ArgumentParser()
    module = import_module(VERBS[verb].module)
    module.add_arguments(parser)
    words = f'{module.__doc__} {parser.format_help()}'
    assert re.search('90 % interval|of intervals .default 95.',
                     ' '.join(words.split()))
