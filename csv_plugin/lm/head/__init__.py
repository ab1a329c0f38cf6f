"""The scoring head (Eq. 3), its training in the paper and its settings.

Importing this package loads no torch.
"""
from dataclasses import dataclass

from csv_plugin.core.conventions import InputError


@dataclass(frozen=True)
class HeadSettings:
    """How heads are trained, by gradient descent on all models.

    Args:
        learning_rate (float): The paper's is 1e-3. With states of unit
            variance, 300 steps multiplied a simulated validation error by
            0.95 at 1e-3 and by 0.1 at 1e-1.
        n_steps (int): Most gradient steps.
        patience (int): Steps without a better validation error after which
            a benchmark stops.
    """
    learning_rate: float = 1e-3
    n_steps: int = 300
    patience: int = 50

    def __post_init__(self) -> None:
        for name in ('learning_rate', 'n_steps', 'patience'):
            if not getattr(self, name) > 0:
                raise InputError(name, 'a number above 0',
                                 str(getattr(self, name)), 'Raise it.')
