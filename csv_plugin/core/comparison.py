"""The result of a comparison of two models or recipes, and its tables."""
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.noise import (COMBINED, ITEMS, LOSS, OBSERVED, PREDICTED,
                                   PREDICTOR, RUNS, TEXTS, Difference, Noise)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.text_tables import text_table, wrapped

#: The `benchmark` of a difference between means over benchmarks.
MEAN = 'mean'
#: What a verdict is about; see `Comparison.about`.
OF_RUNS, OF_RECIPES = 'runs', 'recipes'
#: For each table: its heading, and the kind of the differences in it.
_TABLES = (
    ('Predicted accuracy, points', PREDICTED),
    ('Observed accuracy, points', OBSERVED),
    ('Predicted and observed accuracy combined, points', COMBINED),
    ('Mean loss; lower is better', LOSS),
)
#: The last columns of the table of items. Maps keys of `Comparison.items` to
#: the formats of their numbers.
_OF_ITEMS = {'p_value': '.3g', 'needed': '.0f', 'worth': '.0f'}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What losses, predictions and accuracies show about B compared with A.

    Args:
        runs (tuple[tuple[str, ...], tuple[str, ...]]): Names of the runs of A
            and of B.
        level (float): Level of the intervals, a fraction.
        differences (tuple[Difference, ...]): One for each kind and benchmark
            that was compared.
        answers (tuple[PairedAnswers, ...]): One for each benchmark; empty if
            no answers were compared.
        decisive (Difference): The difference whose verdict is the verdict of
            the comparison.
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
        probability = f'{self.decisive.probability:.3f}'
        return (f'Comparison({b} beside {a}: {self.verdict}, '
                f'P(better) {probability})')

    def __str__(self) -> str:
        """Return the names of A and B, the verdict, all tables and notes."""
        a, b = self.models
        parts = [f'A: {a}\nB: {b}', repr(self)]
        for heading, rows in self.tables():
            parts += [heading, text_table(rows)]
        if self.notes:
            notes = [f'* {note}' for note in self.notes]
            parts.append(wrapped(notes))
        return '\n\n'.join(parts)

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the heading and the rows of each table.

        There is one table for each kind of difference. If answers were
        compared, the last table says how A and B answered the items.
        """
        tables = []
        for heading, kind in _TABLES:
            differences = self.of_kind(kind)
            if differences:
                rows = _rows(differences, self.level)
                tables.append((heading, rows))
        if self.answers:
            rows = _answer_rows(self)
            tables.append(('Items', rows))
        return tables

    @property
    def models(self) -> tuple[str, str]:
        """Return the name of A and the name of B.

        If it has several runs, their names are joined with commas.
        """
        runs_of_a, runs_of_b = self.runs
        a = ', '.join(runs_of_a)
        b = ', '.join(runs_of_b)
        return a, b

    @property
    def verdict(self) -> str:
        """Return the verdict on B compared with A.

        It is 'better', 'worse', 'no difference' or 'cannot tell'.
        """
        return self.decisive.verdict

    @property
    def about(self) -> str:
        """Return what the verdict is about: 'recipes' or 'runs'.

        It is about the recipes of A and B if the decisive difference includes
        the noise of runs, else about these two runs only.
        """
        if RUNS in self.decisive.noises:
            return OF_RECIPES
        return OF_RUNS

    def of_kind(self, kind: str) -> list[Difference]:
        """Return the differences of one kind, such as 'predicted'."""
        return [
            difference for difference in self.differences
            if difference.kind == kind
        ]

    def items(self) -> list[dict[str, Any]]:
        """Return a record of the answers to each benchmark, as plain values.

        'p_value' is the p-value of the observed difference. 'needed' is the
        number of items that would make a difference of the margin detectable.
        'worth' is the number of items at which observed
        accuracies would be as exact as the prediction; it is None where no
        difference is predicted.
        """
        by_kind_and_name = {}
        for difference in self.differences:
            key = difference.kind, difference.benchmark
            by_kind_and_name[key] = difference
        rows = []
        for pair in self.answers:
            observed = by_kind_and_name[OBSERVED, pair.benchmark]
            predicted = by_kind_and_name.get((PREDICTED, pair.benchmark))
            error = pair.noise.error
            # With n items, errors are proportional to 1 / sqrt(n). Noise is
            # taken as normal, which is too little if few items are needed.
            noises = {ITEMS: Noise.even(error)}
            by_items = replace(observed, noises=noises)
            too_large_by = by_items.size_to_detect / by_items.margin
            row = {
                **vars(pair), 'noise': error,
                'p_value': observed.p_value,
                'worth': None
            }
            row['needed'] = pair.n_items * too_large_by**2
            if predicted:
                ratio = error / predicted.errors[PREDICTOR]
                row['worth'] = pair.n_items * ratio**2
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with accuracies as fractions."""
        a, b = self.models
        runs_of_a, runs_of_b = self.runs
        differences = [difference.to_dict() for difference in self.differences]
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
            'differences': differences,
            'answers': self.items(),
            'notes': [*self.notes]
        }


