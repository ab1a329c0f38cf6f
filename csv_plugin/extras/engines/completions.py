"""Servers of vLLM and SGLang as an engine."""
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Optional

import numpy as np
import requests
from numpy.typing import NDArray
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from csv_plugin.core.input_error import InputError
from csv_plugin.io.json_files import parse_json
from csv_plugin.lm.engines.protocol import EngineFacts
from csv_plugin.lm.engines.row_engine import RowEngine, Rows, RowScores

#: Environment variable with the key of the server, if it asks for one.
KEY = 'CSV_PLUGIN_API_KEY'
#: Seconds to wait for the connection, and for an answer.
TIMEOUT = 10, 600
#: Of the server of vLLM, in place of minus infinity.
_INFINITE = -9999.0
#: A request that meets a busy or restarting server is sent again so often:
#: at once, and after 1, 2, 4, ... seconds.
RETRIES = 6


class _Dialect(NamedTuple):
    """Request and answer of a server about a prompt.

    `request` takes the model's name and the ids; `pairs` takes the answer
    and returns each id but the first with its log-probability.
    """
    path: str
    request: Callable[[str, list[int]], dict[str, Any]]
    pairs: Callable[[Any], list[tuple[int, float]]]


def _vllm_request(model: str, ids: list[int]) -> dict[str, Any]:
    return {
        'model': model,
        'prompt': ids,
        'max_tokens': 1,
        'temperature': 0,
        'prompt_logprobs': 0
    }


def _vllm_pairs(answer: Any) -> list[tuple[int, float]]:
    # Each entry has one key, the id: further ids were not asked for.
    _, *entries = answer['choices'][0]['prompt_logprobs']
    pairs = [(int(index), float(values['logprob'])) for entry in entries
             for index, values in entry.items()]
    # JSON has no infinity: the server writes a number that is none.
    return [(index, -np.inf if log_prob == _INFINITE else log_prob)
            for index, log_prob in pairs]


def _sglang_request(model: str, ids: list[int]) -> dict[str, Any]:
    return {
        'input_ids': ids,
        'sampling_params': {
            'max_new_tokens': 1,
            'temperature': 0
        },
        'return_logprob': True,
        'logprob_start_len': 0
    }


def _sglang_pairs(answer: Any) -> list[tuple[int, float]]:
    _, *entries = answer['meta_info']['input_token_logprobs']
    return [(int(index), float(log_prob)) for log_prob, index, _ in entries]


_DIALECTS = {
    'vllm': _Dialect('/v1/completions', _vllm_request, _vllm_pairs),
    'sglang': _Dialect('/generate', _sglang_request, _sglang_pairs),
}


