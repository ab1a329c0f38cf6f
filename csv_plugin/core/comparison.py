"""The record of a comparison of two models or recipes, with its tables."""
from dataclasses import dataclass, replace
from typing import Any, Optional

from csv_plugin.core.noise import (COMBINED, ITEMS, LOSS, OBSERVED, PREDICTED,
                                   PREDICTOR, RUNS, TEXTS, Difference)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.text_tables import text_table

#: Name of the mean over the benchmarks.
MEAN = 'mean'
#: What a verdict is about.
OF_RUNS, OF_RECIPES = 'runs', 'recipes'
#: Headings of tables, and the kind of their differences.
_TABLES = (
    ('Predicted accuracy, points', PREDICTED),
    ('Observed accuracy, points', OBSERVED),
    ('Predicted and observed accuracy combined, points', COMBINED),
    ('Mean loss; lower is better', LOSS),
)
#: Further columns of the table of items, and their digits.
_OF_ITEMS = {'p_value': '.3g', 'needed': '.0f', 'worth': '.0f'}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What losses, predictions and accuracies show about B beside A.

    Args:
        runs (tuple[tuple[str, ...], tuple[str, ...]]): Names of the runs of A
            and of B.
        level (float): Level of the intervals.
        differences (tuple[Difference, ...]): By kind and benchmark.
        answers (tuple[PairedAnswers, ...]): By benchmark; empty without.
        decisive (Difference): The one whose verdict counts.
        notes (tuple[str, ...]): Remarks for readers.
    """
    runs: tuple[tuple[str, ...], tuple[str, ...]]
    level: float
    differences: tuple[Difference, ...]
    answers: tuple[PairedAnswers, ...]
    decisive: Difference
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        a, b = self.models
        return (f'Comparison({b} beside {a}: {self.verdict}, '
                f'P(better) {self.decisive.probability:.3f})')

    def __str__(self) -> str:
        """The tables below their headings, and the verdict."""
        a, b = self.models
        parts = [f'A: {a}\nB: {b}']
        for heading, rows in self.tables():
            parts += [heading, text_table(rows)]
        return '\n\n'.join([*parts, repr(self)])

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return a table of each kind of difference, with its heading.

        The last one is that of the items, if answers were compared.
        """
        tables = []
        for heading, kind in _TABLES:
            parts = self.of_kind(kind)
            if parts:
                tables.append((heading, _rows(parts)))
        if self.answers:
            tables.append(('Items', _answer_rows(self)))
        return tables

    @property
    def models(self) -> tuple[str, str]:
        """Names of A and of B, of several runs in a row."""
        runs_of_a, runs_of_b = self.runs
        return ', '.join(runs_of_a), ', '.join(runs_of_b)

    @property
    def verdict(self) -> str:
        """'better', 'worse', 'no difference' or 'cannot tell', of B."""
        return self.decisive.verdict

    @property
    def about(self) -> str:
        """'recipes' if the noise of runs is known, else 'runs'."""
        return OF_RECIPES if RUNS in self.decisive.noises else OF_RUNS

    def of_kind(self, kind: str) -> list[Difference]:
        """Return the differences of a kind, such as 'predicted'."""
        return [part for part in self.differences if part.kind == kind]

    def items(self) -> list[dict[str, Any]]:
        """Return what the answers show by benchmark, as plain values.

        'needed' items would make the margin detectable, 'worth' items would
        be as exact as the prediction; None without one.
        """
        parts = {}
        for part in self.differences:
            parts[part.kind, part.benchmark] = part
        rows = []
        for pair in self.answers:
            observed = parts[OBSERVED, pair.benchmark]
            alone = replace(observed, noises={ITEMS: pair.noise})
            error = pair.noise.error
            # Errors fall with the square root of the number of items.
            needed = (alone.size_to_detect / alone.margin)**2
            row = {**vars(pair), 'noise': error, 'worth': None}
            row['needed'] = pair.n_items * needed
            if (PREDICTED, pair.benchmark) in parts:
                predicted = parts[PREDICTED, pair.benchmark]
                worth = (error / predicted.errors[PREDICTOR])**2
                row['worth'] = pair.n_items * worth
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; accuracies are fractions."""
        a, b = self.models
        runs_of_a, runs_of_b = self.runs
        return {
            'a': a,
            'b': b,
            'level': self.level,
            'runs': {
                'a': [*runs_of_a],
                'b': [*runs_of_b]
            },
            'verdict': self.verdict,
            'about': self.about,
            'decisive': self.decisive.to_dict(),
            'differences': [part.to_dict() for part in self.differences],
            'answers': self.items(),
            'notes': [*self.notes]
        }


def number_of(part: Difference,
              value: Optional[float],
              sign: str = '+') -> str:
    """Return a difference or an error in its unit; '-' without one.

    `sign` is that of Python's formats: '+' shows the plus of a positive
    number, '' does not.
    """
    if value is None:
        return '-'
    if part.of_losses:
        return f'{value:{sign}.5f}'
    return f'{100 * value:{sign}.2f}'


def interval_of(part: Difference) -> str:
    """Return the ends of the interval of a difference."""
    return f'{number_of(part, part.low)} to {number_of(part, part.high)}'


def name_of(part: Difference) -> str:
    """Return the benchmark of a difference, or that it is of losses."""
    return LOSS if part.kind == LOSS else part.benchmark


def _rows(parts: list[Difference]) -> list[list[str]]:
    """A header, and a row for each difference of one table."""
    has_items = False
    has_noise: set[str] = set()
    for part in parts:
        has_items |= part.by_items is not None
        has_noise.update(part.errors)
    origins = [o for o in (PREDICTOR, TEXTS, ITEMS, RUNS) if o in has_noise]
    header = [
        '', 'B - A', 'interval', 'P(better)', 'verdict', 'detectable',
        'by items'
    ]
    if not has_items:
        header.remove('by items')
    header += [f'SE {origin}' for origin in origins]
    rows = [header]
    for part in parts:
        detectable = 'none'
        if part.detectable is not None:
            detectable = number_of(part, part.detectable, '')
        row = [
            name_of(part),
            number_of(part, part.value),
            interval_of(part), f'{part.probability:.3f}', part.verdict,
            detectable
        ]
        if has_items:
            row.append(number_of(part, part.by_items, ''))
        for origin in origins:
            row.append(number_of(part, part.errors.get(origin), ''))
        rows.append(row)
    return rows


def _answer_rows(comparison: Comparison) -> list[list[str]]:
    """A header, and a row for each benchmark with answers of both."""
    rows = [[
        '', 'items', 'A', 'B', 'only A', 'only B', 'p (McNemar)', 'needed',
        'worth'
    ]]
    for pair in comparison.items():
        row = [pair['benchmark'], str(pair['n_items'])]
        row += [f'{100 * accuracy:.1f} %' for accuracy in pair['accuracies']]
        row += [f'{n_items:g}' for n_items in pair['only']]
        for name, digits in _OF_ITEMS.items():
            value = pair[name]
            row.append('-' if value is None else f'{value:{digits}}')
        rows.append(row)
    return rows
