"""Predictors on a shelf: with the package, in a folder, in a hub repository.

`huggingface_hub` is loaded only where a repository is named.
"""
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.files import FilePath, open_file
from csv_plugin.io.predictors import FORMAT, load_predictor
from csv_plugin.io.safetensors_files import read_metadata

#: What a repository of the hub begins with, in place of a folder.
HUB = 'hub:'
_SUFFIX = '.safetensors'


def shelved_predictors(
        folder: FilePath,
        only: Optional[str] = None) -> dict[str, Predictor | InputError]:
    """The predictors in a folder and in its folders.

    Args:
        folder (FilePath): Other safetensors files in it are passed over.
        only (Optional[str]): Name of a file in the folder, if only this one
            is wanted.

    Returns:
        dict: By path within the folder, without suffix: the predictor, or
        why its file cannot be read.

    Raises:
        InputError: There is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(
            str(root), 'a folder with predictors', 'no folder',
            f'Name a folder, or a repository as {HUB}owner/name.')
    paths = [root / only] if only else sorted(
        [*root.glob(f'*{_SUFFIX}'), *root.glob(f'*/*{_SUFFIX}')])
    shelf: dict[str, Predictor | InputError] = {}
    for path in paths:
        name = str(path.relative_to(root)).removesuffix(_SUFFIX)
        try:
            if _is_predictor(path):
                shelf[name] = load_predictor(path)
        except InputError as error:
            shelf[name] = error
    return shelf


@contextmanager
def shelf_folder(place: Optional[str]) -> Iterator[tuple[Path, Optional[str]]]:
    """The folder of a shelf, and the file in it if the place is one.

    Args:
        place (Optional[str]): A folder or a file; a repository such as
            `hub:owner/name` or `hub:owner/name@revision`, whose predictors
            are downloaded into the cache of `huggingface_hub`; None for what
            comes with the package.

    Raises:
        InputError: The repository cannot be reached.
    """
    if place is None:
        with as_file(files('csv_plugin')) as folder:
            yield folder, None
    elif place.startswith(HUB):
        yield _downloaded(place.removeprefix(HUB)), None
    elif place.endswith(_SUFFIX) and Path(place).is_file():
        yield Path(place).parent, Path(place).name
    else:
        yield Path(place), None


def upload_shelf(folder: FilePath, repository: str) -> None:
    """Upload all files of a folder to a repository of the hub.

    Args:
        folder (FilePath): What to upload.
        repository (str): `owner/name`; it is made if it does not exist.

    Raises:
        InputError: The repository cannot be written to.
    """
    from huggingface_hub import HfApi
    with _hub_errors(repository):
        api = HfApi()
        api.create_repo(repository, exist_ok=True)
        api.upload_folder(
            repo_id=repository,
            folder_path=os.fspath(folder),
            commit_message='Predictors of csv_plugin')


def _downloaded(repository: str) -> Path:
    from huggingface_hub import HfApi
    name, _, revision = repository.partition('@')
    with _hub_errors(name):
        return Path(HfApi().snapshot_download(
            name, revision=revision or None, allow_patterns=f'*{_SUFFIX}'))


@contextmanager
def _hub_errors(repository: str) -> Iterator[None]:
    try:
        yield
    # The client has errors of several libraries for the network.
    except Exception as error:
        raise InputError(
            f'{HUB}{repository}', 'a repository that can be reached',
            f'{type(error).__name__}: {error}',
            'Check its name, the network and `hf auth login`.') from error


def _is_predictor(path: Path) -> bool:
    try:
        with open_file(path) as file:
            return FORMAT in read_metadata(str(path), file)
    except OSError as error:
        raise InputError(
            str(path), 'a file that can be read', f'the error '
            f'{error.strerror!r}', 'Check the path.') from error
