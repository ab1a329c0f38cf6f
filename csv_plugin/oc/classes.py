"""Classes of OpenCompass, which a config may contain as a text."""
from typing import Any

from opencompass.registry import MODELS


def class_of(kind: Any) -> Any:
    """Return a class of models, which a config may contain as a text."""
    return MODELS.get(kind) if isinstance(kind, str) else kind


def class_name(kind: Any) -> str:
    """Return the name of a class, which a config may contain as a text."""
    if isinstance(kind, str):
        return kind.rpartition('.')[2]
    return kind.__name__
