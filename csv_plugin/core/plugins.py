"""Engines, importers and methods that installed packages declare.

Each is an entry point of one of the groups below. CONTRIBUTING.md shows one
of each.
"""
from typing import Any

from csv_plugin.core.conventions import InputError, check_choice

#: Functions that open a model, `(model: str, options: EngineOptions)`; see
#: `lm.engines.protocol`.
ENGINES = 'csv_plugin.engines'
#: Readers of losses on items, `(path, tasks, left_out)`; see
#: `extras.importers.importing`.
IMPORTERS = 'csv_plugin.importers'
#: Fits, `(features, accuracies, families, units)`; see `core.fitting`.
METHODS = 'csv_plugin.methods'


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names in a group, those of this package first.

    Raises:
        InputError: There is none, or two packages declare the same name.
    """
    return tuple(_declared(group))


def load_plugin(group: str, name: str) -> Any:
    """Return the function that is declared under a name.

    Raises:
        InputError: There is none, or as in `plugin_names`.
    """
    declared = _declared(group)
    check_choice(group, name, declared)
    return declared[name].load()


def _declared(group: str) -> dict[str, Any]:
    """Entry points of a group by name, those of this package first.

    A package that is installed twice declares the same ones twice, which is
    no error.
    """
    # Not at the top: most calls need no plug-in.
    from importlib.metadata import entry_points
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for point in entry_points(group=group):
        found = own if point.module.startswith('csv_plugin.') else others
        known = own.get(point.name) or others.get(point.name)
        if known and known.value != point.value:
            raise InputError(
                group, 'one plug-in of each name',
                f'{point.name!r} as {known.value} and as {point.value}',
                'Uninstall one of the two packages.')
        found[point.name] = point
    if not own:
        raise InputError(group, 'the plug-ins of this package', 'none',
                         'Install it again: pip install .')
    return own | others
