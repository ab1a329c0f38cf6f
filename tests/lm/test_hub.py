"""A hub that cannot be reached is told at once; one that answers is asked."""
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from time import monotonic

import pytest

pytest.importorskip('huggingface_hub')

from csv_plugin.core.conventions import InputError  # noqa: E402
from csv_plugin.lm.hub import check_reachable  # noqa: E402


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server in place of the hub, which answers that nothing is there."""
    server = HTTPServer(('127.0.0.1', 0), BaseHTTPRequestHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    constants = 'huggingface_hub.constants'
    monkeypatch.setenv('NO_PROXY', '127.0.0.1')
    monkeypatch.setattr(f'{constants}.HF_HUB_OFFLINE', False)
    monkeypatch.setattr(f'{constants}.HF_HUB_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr(f'{constants}.ENDPOINT',
                        f'http://127.0.0.1:{server.server_port}')
    yield server
    server.shutdown()
    server.server_close()


def test_any_answer_will_do(server):
    check_reachable('model', 'no/model')


def test_no_answer_is_told_at_once(server, tmp_path):
    server.shutdown()
    server.server_close()
    start = monotonic()
    with pytest.raises(
            InputError,
            match="tokenizer 'no/model': .* found no such folder, and the "
            'model hub cannot be reached'):
        check_reachable('tokenizer', 'no/model')
    assert monotonic() - start < 30
    # Neither folders nor what was downloaded before need the hub.
    check_reachable('model', tmp_path)
    (tmp_path / 'cache/models--no--model').mkdir(parents=True)
    check_reachable('model', 'no/model')


def test_names_that_no_folder_can_have(server, tmp_path, monkeypatch):
    """They are left to the packages that load models."""
    check_reachable('model', 'x' * 300)
    check_reachable('model', '/no/' + 'sub/' * 90 + 'm')
    server.shutdown()
    server.server_close()
    # An older variable names another cache.
    monkeypatch.setenv('TRANSFORMERS_CACHE', str(tmp_path / 'older'))
    (tmp_path / 'older/models--no--model').mkdir(parents=True)
    check_reachable('model', 'no/model')
