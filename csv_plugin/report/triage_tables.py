"""A triage as tables to read."""
from collections.abc import Callable, Sequence

import numpy as np
from tabulate import tabulate

from csv_plugin.report.leaderboards import explain_marks, predicted_cell
from csv_plugin.report.markdown import table_cell
from csv_plugin.triage.judging import LEVEL, OVERALL, Triage
from csv_plugin.triage.ranking import AHEAD, BEHIND, OPEN, UNKNOWN

#: Benchmarks beside each other.
PER_TABLE = 6
#: What stands for a verdict on one benchmark.
SIGNS = {AHEAD: '+', BEHIND: '-', OPEN: '=', UNKNOWN: '?'}


def as_text(found: Triage) -> str:
    """For the screen."""
    return _report(found, 'simple', lambda title: title)


def as_markdown(found: Triage) -> str:
    """The same as Markdown."""
    return _report(found, 'pipe', lambda title: f'## {title}')


def _report(found: Triage, style: str, title: Callable[[str], str]) -> str:
    n = sum(len(run.tokens) for run in found.runs)
    legend = '\n'.join([
        explain_marks(LEVEL),
        '"above next": probability that a run ends above the one below it.',
        f'{SIGNS[AHEAD]} {AHEAD} of all others, {SIGNS[BEHIND]} {BEHIND} '
        f'another, {SIGNS[OPEN]} {OPEN}, {SIGNS[UNKNOWN]} {UNKNOWN}.'
    ])
    parts = [
        title(f'Predicted at {n} checkpoints of {len(found.runs)} runs'),
        _table(_checkpoint_rows(found), 3, style),
        title('Forecast at the end of the training, best run first'),
        _table(_forecast_rows(found), 5, style), legend
    ]
    if found.backtests:
        parts += [
            title('Error to expect: mean absolute, points, on earlier runs'),
            _table(_error_rows(found), 4, style)
        ]
    lines = [f'OFF TRAJECTORY {one}' for one in found.off] + list(found.notes)
    if lines:
        parts += [title('Notes'), '\n'.join(f'* {line}' for line in lines)]
    return '\n\n'.join(parts)


def _table(rows: Sequence[Sequence[str]], fixed: int, style: str) -> str:
    """Benchmarks stand right of the fixed columns, some more below."""
    if style == 'pipe':
        rows = [list(map(table_cell, row)) for row in rows]
    blocks = []
    for start in range(fixed, len(rows[0]), PER_TABLE):
        before = fixed if start == fixed else 1
        part = [[*row[:before], *row[start:start + PER_TABLE]] for row in rows]
        align = ['left', *['right'] * (len(part[0]) - 1)]
        blocks.append(
            tabulate(
                part[1:],
                part[0],
                tablefmt=style,
                colalign=align,
                disable_numparse=True))
    return '\n\n'.join(blocks)


def _checkpoint_rows(found: Triage) -> list[list[str]]:
    rows = [['checkpoint', found.measure, 'of budget', *found.benchmarks]]
    for run in found.runs:
        rows += [[
            name, f'{tokens:.6g}', f'{share:.0%}',
            *(predicted_cell(found.predictions.at(name, benchmark))
              for benchmark in found.benchmarks)
        ] for name, tokens, share in zip(run.checkpoints, run.tokens,
                                         run.shares)]
    return rows


def _forecast_rows(found: Triage) -> list[list[str]]:
    overall = found.rankings[OVERALL]
    known = {run.run: run for run in found.runs}
    signs = {
        name: {
            run: SIGNS[verdict]
            for run, verdict in zip(ranking.runs, ranking.verdicts)
        }
        for name, ranking in found.rankings.items()
    }
    rows = [[
        'run', 'from', OVERALL, 'above next', 'verdict', *found.benchmarks
    ]]
    for r, run in enumerate(overall.runs):
        one = found.expected[run]
        cells = [
            f'{_interval(*cell)} {signs[name][run]}' for name, cell in zip(
                found.benchmarks, zip(one.values, one.low, one.high))
        ]
        last = r + 1 == len(overall.runs)
        above = '' if last else _percent(overall.above[r, r + 1])
        rows.append([
            run, f'{known[run].shares[-1]:.0%}',
            _interval(overall.values[r], overall.low[r], overall.high[r]),
            above, overall.verdicts[r], *cells
        ])
    return rows


def _error_rows(found: Triage) -> list[list[str]]:
    """One pair of rows for all runs that were looked at alike."""
    rows = [['from', 'runs', 'taken for the end', OVERALL, *found.benchmarks]]
    seen = set()
    for run in found.runs:
        key = tuple(run.shares)
        if run.run not in found.backtests or key in seen:
            continue
        seen.add(key)
        for label, errors in zip(('forecast', 'prediction now'),
                                 found.error_to_expect(run.run)):
            rows.append([
                f'{run.shares[-1]:.0%}',
                str(len(found.backtests[run.run].runs)), label,
                *(f'{100 * error:.1f}' for error in (errors.mean(), *errors))
            ])
    return rows


def _interval(value: float, low: float, high: float) -> str:
    """In percent, such as '61.2 (43-79)'; '-' for what is not known."""
    if np.isnan(value):
        return '-'
    if np.isnan(low):
        return f'{100 * value:.1f} (?)'
    return f'{100 * value:.1f} ({100 * low:.0f}-{100 * high:.0f})'


def _percent(probability: float) -> str:
    return '?' if np.isnan(probability) else f'{probability:.0%}'
