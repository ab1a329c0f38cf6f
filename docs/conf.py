"""The site: `make docs` builds it from these pages, without a network."""
import argparse
import os
import pydoc
import re
from functools import partial
from pathlib import Path

from docutils import nodes
from jupyter_client import KernelManager
from sphinx.util import logging

import csv_plugin
from csv_plugin.cli.salience import VERBS, make_parser

project = 'csv_plugin'
release = version = csv_plugin.__version__
html_title = f'csv_plugin {release}'
copyright = 'the csv_plugin authors, Apache-2.0'

extensions = ['myst_nb', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
exclude_patterns = ['_build']
html_theme = 'furo'
html_static_path = ['_static']
html_css_files = ['site.css']
html_js_files = ['site.js']
# The ground of the dark pictures, which is that of GitHub.
html_theme_options = {
    'dark_css_variables': {
        'color-background-primary': '#0d1117',
        'color-background-secondary': '#161b22',
        'color-code-background': '#161b22',
        'mystnb-source-border-color': '#30363d',
    },
}
html_copy_source = False
# Quotes are those of a shell; the dashes of Sphinx stay dashes.
smartquotes_action = 'D'
# Names and options in docstrings.
default_role = 'literal'
html_show_sphinx = False

# Links within and between pages name headings, as on GitHub.
myst_heading_anchors = 4

# The gallery is run anew by every build: its outputs are those of this code.
# They work in folders of their own, with helpers of the tests at hand, and
# nobody on this machine can listen to them.
nb_execution_mode = 'force'
nb_execution_in_temp = True
# Seconds for one cell; the slowest takes a few, on a busy machine more.
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
KernelManager.transport_encryption.default_value = 'auto'
os.environ['PYTHONPATH'] = str(Path(__file__).resolve().parents[1])

# Types of other packages and of inner modules have no page here.
nitpicky = True
nitpick_ignore_regex = [('py:class', '.*')]

autodoc_default_options = {'members': True, 'member-order': 'bysource'}
autodoc_typehints_format = 'short'
autodoc_preserve_defaults = True
napoleon_use_rtype = False


def write_references(app, name, source):
    """Put the docstrings of public names at the end of the API page.

    The names are those of the page's own tables, which become links to them.
    """
    if name != 'api':
        return
    page, = source
    parts = ['', '## In full', '', '```{eval-rst}']
    for short in dict.fromkeys(re.findall(r'`((?:cp|extras)\.[\w.]+)`', page)):
        full = f'csv_plugin.{short.removeprefix("cp.")}'
        value = pydoc.locate(full)
        if callable(value):
            kind = 'class' if isinstance(value, type) else 'function'
            parts += [f'.. auto{kind}:: {full}', '']
            page = page.replace(f'`{short}`', f'{{py:obj}}`{short} <{full}>`')
    source[0] = '\n'.join([page, *parts, '```', ''])


def write_verbs(app, name, source):
    """Put the help of every verb at the end of the page of the command.

    The verbs in the page's table become links to it.
    """
    if name != 'command':
        return
    parser = make_parser([*VERBS])
    verbs, = (
        action.choices for action in parser._actions
        if isinstance(action, argparse._SubParsersAction))
    page, = source
    parts = ['', '## All options', '']
    for verb, part in verbs.items():
        link = f'[`{verb}`](#salience-{verb})'
        page = re.sub(rf'(?m)^(\|[^|\n]*)`{verb}`', rf'\1{link}', page)
        part.formatter_class = partial(argparse.HelpFormatter, width=79)
        parts += [
            f'### salience {verb}', '',
            as_markdown(part.description), '', '```text',
            part.format_usage().strip(), '```', '', *option_rows(part), ''
        ]
    source[0] = '\n'.join([page, *parts])


def option_rows(parser):
    """Lines of a Markdown table of the options of a verb, but for --help."""
    yield '| option | meaning |'
    yield '|---|---|'
    formatter = parser._get_formatter()
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            option = formatter._format_action_invocation(action)
            option = ' '.join(f'`{part}`' for part in option.split(' ', 1))
            text = as_markdown(' '.join(
                formatter._expand_help(action).split()))
            cells = [cell.replace('|', r'\|') for cell in (option, text)]
            yield '| {} | {} |'.format(*cells)


#: Code, as a line or between backticks; pages; options; and what has a
#: meaning in Markdown.
SPECIAL = re.compile(
    r'^    .*$|`[^`]*`|docs/(?P<page>\w+)\.md|--[a-z][\w-]*|[*<_]', re.M)


def as_markdown(text):
    """Help of a parser with links to pages, and options as code."""

    def marked(match):
        word = match[0]
        if match['page']:
            name = match['page'].replace('_', ' ')
            return f'[{name}]({match["page"]}.md)'
        if word.startswith('--'):
            return f'`{word}`'
        return f'\\{word}' if len(word) == 1 else word

    return SPECIAL.sub(marked, text).strip()


PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)"\s+'
    r'srcset="(?P<dark>[^"]+)">\s*<img\s+src="(?P<light>[^"]+)"\s+'
    r'alt="(?P<words>[^"]+)">\s*</picture>')


def show_pictures(app, name, source):
    """Show the light or the dark picture after the theme of the site.

    GitHub does so by the element `picture`, which follows the browser alone.
    """
    source[0] = PICTURE.sub(one_of_two, source[0])
    if '<picture>' in source[0]:
        raise ValueError(f'{name}: a <picture> is not as {PICTURE.pattern}')


def one_of_two(match):
    words = ' '.join(match['words'].split())
    return '\n'.join(f'```{{image}} {match[theme]}\n'
                     f':class: only-{theme}\n:alt: {words}\n```\n'
                     for theme in ('light', 'dark'))


#: Code of the gallery that promises a picture or a table.
SHOWS = re.compile(r'\bdisplay\(|_(?:picture|maps?)\(|\.to_frame\(')


def find_lost_pictures(app, page, name):
    """Warn of cells of the gallery that promise a picture and show words.

    So they do where a class has lost its HTML, for example.
    """
    for cell in page.findall(nodes.container):
        if cell.get('nb_element') != 'cell_code':
            continue
        source, *outputs = cell.children
        if not SHOWS.search(source.astext()):
            continue
        shown = [
            node for part in outputs for node in part.findall()
            if isinstance(node, (nodes.image, nodes.raw))
        ]
        words = [
            node.astext() for part in outputs
            for node in part.findall(nodes.literal_block)
        ]
        if words or not shown:
            logging.getLogger(__name__).warning(
                'expected a picture or a table of %r, found %r',
                source.astext().strip(),
                words[:1],
                location=cell)


def setup(app):
    app.connect('source-read', write_references)
    app.connect('source-read', write_verbs)
    app.connect('source-read', show_pictures)
    app.connect('doctree-resolved', find_lost_pictures)
