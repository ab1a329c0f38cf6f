"""Find out early that the model hub cannot be reached.

The packages that load models retry for minutes without a network.
"""
import os

from huggingface_hub import constants
from huggingface_hub.utils import (HFValidationError, get_session,
                                   validate_repo_id)

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath


def check_reachable(what: str, path: FilePath) -> None:
    """Raise an `InputError` if a model can only be on a hub out of reach.

    `what` is what the error calls the model, and `path` is a folder or a name
    on the hub. Names are not checked if files of the model are in the cache of
    the hub's client, or if this client is set to work offline.
    """
    name = os.fspath(path)
    if constants.HF_HUB_OFFLINE or os.path.exists(name):
        return
    try:
        validate_repo_id(name)
    except HFValidationError:
        return
    folder = f'models--{name.replace("/", "--")}'
    # transformers still reads this older variable.
    caches = constants.HF_HUB_CACHE, os.environ.get('TRANSFORMERS_CACHE', '')
    for cache in caches:
        if cache and os.path.isdir(os.path.join(cache, folder)):
            return
    # Seconds to wait for any answer. The client uses the proxy, if one is set.
    timeout = 10
    try:
        get_session().head(constants.ENDPOINT, timeout=timeout)
    # Its class depends on the version of the client.
    except Exception as error:
        raise InputError(
            f'{what} {name!r}', 'an existing folder, or a name on the hub',
            'no such folder, and the model hub cannot be reached',
            'Name an existing folder, or check the network and the variables '
            'HTTPS_PROXY and HF_ENDPOINT.') from error
