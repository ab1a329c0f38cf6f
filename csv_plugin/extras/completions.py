"""Define an engine that gets log-probabilities from a vLLM server."""
import math
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from ipaddress import ip_address
from threading import Thread
from time import sleep
from typing import Any, Optional, TypeVar

import numpy as np
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Url, parse_url

from csv_plugin.core.arrays import Integers
from csv_plugin.core.conventions import InputError
from csv_plugin.io.json_files import parse_json
from csv_plugin.lm.engines.protocol import EngineFacts, EngineOptions
from csv_plugin.lm.engines.row_engine import RowEngine, RowScores, TokenRows

#: Environment variable with the API key, for servers that ask for one.
KEY = 'CSV_PLUGIN_API_KEY'
#: Environment variable with the path of a file that contains certificates of
#: private certificate authorities. The package requests reads it too.
CERTIFICATES = 'REQUESTS_CA_BUNDLE'
#: Seconds to wait for the connection, and for the next bytes of an answer. A
#: prompt that waits in the server's queue may get no byte for minutes.
TIMEOUT = 10, 600
#: Seconds until an answer must begin, and seconds from its beginning until it
#: must end. `TIMEOUT` does not suffice: an answer that comes byte by byte
#: never exceeds it.
PATIENCE = 900, 120
#: Largest size of an answer, in bytes after decompression, so that no answer
#: fills the memory. A token takes about 100 bytes, so there is room for a
#: million tokens.
LARGEST = 2**27
_PATH = '/v1/completions'
#: How many times a request that meets a busy or restarting server is sent
#: again: the first time at once, then after 1, 2, 4, ... seconds.
RETRIES = 6

#: If a key is set, error messages show this text instead of an answer, because
#: the answer could contain the key.
_HIDDEN = 'an answer that is not shown, because a key is set'
_T = TypeVar('_T')


class CompletionsEngine(RowEngine):
    """Score rows of token ids with a model that a vLLM server runs.

    Rows are sent as token ids, never as text. The API key is read from the
    environment variable `CSV_PLUGIN_API_KEY` and is sent to this server only.

    Args:
        url (str): Address of the server, such as 'http://localhost:8000'.
        model (str): Name of the model on the server.
        context (Optional[int]): Largest number of input tokens of a window;
            by default derived from the `max_model_len` that the server
            reports.
        dtype (str): Number format of the weights, since servers do not
            report it.
        concurrency (int): Largest number of simultaneous requests.

    Raises:
        InputError: The address is not valid, or the server cannot be
            reached, does not have the model, or does not report
            `max_model_len` where it is needed.
    """

    def __init__(self,
                 url: str,
                 model: str,
                 context: Optional[int] = None,
                 dtype: str = 'unknown',
                 concurrency: int = 8) -> None:
        self._key = _key()
        _check_address(url, self._key)
        self._url = url.rstrip('/').removesuffix('/v1')
        self._model = model
        self._concurrency = concurrency
        self._session = _session(concurrency, self._key)
        card = self._card()
        if context is None:
            longest = card.get('max_model_len')
            if type(longest) is not int:
                raise InputError(f'model {model!r} at {self._url}',
                                 'max_model_len in the answer of the server',
                                 self._shown(longest),
                                 'Give the engine the argument context.')
            # One position is for the token that the server generates, and one
            # for the last id of a window, which is scored but is no input for
            # another token.
            context = longest - 2
        self._facts = EngineFacts(
            engine='vllm server',
            model=model,
            dtype=dtype,
            cache_dtype='unknown',
            context=context,
            versions={'vllm': self._version()})

    @property
    def facts(self) -> EngineFacts:
        """See `RowEngine`."""
        return self._facts

    def row_scores(self, rows: TokenRows) -> list[RowScores]:
        """See `RowEngine`."""
        with ThreadPoolExecutor(self._concurrency) as pool:
            return list(pool.map(self._row_scores, rows))

    def _row_scores(self, row: Integers) -> RowScores:
        """Ask the server for the log-probabilities of a row of ids."""
        # Servers refuse to generate fewer than one token.
        answer = self._ask(
            'POST', _PATH, {
                'model': self._model,
                'prompt': row.tolist(),
                'max_tokens': 1,
                'temperature': 0,
                'prompt_logprobs': 0
            })
        try:
            pairs = _pairs(answer)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            raise InputError(self._url + _PATH,
                             'log-probabilities of all ids of the prompt',
                             self._shown(answer),
                             'Use another engine (docs/engines.md).') from None
        ids = [row[0]]
        log_probs = []
        for index, log_prob in pairs:
            ids.append(index)
            log_probs.append(log_prob)
        return RowScores(np.array(ids), np.array(log_probs))

    def _card(self) -> dict[str, Any]:
        """Return what the server states about the model, as a dictionary."""
        where = self._url + '/v1/models'
        answer = self._ask('GET', '/v1/models')
        try:
            cards = {card['id']: card for card in answer['data']}
        except (KeyError, TypeError):
            raise InputError(where, 'a list of models', self._shown(answer),
                             'Check the address of the server.') from None
        if self._model not in cards:
            names = ', '.join(map(str, cards))
            raise InputError(where, repr(self._model), self._shown(names),
                             'Give the name that the server uses.')
        return cards[self._model]

    def _version(self) -> str:
        """Return the server's version, or 'unknown'.

        A version that contains the API key is not returned, because dumps
        store it.
        """
        try:
            answer = self._ask('GET', '/version')
            version = str(answer['version'])
        except (KeyError, TypeError, InputError):
            return 'unknown'
        if self._key and self._key in version:
            return 'unknown'
        return version

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the JSON of the answer.

        Requests that meet a busy or restarting server are repeated.
        """
        where = self._url + path
        for tries in range(RETRIES + 1):
            seconds = 2**(tries - 2) if tries > 1 else 0
            sleep(seconds)
            try:
                status, content = self._send_once(method, path, body)
            except OSError as error:  # requests raises subclasses of it
                if tries < RETRIES:
                    continue
                found = str(error)[:200]
                if self._key:
                    found = type(error).__name__
                raise InputError(
                    where, 'an answer', f'the error {found!r}',
                    'Start the server and check its address.') from None
            # Status codes of busy and restarting servers.
            busy = 429, 500, 502, 503, 504
            if status not in busy:
                break
        if status != 200:
            text = content.decode(errors='replace')
            raise InputError(
                where, 'an answer', f'status {status}: {self._shown(text)}',
                f'Correct the request, or give the key in {KEY}.')
        remedy = 'Check the address of the server.'
        try:
            return parse_json(content, where, remedy)
        except InputError:
            if self._key is None:
                raise
            raise InputError(where, 'JSON in UTF-8', _HIDDEN, remedy) from None

    def _send_once(self, method: str, path: str,
                   body: Any) -> tuple[int, bytes]:
        """Send a request, and return the status code and body of the answer.

        An `InputError` if the answer takes too long or is too large.
        """
        try:
            # With stream=True, only `_content` reads the body, which limits
            # its size.
            response = _within(
                PATIENCE[0], lambda: self._session.request(
                    method,
                    self._url + path,
                    json=body,
                    timeout=TIMEOUT,
                    stream=True,
                    allow_redirects=False))
            content = _within(PATIENCE[1], lambda: _content(response))
        except (TooLong, requests.ReadTimeout):
            raise InputError(
                self._url + path,
                f'an answer that begins in {PATIENCE[0]} s and ends in '
                f'{PATIENCE[1]} s', 'a slower answer',
                'Check the address and the load of the server.') from None
        if len(content) > LARGEST:
            raise InputError(self._url + path,
                             f'an answer of at most {LARGEST:,} bytes',
                             'a larger answer',
                             'Check the address of the server.')
        return response.status_code, content

    def _shown(self, answer: Any) -> str:
        """Return the beginning of an answer for an error message.

        If a key is set, the answer is not shown, as it could contain the key.
        """
        if self._key is not None:
            return _HIDDEN
        return repr(answer)[:200]


def _pairs(answer: Any) -> list[tuple[int, float]]:
    """Return each id of the prompt except the first, and its log-probability.
    """
    # Each entry has one key, the id of the prompt, because the request asks
    # for no alternatives (`prompt_logprobs` is 0).
    _, *entries = answer['choices'][0]['prompt_logprobs']
    # JSON has no infinity: the server writes this number for minus infinity.
    infinite = -9999.0
    pairs = []
    for entry in entries:
        for index, values in entry.items():
            log_prob = float(values['logprob'])
            if log_prob == infinite:
                log_prob = -math.inf
            pairs.append((int(index), log_prob))
    return pairs


def _within(seconds: float, function: Callable[[], _T]) -> _T:
    """Return the result of a function, or raise `TooLong` after `seconds`.

    The package requests cannot limit the total time of a read: each byte that
    comes extends the wait. So the function runs in a thread of its own, which
    is abandoned after the limit.
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future.result(seconds)


