"""A hub of Hugging Face on this machine, with as much as a test needs."""
import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

COMMIT = '0123456789abcdef0123456789abcdef01234567'


class Hub(ThreadingHTTPServer):
    """Keeps the files of repositories in memory."""

    def __init__(self) -> None:
        super().__init__(('127.0.0.1', 0), _Handler)
        #: Content by repository and path.
        self.files: dict[str, dict[str, bytes]] = {}
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.server_port}'


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.requests.append(f'POST {self.path}')
        if self.path == '/api/repos/create':
            content = json.loads(body)
            name = '/'.join(
                filter(None, (content.get('organization'), content['name'])))
            self.server.files.setdefault(name, {})
            self._json({'url': f'{self.server.url}/{name}'})
        elif self.path == '/api/validate-yaml':
            self._json({'errors': [], 'warnings': []})
        elif '/preupload/' in self.path:
            self._json({
                'files': [{
                    'path': file['path'],
                    'uploadMode': 'regular',
                    'shouldIgnore': False
                } for file in json.loads(body)['files']]
            })
        elif '/commit/' in self.path:
            name = self.path.removeprefix('/api/models/').split('/commit/')[0]
            for line in map(json.loads, body.splitlines()):
                if line['key'] == 'file':
                    self.server.files[name][line['value']['path']] = (
                        base64.b64decode(line['value']['content']))
            self._json({
                'success':
                True,
                'commitOid':
                COMMIT,
                # The client takes it apart as one of the true hub.
                'commitUrl':
                f'https://huggingface.co/{name}/commit/{COMMIT}'
            })
        else:
            self._json({'error': 'unknown'}, 404)

    def do_GET(self) -> None:
        self.server.requests.append(f'{self.command} {self.path}')
        path = self.path.split('?')[0].strip('/')
        for name, files in self.server.files.items():
            if path.startswith(f'api/models/{name}/tree/'):
                self._json([{
                    'type': 'file',
                    'path': file,
                    'size': len(content),
                    'oid': hashlib.sha1(content).hexdigest()
                } for file, content in files.items()])
                return
            if path.startswith(f'api/models/{name}'):
                self._json({
                    'id': name,
                    'modelId': name,
                    'sha': COMMIT,
                    'siblings': [{
                        'rfilename': file
                    } for file in files]
                })
                return
            start = f'{name}/resolve/{COMMIT}/'
            if path.removeprefix(start) in files:
                self._send(files[path.removeprefix(start)],
                           {'X-Repo-Commit': COMMIT})
                return
        self._json({'error': 'Repository not found'}, 404,
                   {'X-Error-Code': 'RepoNotFound'})

    do_HEAD = do_GET

    def _json(self, content, status=200, headers=None) -> None:
        self._send(
            json.dumps(content).encode(),
            {'Content-Type': 'application/json'} | (headers or {}), status)

    def _send(self, data, headers, status=200) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('ETag', f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(data)

    def log_message(self, *_) -> None:
        pass


@contextmanager
def running_hub() -> Iterator[Hub]:
    with Hub() as hub:
        thread = Thread(target=hub.serve_forever, args=(.01, ))
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
