"""Examples of hypothesis have no deadline: a busy machine is no failure."""
from importlib import import_module

import pytest
from hypothesis import settings

settings.register_profile('csv_plugin', deadline=None)
settings.load_profile('csv_plugin')


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
