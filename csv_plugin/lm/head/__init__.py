"""The scoring head (Eq. 3), its training in the paper and its settings.

Importing this package loads no torch.
"""
from dataclasses import dataclass

from csv_plugin.core.conventions import InputError


@dataclass(frozen=True)
class HeadSettings:
    """How heads are trained, by gradient descent on all models.

    The paper's learning rate is 1e-3: with states of unit variance, 300 steps
    multiplied a simulated validation error by 0.95, and at 1e-1 by 0.1. After
    `patience` steps without a better validation error a benchmark stops.
    """
    learning_rate: float = 1e-3
    n_steps: int = 300
    patience: int = 50

    def __post_init__(self) -> None:
        for name in ('learning_rate', 'n_steps', 'patience'):
            if not getattr(self, name) > 0:
                raise InputError(name, 'a number above 0',
                                 str(getattr(self, name)), 'Raise it.')
