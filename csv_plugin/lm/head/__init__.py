"""The scoring head (Eq. 3), its training in the paper and its settings.

Importing this package loads no torch.
"""
from dataclasses import dataclass

from csv_plugin.core.conventions import InputError

#: Classes of `torch.optim`, by the names that settings use.
OPTIMISERS = {'adam': 'Adam', 'sgd': 'SGD'}


@dataclass(frozen=True)
class HeadSettings:
    """How heads are trained.

    Args:
        activation (str): A key of `scoring_head.ACTIVATIONS`.
        optimiser (str): 'sgd', as in the paper, or 'adam'; full batches.
        learning_rate (float): The paper's is 1e-3. With states of unit
            variance, 300 steps of SGD multiplied a simulated validation
            error by 0.95 at 1e-3 and by 0.1 at 1e-1, those of Adam by 0.05
            at 1e-3 to 3e-3.
        n_steps (int): Most gradient steps.
        patience (int): Steps without a better validation error after which
            a benchmark stops.
    """
    activation: str = 'softplus'
    optimiser: str = 'sgd'
    learning_rate: float = 1e-3
    n_steps: int = 300
    patience: int = 50

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise InputError('optimiser', f'one of {sorted(OPTIMISERS)}',
                             repr(self.optimiser), 'Name an optimiser.')
        for name in ('learning_rate', 'n_steps', 'patience'):
            if not getattr(self, name) > 0:
                raise InputError(name, 'a number above 0',
                                 str(getattr(self, name)), 'Raise it.')
