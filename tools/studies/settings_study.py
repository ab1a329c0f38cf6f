"""What half and twice of every number of the model change on the yard.

    OMP_NUM_THREADS=1 python -m tools.studies.settings_study --seed 0 \\
        --seconds 5 --out outputs/settings

runs the default on the trials of `yard` that take at most 5 CPU seconds, with
each number of csv_plugin/core/settings.py halved and doubled in turn: one that
is the logarithm of an amount is moved by log 2, so that the amount is halved
and doubled; floors are moved to twice and half their distance from the chance
level, but not below 0. It prints the table of docs/appendix/settings.md. A
cell has

    the ratio of squared errors to that of the settings as they are, a
    geometric mean over the trials, with its standard error in brackets, and
    the difference of coverage of the 90 % intervals in points

Figures of every variant are kept in `--out`; trials that are there are not run
again.
"""
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
from tabulate import tabulate

from csv_plugin.core.settings import Form, Settings
from tools.studies.common import parser_of
from tools.studies.trials import METHODS, Figures, Trial, column, run, salience
from tools.studies.yard import Draw

#: Settings that are logarithms of what is halved and doubled.
LOGARITHMS = ('typical', 'spread', 'units', 'answers', 'bend', 'family', 'own',
              'noise')
#: Part of `Form` that is a number.
STRAIGHT = 'straight'
NAMES = (*(part.name
           for part in fields(Settings) if part.name != 'forms'), STRAIGHT)
FACTORS = {'half': .5, 'twice': 2.}


def changed(name: str, factor: float) -> Settings:
    """The settings with one number multiplied.

    >>> changed('level', 2).level
    -2.0
    >>> round(changed('bend', 2).bend, 2)
    -1.31
    >>> changed('floors', 2).floors
    (0.975, 1.0, 0.9, 0.75, 0.5)
    """
    settings = Settings()
    if name == STRAIGHT:
        forms = [
            Form(form.logarithms, factor * form.straight)
            for form in settings.forms
        ]
        return replace(settings, forms=tuple(forms))
    value = getattr(settings, name)
    if name == 'floors':
        value = tuple(max(1 - (1 - floor) / factor, 0.) for floor in value)
    elif name in LOGARITHMS:
        value = value + math.log(factor)
    elif isinstance(value, int):
        value = round(factor * value)
    else:
        value = factor * value
    return replace(settings, **{name: value})


def figures_with(settings: Settings, name: str, trials: Sequence[Trial],
                 out: Path) -> list[Figures]:
    """Figures of the default with some settings, which a file keeps."""
    METHODS[name] = partial(salience, settings=settings)
    return run(trials, name, out / f'{name}.csv')


def cell(ours: Sequence[Figures], base: Sequence[Figures]) -> str:
    """How errors and coverage of a variant differ on the same trials."""
    errors = column(ours, 'log_error') - column(base, 'log_error')
    coverage = (column(ours, 'coverage') - column(base, 'coverage')).mean()
    ratio = np.exp(errors.mean())
    deviation = ratio * errors.std() / np.sqrt(len(errors))
    return f'{ratio:.3f} ({deviation:.3f}), {100 * coverage:+.1f}'


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--shared', type=Path, default='../shared/real')
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--seconds', type=float, default=math.inf)
    parser.add_argument(
        '--only', nargs='+', default=NAMES, choices=NAMES, metavar='NAME')
    parser.add_argument('--out', type=Path, default='outputs/settings')
    args = parser.parse_args()
    trials = Draw(args.shared, args.public, args.seed).trials()
    every = figures_with(Settings(), f'salience_{args.seed}', trials, args.out)
    quick = np.flatnonzero(column(every, 'seconds') <= args.seconds)
    trials = [trials[i] for i in quick]
    base = [every[i] for i in quick]
    rows = []
    for name in args.only:
        value = Settings().forms[0].straight if name == STRAIGHT else getattr(
            Settings(), name)
        cells = []
        for kind, factor in FACTORS.items():
            found = figures_with(
                changed(name, factor), f'{kind} {name}_{args.seed}', trials,
                args.out)
            cells.append(cell(found, base))
        rows.append([f'`{name}`', value, *cells])
    print(
        tabulate(
            rows, ('setting', 'value', *FACTORS),
            tablefmt='pipe',
            disable_numparse=True))


if __name__ == '__main__':
    main()
