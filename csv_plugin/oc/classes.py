"""Look up the classes that the entries of an OpenCompass config name."""
from collections.abc import Mapping
from typing import Any

from opencompass.registry import MODELS

#: An entry of a config, such as a model, a dataset or a group of datasets.
#: Models and datasets have their class as `type`, and its arguments.
Entry = Mapping[str, Any]
#: A benchmark's name in a run: the name of a dataset or group, or a pair of
#: this name and a metric.
BenchmarkName = str | tuple[str, str]


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
