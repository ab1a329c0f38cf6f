"""Salience solvers, which weight the losses of units for a benchmark."""
from csv_plugin.core.salience.averaged import Averaged
from csv_plugin.core.salience.base import (ChoosingSolver, JointSolver,
                                           SalienceFit, Solver, Task,
                                           fold_masks)
from csv_plugin.core.salience.choice import (Auto, Constant, OnColumns,
                                             predicts_better)
from csv_plugin.core.salience.mean_loss import MeanLoss
from csv_plugin.core.salience.nonnegative import NonNegative
from csv_plugin.core.salience.ridge import Plain, Ridge, Uniform

#: The solvers by the names that command lines and files use.
SOLVERS: dict[str, Solver] = {
    'auto': Auto(),
    'averaged': Averaged(),
    'mean-loss': MeanLoss(),
    'nonnegative': NonNegative(),
    'plain': Plain(),
    'ridge': Ridge(),
    'uniform': Uniform(),
}
#: The solver that commands and functions take if none is named.
DEFAULT_SOLVER = 'averaged'

__all__ = [
    'Auto', 'Averaged', 'ChoosingSolver', 'Constant', 'DEFAULT_SOLVER',
    'JointSolver', 'MeanLoss', 'NonNegative', 'OnColumns', 'Plain', 'Ridge',
    'SOLVERS', 'SalienceFit', 'Solver', 'Task', 'Uniform', 'fold_masks',
    'predicts_better'
]
