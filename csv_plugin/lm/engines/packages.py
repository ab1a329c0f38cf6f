"""Packages that only one engine or tracker needs."""
from importlib import import_module
from types import ModuleType

from csv_plugin.core.conventions import InputError


def optional_package(name: str,
                     purpose: str,
                     page: str = 'engines.md') -> ModuleType:
    """Import a package that the plugin does not install.

    Args:
        name (str): Name of the module, such as 'vllm'.
        purpose (str): What needs it, for the error.
        page (str): The page of the docs about it.

    Raises:
        InputError: The package is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(purpose, f'the package {name}',
                         f'the error {str(error)!r}',
                         f'Install {name} (docs/{page}).') from error
