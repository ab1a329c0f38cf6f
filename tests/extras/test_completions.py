"""Losses from servers, and servers that answer wrongly."""
import time
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from traceback import format_exception

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.extras import completions
from csv_plugin.extras.completions import KEY, CompletionsEngine
from csv_plugin.lm.engines.token_losses import token_losses
from tests.extras.servers import (AWAY, FAILING, LARGEST, REFUSING, WRONG,
                                  Busy, Dripping, Server, running)
from tests.lm.models import make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [
    *(Text(f't{i}', text) for i, text in enumerate(CORPUS)),
    Text('long', ' '.join(2 * CORPUS))
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(completions, 'RETRIES', 1)
    monkeypatch.setattr(completions, 'LARGEST', LARGEST)
    monkeypatch.delenv(KEY, raising=False)


def check_losses(engine):
    expected = token_losses(make('llama'), tokenizer(), TEXTS)
    for first, second in zip(
            token_losses(engine, tokenizer(), TEXTS), expected):
        np.testing.assert_allclose(first.losses, second.losses, atol=2e-5)


@pytest.mark.parametrize('status, body, said',
                         [(200, '{"version": "0.32.0"}', '0.32.0'),
                          (200, '{"version": "1 sk-secret"}', 'unknown'),
                          (401, '{}', 'unknown')])
def test_the_version_that_a_server_tells(monkeypatch, status, body, said):
    monkeypatch.setenv(KEY, 'sk-secret')
    with running(Server()) as server:
        server.version = lambda: (status, body)
        facts = CompletionsEngine(server.url, 'tiny').facts
    assert facts.versions == {'vllm': said}


@pytest.mark.slow
def test_text_is_never_sent():
    with running(Server()) as server:
        check_losses(CompletionsEngine(server.url, 'tiny'))
    for request in server.requests:
        assert all(type(index) is int for index in request['prompt'])


@pytest.mark.parametrize('kind, message', WRONG)
def test_wrong_answers_are_refused(kind, message):
    server = Server(always=kind) if isinstance(kind, tuple) else kind()
    with running(server):
        engine = CompletionsEngine(server.url, 'tiny')
        with pytest.raises(InputError, match=message):
            token_losses(engine, tokenizer(), TEXTS)


@pytest.mark.slow
def test_what_is_sent_again():
    """A busy server, but not one that refuses or sends elsewhere."""
    with running(Busy()) as server:
        check_losses(CompletionsEngine(server.url, 'tiny', concurrency=1))
    for answer, tries in ((FAILING, 2), (REFUSING, 1), (AWAY, 1)):
        with running(Server(always=answer)) as server:
            engine = CompletionsEngine(server.url, 'tiny', concurrency=1)
            with pytest.raises(InputError):
                token_losses(engine, tokenizer(), TEXTS[:1])
        first = server.requests[0]
        assert server.requests.count(first) == tries


@pytest.mark.slow
def test_the_key_comes_from_its_variable_alone(monkeypatch, tmp_path):
    netrc = tmp_path / 'netrc'
    netrc.write_text('machine 127.0.0.1 login me password secret')
    monkeypatch.setenv('NETRC', str(netrc))
    monkeypatch.setenv('OPENAI_API_KEY', 'another')
    monkeypatch.setenv('HTTP_PROXY', 'http://192.0.2.1:9')
    for key, expected in ((None, None), ('mine\r\n', 'Bearer mine')):
        if key:
            monkeypatch.setenv(KEY, key)
        with running(Server()) as server:
            check_losses(CompletionsEngine(server.url, 'tiny'))
        assert server.keys == {expected}


@pytest.mark.slow
def test_certificates_of_private_authorities(monkeypatch):
    monkeypatch.setenv('REQUESTS_CA_BUNDLE', '/no/file.pem')
    with running(Server()) as server:
        check_losses(CompletionsEngine(server.url, 'tiny'))
        with pytest.raises(InputError, match='an answer.*/no/file.pem'):
            CompletionsEngine(server.url.replace('http', 'https'), 'tiny')


def test_an_answer_ends_in_time(monkeypatch):
    """Each byte comes in time, but not all of them."""
    monkeypatch.setattr(completions, 'PATIENCE', (9, .2))
    with running(Dripping()) as server:
        with pytest.raises(InputError, match='ends in 0.2 s, found a slower'):
            CompletionsEngine(server.url, 'tiny')
    # A server that does not even answer.
    monkeypatch.setattr(completions, 'PATIENCE', (.2, 9))
    with running(Server()) as server:
        server.models = lambda: time.sleep(.5) or {}
        with pytest.raises(InputError, match='begins in 0.2 s and'):
            CompletionsEngine(server.url, 'tiny')
    # Such a request is not sent again.
    monkeypatch.setattr(completions, 'PATIENCE', (9, 9))
    monkeypatch.setattr(completions, 'TIMEOUT', (.2, .2))
    with running(Server()) as server:
        server.models = lambda: time.sleep(.5) or {}
        with pytest.raises(InputError, match='found a slower answer'):
            CompletionsEngine(server.url, 'tiny')


@pytest.mark.parametrize('status, body', [
    (401, '{"error": "bad sk-secret"}'), (200, '<p>sk-secret'),
    (200, '["sk-secret"]'), (200, '{"data": [{"id": "sk-secret"}]}'),
    (200, '{"data": [{"id": "tiny", "max_model_len": "sk-secret"}]}'),
    (200, '{"sk-secret": 1, "sk-secret": 2}')
])  # yapf: disable
def test_no_answer_is_quoted_where_a_key_is_set(monkeypatch, status, body):
    monkeypatch.setattr(completions.CompletionsEngine, '_send_once', lambda *_:
                        (status, body.encode()))
    monkeypatch.setenv(KEY, 'sk-secret')
    with pytest.raises(InputError, match='because a key is set') as caught:
        CompletionsEngine('http://localhost', 'tiny')
    assert 'sk-secret' not in ''.join(format_exception(caught.value))


class _Echo(BaseRequestHandler):
    """No HTTP: the first line of the answer is the key."""

    def handle(self):
        request = self.request.recv(2**16).decode()
        key = request.partition('Bearer ')[2].split('\r')[0] or 'no key'
        self.request.sendall(f'{key}\r\n\r\n'.encode())


def test_an_error_of_the_connection_is_not_quoted_where_a_key_is_set(
        monkeypatch):
    """Such errors quote the answer, and the answer may quote the key."""
    with ThreadingTCPServer(('127.0.0.1', 0), _Echo) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f'http://127.0.0.1:{server.server_address[1]}'
        with pytest.raises(InputError, match='the error .*no key'):
            CompletionsEngine(url, 'tiny')
        monkeypatch.setenv(KEY, 'sk-secret')
        with pytest.raises(InputError, match='ConnectionError') as caught:
            CompletionsEngine(url, 'tiny')
        server.shutdown()
    assert 'sk-secret' not in ''.join(format_exception(caught.value))


@pytest.mark.parametrize('url, is_open', [
    ('http://127.0.0.1:1', False), ('http://localhost:1', False),
    ('http://[::1]:1', False), ('https://example.org', False),
    ('http://example.org', True), ('http://localhost.example.org', True),
    ('http://127.0.0.1.example.org', True), ('http://192.168.0.1', True),
    ('http://[fe80::1]', True)
])  # yapf: disable
def test_a_key_never_goes_open_over_a_network(monkeypatch, url, is_open):
    monkeypatch.setattr(completions.CompletionsEngine, '_send_once', lambda *_:
                        (200, b'{"data": []}'))
    monkeypatch.setenv(KEY, 'sk-secret')
    words = 'use https or a tunnel' if is_open else 'the name that the server'
    with pytest.raises(InputError, match=words) as caught:
        CompletionsEngine(url, 'tiny')
    assert 'sk-secret' not in str(caught.value)
    monkeypatch.delenv(KEY)
    with pytest.raises(InputError, match='the name that the server'):
        CompletionsEngine(url, 'tiny')


@pytest.mark.parametrize('key', ['my\nsecret', 'my\u2013secret'])
def test_no_error_shows_the_key(monkeypatch, key):
    monkeypatch.setenv(KEY, key)
    with pytest.raises(InputError, match='a key of printable') as caught:
        CompletionsEngine('http://localhost', 'tiny')
    assert 'secret' not in str(caught.value)


@pytest.mark.parametrize('arguments, words', [
    (('http://me:secret@localhost', 'tiny'), "name or a key, found 'localh"),
    (('http://localhost/v1?key=secret', 'tiny'), "found 'localhost/v1'"),
    (('http://[secret', 'tiny'), 'expected http://'),
    (('localhost:8000', 'tiny'), 'expected http://'),
])
def test_wrong_settings(arguments, words):
    with pytest.raises(InputError, match=words) as caught:
        CompletionsEngine(*arguments)
    assert 'secret' not in str(caught.value)


def test_the_model_that_the_server_has():
    with running(Server()) as server:
        assert CompletionsEngine(
            server.url + '/v1/', 'tiny', context=9).facts.context == 9
        with pytest.raises(InputError, match="'large', found 'tiny'"):
            CompletionsEngine(server.url, 'large')
        server.models = lambda: {'data': [{'id': 'tiny'}]}
        with pytest.raises(
                InputError, match='max_model_len.*argument context'):
            CompletionsEngine(server.url, 'tiny')
