"""The site: `make docs` builds it from these pages, without a network."""
import os
import pydoc
import re
from pathlib import Path

from jupyter_client import KernelManager

import csv_plugin

project = 'csv_plugin'
release = version = csv_plugin.__version__
html_title = f'csv_plugin {release}'
copyright = 'the csv_plugin authors, Apache-2.0'

extensions = ['myst_nb', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
exclude_patterns = ['_build']
html_theme = 'furo'
html_static_path = ['_static']
html_css_files = ['site.css']
html_copy_source = False
html_show_sphinx = False

# Links within and between pages name headings, as on GitHub.
myst_heading_anchors = 4

# The gallery is run anew by every build: its outputs are those of this code.
# They work in folders of their own, with helpers of the tests at hand, and
# nobody on this machine can listen to them.
nb_execution_mode = 'force'
nb_execution_in_temp = True
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


def setup(app):
    app.connect('source-read', write_references)
