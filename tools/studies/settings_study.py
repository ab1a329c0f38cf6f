"""What half and twice of every number of the model change on the yard.

    OMP_NUM_THREADS=1 python -m tools.studies.settings_study --seed 0 1 \\
        --out outputs/settings

runs core.accuracy_model on the trials of `yard`, as its method `one-model`
does, with each number of csv_plugin/core/settings.py halved and doubled in
turn: one that is the logarithm of an amount is moved by log 2, so that the
amount is halved and doubled; floors are moved to twice and half their distance
from the chance level, but not below 0. It prints the table of
docs/appendix/settings.md in Markdown. A cell has

    the ratio of squared errors to that of the settings as they are, a
    geometric mean over the trials, with its standard error in brackets, and
    the difference of coverage of the 90 % intervals in points

`--only` names settings, `--groups` groups of trials, and `--seconds` leaves
out trials that take longer with the settings as they are. Figures of every
variant are kept in `--out`; trials that are there are not run again.
"""
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
from tabulate import tabulate

from csv_plugin.core.settings import Form, Settings
from tools.studies import yard
from tools.studies.options import parser_of

#: Settings that are logarithms of what is halved and doubled.
LOGARITHMS = ('typical', 'spread', 'units', 'answers', 'bend', 'family', 'own',
              'noise')
#: Part of `Form` that is a number.
STRAIGHT = 'straight'
NAMES = (*(part.name
           for part in fields(Settings) if part.name != 'forms'), STRAIGHT)
AS_IS = 'one-model'
HALF, TWICE = 'half', 'twice'
FACTORS = {HALF: .5, TWICE: 2.}


def changed(name: str, factor: float) -> Settings:
    """The settings with one number multiplied.

    >>> changed('level', 2).level
    -2.0
    >>> round(changed('bend', 2).bend, 2)
    -1.31
    >>> changed('floors', 2).floors
    (0.975, 0.9, 0.75, 0.5)
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


def variants(names: Sequence[str]) -> Iterator[tuple[str, str, Settings]]:
    """Name of a setting, `HALF` or `TWICE`, and the settings."""
    for name in names:
        for kind, factor in FACTORS.items():
            yield name, kind, changed(name, factor)


def table(names: Sequence[str], found: Mapping[str,
                                               Sequence[yard.Figures]]) -> str:
    """A row for each setting in Markdown, from figures by variant."""
    rows = []
    for name in names:
        value = Settings().forms[0].straight if name == STRAIGHT else getattr(
            Settings(), name)
        cells = [
            cell(found[f'{kind} {name}'], found[AS_IS]) for kind in FACTORS
        ]
        rows.append([f'`{name}`', value, *cells])
    return tabulate(
        rows, ('setting', 'value', HALF, TWICE),
        tablefmt='pipe',
        disable_numparse=True)


def cell(ours: Sequence[yard.Figures], base: Sequence[yard.Figures]) -> str:
    """How errors and coverage of a variant differ from the settings as is."""
    by_trial = {(row.group, row.trial): row for row in base}
    pairs = [(row, by_trial[row.group, row.trial]) for row in ours]
    errors = np.array([a.log_error - b.log_error for a, b in pairs])
    coverage = np.mean([a.coverage - b.coverage for a, b in pairs])
    ratio = np.exp(errors.mean())
    deviation = ratio * errors.std() / np.sqrt(len(errors))
    return f'{ratio:.3f} ({deviation:.3f}), {100 * coverage:+.1f}'


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--shared', type=Path, default='../shared/real')
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument('--seed', nargs='+', type=int, default=[0])
    parser.add_argument(
        '--groups', nargs='+', default=yard.GROUPS, choices=yard.GROUPS)
    parser.add_argument(
        '--only', nargs='+', default=NAMES, choices=NAMES, metavar='NAME')
    parser.add_argument('--seconds', type=float, default=math.inf)
    parser.add_argument('--out', type=Path, default='outputs/settings')
    args = parser.parse_args()
    methods = {AS_IS: yard.one_model}
    for name, kind, settings in variants(args.only):
        methods[f'{kind} {name}'] = partial(yard.one_model, settings=settings)
    found: dict[str, list[yard.Figures]] = {name: [] for name in methods}
    yard.METHODS.update(methods)
    for seed in args.seed:
        draw = yard.Draw(args.shared, args.public, seed)
        for row in yard.run(
                list(methods), draw, args.out, args.groups, args.seconds):
            found[row.method].append(
                row._replace(trial=f'{row.trial}, seed {seed}'))
    print(table(args.only, found))


if __name__ == '__main__':
    main()
