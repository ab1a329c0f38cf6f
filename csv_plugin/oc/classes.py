"""Look up classes of models that a config of OpenCompass gives."""
from typing import Any

from opencompass.registry import MODELS


def class_of(kind: Any) -> Any:
    """Return the class of a model, given as a class or as its name."""
    return MODELS.get(kind) if isinstance(kind, str) else kind


def class_name(kind: Any) -> str:
    """Return the name of a class, given as a class or as a dotted path."""
    if isinstance(kind, str):
        return kind.rpartition('.')[2]
    return kind.__name__