class CompletionsEngine(RowEngine):
    """A model behind the server of vLLM or SGLang.

    Rows are sent as ids, never as text. The key is read from the environment
    variable `CSV_PLUGIN_API_KEY` and is sent to this server alone.

    Args:
        url (str): The server, such as 'http://localhost:8000'.
        model (str): The model's name there.
        server (str): 'vllm' or 'sglang'.
        context (Optional[int]): Most inputs of a window; by default from the
            server's longest row.
        dtype (str): Number format of the weights, which servers do not
            report.
        concurrency (int): Most requests at a time.

    Raises:
        InputError: The address or the kind of server is not known, or the
            server cannot be reached, does not have the model, or does not
            report its longest row.
    """

    def __init__(self,
                 url: str,
                 model: str,
                 server: str = 'vllm',
                 context: Optional[int] = None,
                 dtype: str = 'unknown',
                 concurrency: int = 8) -> None:
        _check_address(url)
        if server not in _DIALECTS:
            raise InputError('kind of server', ' or '.join(_DIALECTS),
                             repr(server), 'Use one of these two.')
        self._dialect = _DIALECTS[server]
        self._url = url.rstrip('/').removesuffix('/v1')
        self._model = model
        self._concurrency = concurrency
        self._session = _session(concurrency)
        card = self._card()
        if context is None:
            longest = card.get('max_model_len')
            if type(longest) is not int:
                raise InputError(f'model {model!r} at {self._url}',
                                 'max_model_len in the answer of the server',
                                 repr(longest), 'Give the context.')
            # The server adds a token, and a window has one id more than
            # inputs.
            context = longest - 2
        self._facts = EngineFacts(
            engine=f'{server} server',
            model=model,
            dtype=dtype,
            cache_dtype='unknown',
            context=context,
            versions={str(card.get('owned_by', 'server')): self._version()})

    @property
    def facts(self) -> EngineFacts:
        """See `RowEngine`."""
        return self._facts

    def row_scores(self, rows: Rows) -> list[RowScores]:
        """See `RowEngine`."""
        with ThreadPoolExecutor(self._concurrency) as pool:
            return list(pool.map(self._row_scores, rows))

    def _row_scores(self, row: NDArray[np.int64]) -> RowScores:
        request = self._dialect.request(self._model, row.tolist())
        answer = self._ask('POST', self._dialect.path, request)
        try:
            pairs = self._dialect.pairs(answer)
        except (AttributeError, KeyError, IndexError, TypeError,
                ValueError) as error:
            raise InputError(
                self._url + self._dialect.path,
                'log-probabilities of all ids of the prompt',
                repr(answer)[:80],
                'Give the right kind of server, or use another engine '
                '(docs/engines.md).') from error
        return RowScores(
            np.array([row[0], *(index for index, _ in pairs)]),
            np.array([log_prob for _, log_prob in pairs]))

    def _card(self) -> dict[str, Any]:
        """The server's record of the model."""
        where = self._url + '/v1/models'
        answer = self._ask('GET', '/v1/models')
        try:
            cards = {card['id']: card for card in answer['data']}
        except (KeyError, TypeError) as error:
            raise InputError(where, 'a list of models',
                             repr(answer)[:80],
                             'Check the address of the server.') from error
        if self._model not in cards:
            raise InputError(where, repr(self._model),
                             ', '.join(map(repr, cards)),
                             'Give the name that the server uses.')
        return cards[self._model]

    def _version(self) -> str:
        """The version, which vLLM reports."""
        answer = self._send('GET', '/version')
        try:
            return str(answer.json()['version'])
        except (KeyError, TypeError, ValueError):
            return 'unknown'

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._send(method, path, body)
        if answer.status_code != 200:
            raise InputError(
                self._url + path, 'an answer',
                f'status {answer.status_code}: {answer.text[:200]!r}',
                f'Correct the request, or give the key in {KEY}.')
        return parse_json(answer.content, self._url + path,
                          'Check the address of the server.')

    def _send(self,
              method: str,
              path: str,
              body: Any = None) -> requests.Response:
        try:
            return self._session.request(
                method,
                self._url + path,
                json=body,
                timeout=TIMEOUT,
                allow_redirects=False)
        except requests.RequestException as error:
            raise InputError(
                self._url + path, 'an answer',
                f'the error {str(error)[:200]!r}',
                'Start the server and check its address.') from error


def _check_address(url: str) -> None:
    """Refuse an address of another kind, or with a password."""
    if not url.startswith(('http://', 'https://')) or '@' in url:
        raise InputError('address of the server',
                         'http://... or https://..., without a name',
                         repr(url.rpartition('@')[2]), f'Give a key in {KEY}.')


def _key() -> Optional[str]:
    """The user's key, which no error may show."""
    key = os.environ.get(KEY)
    if key is None:
        return None
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f'variable {KEY}', 'a key of printable ASCII',
                         'other characters in it', 'Set it again.')
    return key


def _session(concurrency: int) -> requests.Session:
    session = requests.Session()
    # Keys of other hosts and proxies that the machine is set up for.
    session.trust_env = False
    key = _key()
    if key is not None:
        session.headers['Authorization'] = f'Bearer {key}'
    retries = Retry(
        RETRIES,
        backoff_factor=0.5,
        status_forcelist=(429, 500, 502, 503, 504),
        allowed_methods=None,
        raise_on_status=False,
        # A server could ask for hours.
        respect_retry_after_header=False)
    for scheme in ('http://', 'https://'):
        session.mount(
            scheme, HTTPAdapter(max_retries=retries, pool_maxsize=concurrency))
    return session