def number_of(difference: Difference,
              value: Optional[float],
              sign: str = '+') -> str:
    """Format a number of a difference, such as its value or an error.

    Accuracies, which are given as fractions, become percentage points; losses
    keep their unit. None becomes '-'. `sign` is '+' to write a plus before
    positive numbers, '' to write none.
    """
    if value is None:
        return '-'
    if difference.of_losses:
        return f'{value:{sign}.5f}'
    return f'{100 * value:{sign}.2f}'


def interval_of(difference: Difference) -> str:
    """Return the interval of a difference as text, such as '-0.50 to +1.20'.
    """
    low = number_of(difference, difference.low)
    high = number_of(difference, difference.high)
    return f'{low} to {high}'


def check_no_mean(where: str, benchmarks: Collection[str]) -> None:
    """Raise an `InputError` if a benchmark is called like the mean.

    `where` says what has these benchmarks.
    """
    if MEAN in benchmarks:
        raise InputError(
            where, 'no benchmark with the name of the mean over benchmarks',
            repr(MEAN), 'Give this benchmark another name, or leave it out '
            'if it is a mean.')


def name_of(difference: Difference) -> str:
    """Return the benchmark of a difference, or 'loss' for the mean loss."""
    if difference.of_losses:
        return LOSS
    return difference.benchmark


def _rows(differences: list[Difference], level: float) -> list[list[str]]:
    """Return a table: a header, then a row for each difference.

    `level` is that of the intervals.
    """
    has_items = False
    has_noise: set[str] = set()
    for difference in differences:
        has_items |= difference.by_items is not None
        has_noise.update(difference.errors)
    origins = []
    for origin in (PREDICTOR, TEXTS, ITEMS, RUNS):
        if origin in has_noise:
            origins.append(origin)
    header = [
        '', 'B - A', f'{100 * level:g}% interval', 'P(better)', 'verdict',
        'detectable', 'by items'
    ]
    if not has_items:
        header.remove('by items')
    header += [f'SE {origin}' for origin in origins]
    rows = [header]
    for difference in differences:
        detectable = 'none'
        if difference.detectable is not None:
            detectable = number_of(difference, difference.detectable, '')
        row = [
            name_of(difference),
            number_of(difference, difference.value),
            interval_of(difference)
        ]
        row += [
            f'{difference.probability:.3f}', difference.verdict, detectable
        ]
        if has_items:
            row.append(number_of(difference, difference.by_items, ''))
        for origin in origins:
            error = difference.errors.get(origin)
            row.append(number_of(difference, error, ''))
        rows.append(row)
    return rows


def _answer_rows(comparison: Comparison) -> list[list[str]]:
    """Return the table of items: a header, then a row for each benchmark.

    Benchmarks without answers of both A and B have no row.
    """
    rows = [[
        '', 'items', 'A', 'B', 'only A', 'only B', 'p', 'needed', 'worth'
    ]]
    for pair in comparison.items():
        row = [pair['benchmark'], str(pair['n_items'])]
        row += [f'{100 * accuracy:.1f} %' for accuracy in pair['accuracies']]
        row += [f'{n_items:g}' for n_items in pair['only']]
        for name, digits in _OF_ITEMS.items():
            value = pair[name]
            cell = '-' if value is None else f'{value:{digits}}'
            row.append(cell)
        rows.append(row)
    return rows
