"""What tests of all folders share.

Examples of hypothesis have no deadline: a busy machine is no failure.
"""
import gc
import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests.tables import Tables, small_tables

settings.register_profile('csv_plugin', deadline=None)
settings.load_profile('csv_plugin')

# Workers of pytest-xdist get a width of 80 columns. Tables are as wide as they
# are without a terminal, unless a test sets the width.
os.environ.pop('COLUMNS', None)

#: Folders whose tests need OpenCompass.
HOST = ['oc', 'extras/text_sampling']
collect_ignore = [] if find_spec('opencompass') else HOST


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that imports make is garbage; to look for it takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if any(item.path.is_relative_to(here / name) for name in HOST):
            item.add_marker(pytest.mark.host)


@pytest.fixture(scope='session')
def tables() -> Tables:
    """Of models to fit studies to, and to predict."""
    return small_tables(n_models=18)


@pytest.fixture
def offline_hub(monkeypatch):
    """The hub's client without a network, in this test alone."""
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_OFFLINE', True)
    # transformers 4 keeps a copy.
    monkeypatch.setattr(
        'transformers.utils.hub._is_offline_mode', True, raising=False)
    yield
    # A session that was opened here would refuse the network to later tests.
    http = import_module('huggingface_hub.utils._http')
    # The older name is that of huggingface_hub 0.
    for name in ('reset_sessions', 'close_session'):
        if hasattr(http, name):
            getattr(http, name)()
