"""Servers on the loopback that answer like that of vLLM."""
import gzip
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep

from tests.lm.models import CONTEXT, make, reference_losses

#: Of answers, in tests.
LARGEST = 100_000


class Server(ThreadingHTTPServer):
    """Answers like vLLM, from the tests' reference; others override it."""
    daemon_threads = True

    def __init__(self, model=None, always=None):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.always = always
        self.model = model or make('llama')
        self.paths, self.requests, self.keys = [], [], set()

    @property
    def url(self):
        return f'http://127.0.0.1:{self.server_port}'

    def models(self):
        return {
            'object':
            'list',
            'data': [{
                'id': 'tiny',
                'owned_by': 'vllm',
                'max_model_len': CONTEXT + 2
            }]
        }

    def version(self):
        """Status and body."""
        return 200, {'version': '0.32.0'}

    def answer(self, path, request):
        """Status, body and headers."""
        assert path == '/v1/completions'
        assert request['model'] == 'tiny'
        assert (request['max_tokens'], request['prompt_logprobs']) == (1, 0)
        pairs = self.pairs(request['prompt'])
        return self.always or (200, {
            'choices': [{
                'prompt_logprobs': [None, *map(_entry, pairs)]
            }]
        }, {})

    def parts(self, body):
        """What is sent at a time."""
        return body,

    def pairs(self, ids):
        """Each id but the first, with its log-probability."""
        losses = reference_losses(self.model, ids)
        return list(zip(ids[1:], (-losses).tolist()))


def _entry(pair):
    index, log_prob = pair
    return {str(index): {'logprob': log_prob, 'rank': 1, 'decoded_token': 'a'}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *unused):
        pass

    def do_GET(self):
        pages = {
            '/v1/models': lambda: (200, self.server.models()),
            '/version': self.server.version
        }
        self._send(*pages[self.path](), {})

    def do_POST(self):
        length = int(self.headers['Content-Length'])
        request = json.loads(self.rfile.read(length))
        self.server.requests.append(request)
        self._send(*self.server.answer(self.path, request))

    def _send(self, status, body, headers):
        self.server.paths.append(self.path)
        self.server.keys.add(self.headers['Authorization'])
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        for part in self.server.parts(body):
            self.wfile.write(part)


@contextmanager
def running(server):
    """A server that answers in threads of its own."""
    thread = Thread(target=server.serve_forever, args=(.01, ))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Tokenizing(Server):
    """Makes text of the ids, and other ids of the text."""

    def pairs(self, ids):
        return super().pairs([*ids[:-1], ids[-1] + 1])


class Infinite(Server):
    """A model that overflows, as vLLM tells it in JSON."""

    def pairs(self, ids):
        return [(index, -9999.0) for index in ids[1:]]


class Busy(Server):
    """Answers every other request, asks for an hour."""

    def answer(self, path, request):
        if len(self.requests) % 2:
            return 429, 'slow down', {'Retry-After': '3600'}
        return super().answer(path, request)


class Dripping(Server):
    """Sends a byte at a time."""

    def parts(self, body):
        for i in range(len(body)):
            sleep(.02)
            yield body[i:i + 1]


_BOMB = gzip.compress(b'[' + b' ' * 2 * LARGEST, 1), {
    'Content-Encoding': 'gzip'
}
#: Status, body and headers of servers that always answer the same.
FAILING = 500, 'out of memory', {}
REFUSING = 401, '{"error": "Unauthorized"}', {}
AWAY = 302, '', {'Location': 'http://192.0.2.1/v1/completions'}
#: Servers that answer wrongly, and what the error about each must say.
WRONG = [
    (Tokenizing, 'log-probabilities of the ids'),
    (Infinite, 'log-probabilities from -103.3, .* found -inf'),
    ((200, {'choices': [{'text': 'a', 'prompt_logprobs': None}]}, {}),
     'log-probabilities of all ids of the prompt, found .*None'),
    ((200, '<html>Welcome</html>', {}), 'expected JSON in UTF-8'),
    (AWAY, 'found status 302'),
    (FAILING, "found status 500: 'out of memory'"),
    ((200, *_BOMB), 'at most 100,000 bytes, found a larger answer'),
    ((503, *_BOMB), 'at most 100,000 bytes, found a larger answer'),
    (REFUSING, 'found status 401: .*give the key in CSV_PLUGIN_API_KEY'),
]  # yapf: disable
