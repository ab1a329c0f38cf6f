"""Train the scoring head (Eq. 3) as in the paper.

This module contains the settings of the training. Importing it does not import
torch.
"""
from dataclasses import dataclass

from csv_plugin.core.conventions import InputError


@dataclass(frozen=True)
class HeadSettings:
    """Settings of the gradient descent that trains the heads.

    The default learning rate, 1e-3, is the paper's. In a simulation with
    states of unit variance, 300 steps at this rate multiplied the validation
    error by 0.95, and 300 steps at 1e-1 by 0.1. The training of a benchmark
    stops after `patience` steps without a lower validation error.
    """
    learning_rate: float = 1e-3
    n_steps: int = 300
    patience: int = 50

    def __post_init__(self) -> None:
        for name in ('learning_rate', 'n_steps', 'patience'):
            if not getattr(self, name) > 0:
                raise InputError(name, 'a number above 0',
                                 str(getattr(self, name)),
                                 f'Set {name} to a number above 0.')
