"""A triage as tables to read, and as files."""
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from csv_plugin.core.escaping import markdown
from csv_plugin.core.formatting import counted, possible_ranks
from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.report.screen import WIDTH, markdown_table, text_table, wrapped
from csv_plugin.triage.judging import OVERALL, Triage
from csv_plugin.triage.ranking import LEAST_CHANCE, MARGIN, STOP, UNKNOWN


def as_text(triage: Triage, width: float = WIDTH) -> str:
    """All tables and notes, for the terminal."""
    return _report(triage, partial(text_table, width=width), wrapped)


def as_markdown(triage: Triage) -> str:
    """All tables and notes as Markdown."""
    return _report(triage, lambda rows, _: markdown_table(rows), '\n'.join,
                   markdown, '## ')


def _report(triage: Triage,
            table: Callable[[list[list[str]], int], str],
            lines: Callable[[list[str]], str],
            escape: Callable[[str], str] = str,
            heading: str = '') -> str:
    """Tables, legend and notes.

    `table` makes text of rows, of which the first columns stay together.
    """
    checkpoints = counted(len(triage.predictions.models), 'checkpoint')
    runs = counted(len(triage.runs), 'run')
    parts = [
        f'{heading}Predicted at {checkpoints} of {runs}',
        table(_checkpoint_rows(triage), 3)
    ]
    if triage.forecast_runs:
        several = len(triage.forecast_runs) > 1
        rows = (_ranked_rows if several else _forecast_rows)(triage)
        parts += [
            f'{heading}Forecast at the end of the training' +
            several * ', best run first',
            table(rows, 6 if several else 3)
        ]
    parts.append(lines([*triage.predictions.legend(), *_legend(triage)]))
    if triage.backtests:
        parts += [
            f'{heading}Error to expect: mean absolute, points, on earlier '
            'runs',
            table(_error_rows(triage), 4)
        ]
    if triage.notes:
        parts += [
            f'{heading}Notes',
            lines([f'* {escape(note)}' for note in triage.notes])
        ]
    return '\n\n'.join(parts)


def _legend(triage: Triage) -> Iterator[str]:
    """Explanations of the forecasts."""
    if len(triage.forecast_runs) > 1:
        yield ('rank, best: possible ranks and the probability to end best, '
               'among runs of the same budget or a smaller one.')
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


def _forecast_rows(triage: Triage) -> list[list[str]]:
    shares = {run.run: run.shares[-1] for run in triage.runs}
    return [['run', 'from', OVERALL, *triage.benchmarks],
            *([run, f'{shares[run]:.0%}', *triage.forecast_cells(run)]
              for run in triage.forecast_runs)]  # yapf: disable


def _ranked_rows(triage: Triage) -> list[list[str]]:
    """The same, with ranks, probabilities and verdicts."""
    ranking = triage.rankings[OVERALL]
    header, *rows = _forecast_rows(triage)
    ranked = [[*header[:3], 'rank', 'best', 'verdict', *header[3:]]]
    for r, (run, share, mean, *forecasts) in enumerate(rows):
        ranked.append([
            run, share, mean,
            possible_ranks(ranking.best[r], ranking.worst[r]),
            _percent(ranking.chance[r]), ranking.verdicts[r], *forecasts
        ])
    return ranked


def _error_rows(triage: Triage) -> list[list[str]]:
    """Two rows for each share that runs are forecast from."""
    rows = [['from', 'runs', 'taken for the end', OVERALL, *triage.benchmarks]]
    seen = set()
    for run in triage.runs:
        share = run.shares[-1]
        if run.run not in triage.backtests or share in seen:
            continue
        seen.add(share)
        for label, errors in zip(('forecast', 'prediction now'),
                                 triage.error_to_expect(run.run)):
            rows.append([
                f'{share:.0%}',
                str(len(triage.backtests[run.run].runs)), label,
                *(f'{100 * error:.1f}'
                  for error in (triage.mean(errors), *errors))
            ])
    return rows


def _percent(fraction: float) -> str:
    return '?' if np.isnan(fraction) else f'{fraction:.0%}'


def write_triage(folder: Path, triage: Triage) -> None:
    """Write `triage.md`, `.json`, `checkpoints.csv` and `forecasts.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / 'triage.md', f'{as_markdown(triage)}\n')
    content = json.dumps(triage.to_dict(), indent=1, ensure_ascii=False)
    write_text(folder / 'triage.json', f'{content}\n')
    write_tables(folder, triage)


def write_tables(folder: Path, triage: Triage) -> None:
    """Write `checkpoints.csv` and `forecasts.csv` to an existing folder."""
    for name, records in (('checkpoints.csv', triage.checkpoint_records()),
                          ('forecasts.csv', triage.forecast_records())):
        rows = list(records)
        write_csv(folder / name, list(rows[0]),
                  [list(row.values()) for row in rows])
