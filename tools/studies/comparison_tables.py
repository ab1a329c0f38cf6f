"""Methods side by side as tables: Markdown, CSV and plain values."""
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import Any

from tabulate import tabulate

from csv_plugin.core.escaping import markdown, visible
from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from tools.studies.other_methods.all_methods import METHODS
from tools.studies.other_methods.comparison import Comparison, Errors

_LEGEND = """\
MSE in 1e-3 (squared fractions), geometric mean over {n_benchmarks} benchmarks,
and as a share of that of {first}: in brackets the 90 % interval of the share
if {n_families} families of predicted models are drawn again and again (none
for one family). MAE and the width of the {level:.0%} intervals are in points
of accuracy, coverage is the share of intervals that hold the real accuracy,
plain means over the benchmarks. Seconds of one processor for all fits and
predictions. Methods that look at anything but losses answer another question:
`own losses` are those of a benchmark's own items, `size, tokens` are known
before a model is trained, `other scores` once most benchmarks have been run.
"""


def methods_table(comparison: Comparison) -> str:
    """One row for each method, the least MSE first, as a Markdown table.

    Args:
        comparison (Comparison): A method that lacks a benchmark has no
            means and comes last.
    """
    first = comparison.predictions.methods[0]
    rows = [[
        method, METHODS[method].looks_at,
        _digits(1e3 * row['mse'], 3), '1' if method == first else _share(row),
        _digits(100 * row['mae'], 2),
        _digits(row['coverage'], 2),
        _digits(100 * row['width'], 1),
        _digits(row['seconds'], 0)
    ] for method, row in sorted(
        _summaries(comparison).items(),
        key=lambda item: (math.isnan(item[1]['mse']), item[1]['mse']))]
    header = [
        'method', 'looks at', 'MSE', f'of {first}', 'MAE', 'coverage', 'width',
        'seconds'
    ]
    return _table(rows, header, n_words=2)


def benchmarks_table(comparison: Comparison) -> str:
    """MSE in 1e-3 of each method by benchmark, as a Markdown table."""
    methods = comparison.predictions.methods
    by_method = [comparison.errors(method) for method in methods]
    rows = [[
        markdown(benchmark), *(_digits(1e3 * errors[benchmark].mse, 2)
                               for errors in by_method)
    ] for benchmark in comparison.predictions.benchmarks]
    return _table(rows, ['benchmark', *methods], n_words=1)


def _table(rows: list[list[str]], header: list[str], n_words: int) -> str:
    align = ['left'] * n_words + ['right'] * (len(header) - n_words)
    return tabulate(rows, header, tablefmt='pipe', colalign=align,
                    disable_numparse=True)  # yapf: disable


def _digits(value: float, digits: int) -> str:
    return '-' if math.isnan(value) else f'{value:.{digits}f}'


def _share(row: Mapping[str, float]) -> str:
    """The share with its interval, if any, such as '1.20 (1.05 - 1.43)'."""
    share = _digits(row['ratio'], 2)
    if math.isnan(row['ratio_low']):
        return share
    return f'{share} ({row["ratio_low"]:.2f} - {row["ratio_high"]:.2f})'


def _summaries(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Means of errors, the share and the seconds, by method."""
    return {
        method: {
            **asdict(comparison.mean_errors(method)),
            **dict(
                zip(('ratio', 'ratio_low', 'ratio_high'),
                    comparison.ratio(method))), 'seconds':
            comparison.seconds[method]
        }
        for method in comparison.predictions.methods
    }


def plain_values(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """All numbers by method, as JSON can hold them; None for none.

    Returns:
        dict: `looks_at`, the means of all numbers and `benchmarks`, the
        errors by benchmark. Accuracies are fractions.
    """
    return {
        method: {
            'looks_at': METHODS[method].looks_at,
            **_plain(summary), 'benchmarks': {
                benchmark: _plain(asdict(errors))
                for benchmark, errors in comparison.errors(method).items()
            }
        }
        for method, summary in _summaries(comparison).items()
    }


def _plain(numbers: Mapping[str, float]) -> dict[str, Any]:
    return {
        name: None if math.isnan(number) else number
        for name, number in numbers.items()
    }


def write_comparison(folder: Path, comparison: Comparison, title: str,
                     command: str) -> None:
    """Write `methods.csv`, `benchmarks.csv` and `comparison.md`.

    Args:
        folder (Path): An existing folder.
        comparison (Comparison): All methods.
        title (str): First line of the Markdown file.
        command (str): The command that reproduces it.
    """
    summaries = _summaries(comparison)
    methods = comparison.predictions.methods
    write_csv(folder / 'methods.csv',
              ('method', 'looks_at', *summaries[methods[0]]),
              ((method, METHODS[method].looks_at, *summaries[method].values())
               for method in methods))
    write_csv(folder / 'benchmarks.csv',
              ('method', 'benchmark', *Errors.__dataclass_fields__),
              ((method, benchmark, *asdict(errors).values())
               for method in methods
               for benchmark, errors in comparison.errors(method).items()))
    legend = _LEGEND.format(
        n_benchmarks=len(comparison.predictions.benchmarks),
        first=methods[0],
        n_families=len(set(comparison.families)),
        level=comparison.predictions.level)
    parts = [
        f'# {title}',
        indent(visible(command), '    '),
        methods_table(comparison),
        legend.strip(), '## MSE by benchmark',
        benchmarks_table(comparison)
    ]
    write_text(folder / 'comparison.md', '\n\n'.join(parts) + '\n')
