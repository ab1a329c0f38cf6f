"""Plug-ins: engines, importers and methods that installed packages declare.

Each plug-in is an entry point in one of the three groups below.
CONTRIBUTING.md shows an example for each group.
"""
import sys
from functools import cache
from typing import Any

from csv_plugin.core.conventions import InputError, check_choice

#: Group of the functions that open a model. Their arguments are `(model: str,
#: options: EngineOptions)`; see `lm.engines.protocol`.
ENGINES = 'csv_plugin.engines'
#: Group of the functions that read losses on benchmark items. Their arguments
#: are `(path, tasks, left_out)`; see `extras.importers.importing`.
IMPORTERS = 'csv_plugin.importers'
#: Group of the functions that fit a predictor. Their arguments are `(features,
#: accuracies, families, units)`; see `core.fitting`.
METHODS = 'csv_plugin.methods'


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's plug-ins, `csv_plugin`'s plug-ins first.

    Raises:
        InputError: `csv_plugin` has no plug-in in this group, or two packages
            declare the same name.
    """
    return tuple(_declared(group, *sys.path))


def load_plugin(group: str, name: str) -> Any:
    """Return the function that a package declares under this name.

    Raises:
        InputError: No package declares the name in this group, or as in
            `plugin_names`.
    """
    declared = _declared(group, *sys.path)
    check_choice(group, name, declared)
    return declared[name].load()


@cache
def _declared(group: str, *folders: str) -> dict[str, Any]:
    """Return the entry points of a group by name.

    `folders` are those of `sys.path`, in which packages are installed. Their
    entry points are read once, as this takes 20 ms.

    The entry points of `csv_plugin` come first, then the entry points of other
    packages. A package that is installed twice declares the same entry points
    twice; this is no error.
    """
    # Not at the top of the file, as most commands need no plug-in.
    from importlib.metadata import entry_points
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for entry_point in entry_points(group=group):
        name = entry_point.name
        known = own.get(name) or others.get(name)
        if known and known.value != entry_point.value:
            raise InputError(
                group, 'a different name for each plug-in',
                f'the name {name!r} for {known.value} and for '
                f'{entry_point.value}', 'Uninstall one of the two packages.')
        if entry_point.module.startswith('csv_plugin.'):
            own[name] = entry_point
        else:
            others[name] = entry_point
    if not own:
        raise InputError(group, 'the plug-ins of csv_plugin', 'none',
                         'Install csv_plugin again: pip install .')
    return own | others
