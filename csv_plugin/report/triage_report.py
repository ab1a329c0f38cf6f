"""A triage as tables to read, and as files."""
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from csv_plugin.core.formatting import counted, possible_ranks
from csv_plugin.io.files import write_text
from csv_plugin.io.json_files import write_json
from csv_plugin.io.tables import write_csv
from csv_plugin.report.screen import WIDTH, text_table, wrapped
from csv_plugin.triage.judging import OVERALL, Triage
from csv_plugin.triage.ranking import LEAST_CHANCE, MARGIN, STOP, UNKNOWN


def as_text(triage: Triage, width: float = WIDTH) -> str:
    """All tables, the legend and notes."""
    checkpoints = counted(len(triage.predictions.models), 'checkpoint')
    parts = [
        f'Predicted at {checkpoints} of {counted(len(triage.runs), "run")}',
        text_table(_checkpoint_rows(triage), width)
    ]
    if triage.forecast_runs:
        ranked = len(triage.forecast_runs) > 1
        parts += [
            'Forecast at the end of the training' +
            ranked * ', best run first',
            text_table(_forecast_rows(triage, ranked), width)
        ]
    parts.append(wrapped([*triage.predictions.legend(), *_legend(triage)]))
    if triage.errors:
        parts += [
            'Error to expect: mean absolute, points, on earlier runs',
            text_table(_error_rows(triage), width)
        ]
    if triage.notes:
        parts += ['Notes', wrapped(f'* {note}' for note in triage.notes)]
    return '\n\n'.join(parts)


def _legend(triage: Triage) -> Iterator[str]:
    """Explanations of the forecasts."""
    if len(triage.forecast_runs) > 1:
        yield ('rank, best: possible ranks and the probability to end best, '
               'among runs of the same budget or a smaller one.')
        yield 'above next: probability to end above the run in the next row.'
        yield (f'{STOP}: the run ends within {100 * MARGIN:g} point of the '
               f'best one with a probability below {LEAST_CHANCE:.0%}.')
    if UNKNOWN in triage.rankings[OVERALL].verdicts:
        yield f'? or (?) {UNKNOWN}.'


def _checkpoint_rows(triage: Triage) -> list[list[str]]:
    table = triage.predictions
    columns = [
        dict(zip(table.models, table.cells(benchmark)))
        for benchmark in triage.benchmarks
    ]
    rows = [['checkpoint', triage.measure, 'of budget', *triage.benchmarks]]
    for run in triage.runs:
        rows += [[
            name, f'{tokens:.6g}',
            _percent(share), *(cells[name] for cells in columns)
        ] for name, tokens, share in zip(run.checkpoints, run.tokens,
                                         run.shares)]
    return rows


def _forecast_rows(triage: Triage, ranked: bool) -> list[list[str]]:
    """Forecasts of runs, `ranked` with ranks, probabilities and verdicts."""
    shares = {run.run: run.shares[-1] for run in triage.runs}
    ranking = triage.rankings[OVERALL]
    header = ['rank', 'best', 'above next', 'verdict'] if ranked else []
    rows = [['run', 'from', OVERALL, *header, *triage.benchmarks]]
    for r, run in enumerate(triage.forecast_runs):
        mean, *cells = triage.forecast_cells(run)
        is_last = run == triage.forecast_runs[-1]
        places = [
            possible_ranks(ranking.best[r], ranking.worst[r]),
            _percent(ranking.chance[r]), '' if is_last else _percent(
                ranking.above_next[r]), ranking.verdicts[r]
        ] if ranked else []
        rows.append([run, f'{shares[run]:.0%}', mean, *places, *cells])
    return rows


def _error_rows(triage: Triage) -> list[list[str]]:
    """Two rows for each share that runs are forecast from."""
    rows = [['from', 'runs', 'taken for the end', OVERALL, *triage.benchmarks]]
    # Runs at the same share have the same back-test.
    runs: dict[float, str] = {}
    for trajectory in triage.runs:
        if trajectory.run in triage.errors:
            runs.setdefault(trajectory.shares[-1], trajectory.run)
    for share, run in runs.items():
        test = triage.errors[run]
        for label, errors in (('forecast', test.forecast), ('prediction now',
                                                            test.now)):
            cells = [
                f'{100 * error:.1f}'
                for error in (triage.mean(errors), *errors)
            ]
            rows.append([f'{share:.0%}', str(len(test.runs)), label, *cells])
    return rows


def _percent(fraction: float) -> str:
    return '?' if np.isnan(fraction) else f'{fraction:.0%}'


def write_triage(folder: Path, triage: Triage) -> None:
    """Write `triage.txt`, `.json`, `checkpoints.csv` and `forecasts.csv`."""
    write_text(folder / 'triage.txt', f'{as_text(triage)}\n')
    write_json(folder / 'triage.json', triage.to_dict())
    write_tables(folder, triage)


def write_tables(folder: Path, triage: Triage) -> None:
    """Write `checkpoints.csv` and `forecasts.csv` to an existing folder."""
    for name, records in (('checkpoints.csv', triage.checkpoint_records()),
                          ('forecasts.csv', triage.forecast_records())):
        rows = list(records)
        write_csv(folder / name, list(rows[0]),
                  [list(row.values()) for row in rows])
