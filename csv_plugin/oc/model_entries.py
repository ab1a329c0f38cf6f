"""Models in a config, whose own code runs only where the user says so."""
from collections.abc import Mapping, Sequence
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.own_code import READ_IT, config_without_code

#: Keys of an entry whose settings say whether code runs.
MODEL, TOKENIZER = 'model_kwargs', 'tokenizer_kwargs'


def remedy(keys: Sequence[str]) -> str:
    """What to write into the entry of a model whose code may run."""
    return f'{READ_IT} give trust_remote_code=True in {" and ".join(keys)}.'


def allows_own_code(entry: Mapping[str, Any]) -> bool:
    """Whether an entry lets the code run that comes with its model."""
    return bool(entry.get(MODEL, {}).get('trust_remote_code'))


def without_own_code(
    entry: Mapping[str, Any], keys: Sequence[str] = (MODEL, TOKENIZER)
) -> dict[str, Any]:
    """The entry with the code that comes with its model turned off.

    OpenCompass runs it by default. What the entry says itself is kept.

    Args:
        entry (Mapping[str, Any]): Of a class of OpenCompass that loads
            models by transformers or vLLM.
        keys (Sequence[str]): The settings that the class takes.

    Raises:
        InputError: The code is off, but the model comes with code that would
            run all the same, or that it cannot be loaded without.
    """
    safe = dict(entry)
    for key in keys:
        safe[key] = {'trust_remote_code': False, **entry.get(key, {})}
    if not allows_own_code(safe):
        config = config_without_code(entry['path'], remedy(keys))
        named = getattr(config, 'auto_map', None)
        if named and entry.get('max_seq_len') is None:
            raise InputError(
                f'model {entry["path"]!r}', 'a max_seq_len in its entry',
                'none, so that OpenCompass would run code of the model to '
                'look it up', 'Give its longest context in tokens.')
    return safe


def with_own_code(entry: Mapping[str, Any], allowed: bool) -> dict[str, Any]:
    """The entry of a model that needs the code that comes with it.

    Args:
        entry (Mapping[str, Any]): With `abbr`, `model_kwargs` and
            `tokenizer_kwargs`.
        allowed (bool): Whether the user lets the code run.

    Raises:
        InputError: It may not run.
    """
    if not allowed:
        raise InputError(
            f'model {entry["abbr"]!r}', 'leave to run the code that comes '
            'with it, without which it cannot be loaded', 'none',
            'Read that code on the hub and set own_code = True in the '
            'config, or leave such models out.')
    trust = dict(trust_remote_code=True)
    return {
        **entry, 'model_kwargs': {
            **entry['model_kwargs'],
            **trust
        },
        'tokenizer_kwargs': {
            **entry['tokenizer_kwargs'],
            **trust
        }
    }
