"""Losses from answers of vLLM and other OpenAI-compatible servers.

A file has one JSON object a line, as the output of OpenAI's batch API:
`custom_id` is the id of a text, `response` the answer to a completion
request, itself or under `body`. The log-probabilities of the prompt are
vLLM's `prompt_logprobs`, or `logprobs` of a request with `echo`.
"""
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.json_rows import (JsonPart, is_number,
                                                   read_json_rows)
from csv_plugin.extras.importers.text_losses import MOST_NATS, TextLoss
from csv_plugin.io.files import FilePath

_REMEDY = ('Log answers to /v1/completions with prompt_logprobs=0, or with '
           'echo=True and logprobs=0.')
#: In place of the bytes of an incomplete character.
_INCOMPLETE = '\N{REPLACEMENT CHARACTER}', 'bytes:'
#: A token of a prompt and its `log p`, None for the first one.
_Token = tuple[str, Optional[float]]


def read_completions(path: FilePath, texts: TextSet) -> list[TextLoss]:
    """Read the losses of one model on texts.

    Scored: all tokens of a text. The prompt has one more token in front, such
    as BOS, so that the first token of the text has a loss too.

    Raises:
        InputError: The file is damaged, a request failed and was not made
            again, the prompt is not the text behind one token, a token has no
            log-probability, or the answers are of several models.
    """
    by_id = {text.text_id: text.text for text in texts}
    losses: list[TextLoss] = []
    failed: dict[str, InputError] = {}
    model = None
    for row in read_json_rows(path, _REMEDY):
        text_id = row.get('custom_id', str)
        if text_id not in by_id:
            raise row.error('custom_id', 'the id of a text')
        answer = row.part('response')
        if answer.fields.get('status_code', 200) != 200:
            failed[text_id] = answer.error('status_code', '200')
            continue
        if 'body' in answer.fields:
            answer = answer.part('body')
        model = model or answer.fields.get('model')
        if answer.fields.get('model', model) != model:
            raise answer.error('model', f'{model!r}, as in the lines before,')
        tokens = _prompt_tokens(answer)
        _check_tokens(row, tokens, by_id[text_id])
        nats = sum(_nats(row, logprob) for _, logprob in tokens[1:])
        losses.append(TextLoss(text_id, by_id[text_id], nats, where=row.where))
    # A request that failed may have been made again.
    for text_id in failed.keys() - {loss.text_id for loss in losses}:
        raise failed[text_id]
    return losses


def _prompt_tokens(answer: JsonPart) -> list[_Token]:
    choices = answer.parts('choices')
    if len(choices) != 1:
        raise answer.error('choices', 'a single one')
    n_tokens = answer.part('usage').get('prompt_tokens', int)
    if choices[0].fields.get('prompt_logprobs') is not None:
        tokens = _of_vllm(choices[0])
    else:
        logprobs = choices[0].part('logprobs')
        # Behind the tokens of the prompt stand those that were generated.
        tokens = [
            *zip(*(logprobs.get(name, list)[:n_tokens]
                   for name in ('tokens', 'token_logprobs')))
        ]
    if len(tokens) != n_tokens or not all(
            isinstance(word, str) for word, _ in tokens):
        raise InputError(choices[0].where,
                         f'log-probabilities of {n_tokens} tokens',
                         f'{len(tokens)}: {tokens}'[:80], _REMEDY)
    return tokens


def _of_vllm(choice: JsonPart) -> list[_Token]:
    """Entries are by token id: that of the prompt, then the most likely."""
    tokens: list[_Token] = []
    for place, entry in enumerate(choice.get('prompt_logprobs', list)):
        if entry is None:
            tokens.append(('', None))
            continue
        token = JsonPart.of(f'{choice.where}, token {place}', entry, _REMEDY)
        if not token.fields:
            raise token.error('id', 'log-probabilities by token')
        token = token.part(next(iter(token.fields)))
        tokens.append((token.get('decoded_token',
                                 str), token.fields.get('logprob')))
    return tokens


def _nats(row: JsonPart, logprob: Any) -> float:
    if not is_number(logprob) or not -MOST_NATS <= logprob < 1e-3:
        raise InputError(
            row.where, f'a log-probability in -{MOST_NATS:g}..0',
            repr(logprob)[:80], 'Servers write -9999 for a probability of 0: '
            'score the text with another model or dtype.')
    return max(0.0, -logprob)


def _check_tokens(row: JsonPart, tokens: list[_Token], text: str) -> None:
    """Compare tokens with their text.

    Servers decode each token by itself. That loses blanks, and bytes of a
    character that several tokens share.
    """
    unscored = [place for place, token in enumerate(tokens)
                if token[1] is None]  # yapf: disable
    if unscored != [0]:
        raise InputError(row.where, 'losses of all tokens but the first',
                         f'none of tokens {unscored}'[:80], _REMEDY)
    words, expected = [word for word, _ in tokens[1:]], _without_blanks(text)
    whole = [word for word in words
             if not any(part in word for part in _INCOMPLETE)
             ]  # yapf: disable
    found = _without_blanks(''.join(whole))
    if found != expected and (whole == words or not _is_part(found, expected)):
        raise InputError(
            row.where, f'a token such as BOS and the text {text[:100]!r}',
            f'tokens {[word for word, _ in tokens[:8]]}',
            'The first token of a text needs a loss too: send the text with '
            'a single BOS in front.')


def _without_blanks(text: str) -> str:
    return ''.join(text.split())


def _is_part(characters: str, text: str) -> bool:
    rest = iter(text)
    return all(character in rest for character in characters)
