"""Look up the classes that the entries of an OpenCompass config name."""
from collections.abc import Mapping
from typing import Any

from opencompass.registry import MODELS

#: An entry of a config: the class of a model, dataset or other part as `type`,
#: and the arguments of this class.
Entry = Mapping[str, Any]


def class_of(kind: Any) -> Any:
    """Return the class of a model; `kind` is the class itself or its name."""
    if isinstance(kind, str):
        return MODELS.get(kind)
    return kind


def class_name(entry: Entry) -> str:
    """Return the name of the class of an entry, without its module.

    The `type` of the entry is a class or a dotted path.
    """
    kind = entry['type']
    if isinstance(kind, str):
        return kind.rpartition('.')[2]
    return kind.__name__