def _content(response: requests.Response) -> bytes:
    """Return the decompressed body, cut soon after `LARGEST` bytes."""
    content = bytearray()
    with response:
        for piece in response.iter_content(2**16):
            content += piece
            if len(content) > LARGEST:
                break
    return bytes(content)


def _check_address(url: str, key: Optional[str]) -> None:
    """Raise an `InputError` for an address that must not be used.

    It must not be invalid, nor contain a user name, a password, a query or a
    fragment. If a key is set, it must not be an unencrypted address of another
    machine.
    """
    where = 'address of the server'
    try:
        parts = parse_url(url)
    except ValueError:
        parts = Url()
    secret = parts.auth or parts.query or parts.fragment
    is_web = parts.scheme in ('http', 'https')
    if not is_web or not parts.host or secret:
        raise InputError(where,
                         'http://... or https://..., without a name or a key',
                         repr(f'{parts.host}{parts.path or ""}'),
                         f'Give a key in {KEY}.')
    is_exposed = parts.scheme == 'http' and not _is_here(parts.host)
    if key is not None and is_exposed:
        raise InputError(
            where, 'https://..., as a key is set', repr(url),
            'Others in the network could read the key: use https or a tunnel '
            f'to this machine, or unset {KEY}.')


def _is_here(host: str) -> bool:
    """Return whether a host name or an IP address means this machine."""
    if host == 'localhost':
        return True
    try:
        address = ip_address(host.strip('[]'))
    except ValueError:
        return False
    return address.is_loopback


def _key() -> Optional[str]:
    """Return the user's API key, which no error message may show."""
    key = os.environ.get(KEY, '').strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable()):
        raise InputError(f'variable {KEY}', 'a key of printable ASCII',
                         'other characters in it', 'Copy the key again.')
    return key


def _session(concurrency: int, key: Optional[str]) -> requests.Session:
    session = requests.Session()
    # Ignore proxies and .netrc credentials that are set on this machine.
    session.trust_env = False
    session.verify = os.environ.get(CERTIFICATES) or True
    if key is not None:
        session.headers['Authorization'] = f'Bearer {key}'
    for scheme in ('http://', 'https://'):
        session.mount(scheme, HTTPAdapter(pool_maxsize=concurrency))
    return session


def open_server(model: str, options: EngineOptions) -> CompletionsEngine:
    """Connect to the server at `options.url`, which serves `model`."""
    assert options.url is not None
    return CompletionsEngine(
        options.url,
        model,
        dtype=options.dtype or 'unknown',
        **options.settings)
