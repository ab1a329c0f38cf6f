"""Show a triage as text, and write it to files."""
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from csv_plugin.core.comparing import MARGIN
from csv_plugin.core.text_tables import WIDTH, text_table, wrapped
from csv_plugin.io.files import write_text
from csv_plugin.io.json_files import write_json
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.result import (CHECKPOINT_FIELDS, FORECAST_FIELDS,
                                      LEAST_PROBABILITY, LONGER, STOP, Triage)


def as_text(triage: Triage, width: float = WIDTH) -> str:
    """Return the conclusion, the tables, the legend and the notes as text."""
    parts = []
    if triage.not_forecast or (triage.runs and triage.is_ranked):
        parts.append(wrapped([_conclusion(triage)], width))
    for heading, rows in triage.tables():
        parts += [heading, text_table(rows, width)]
    legend = [*triage.legend(), *_legend(triage)]
    parts.append(wrapped(legend, width))
    if triage.notes:
        notes = [f'* {note}' for note in triage.notes]
        parts += ['Notes', wrapped(notes, width)]
    return '\n\n'.join(parts)


def _conclusion(triage: Triage) -> str:
    """Say which runs to stop, which one may end best, and what is unknown."""
    missing = ', '.join(triage.not_forecast)
    if not triage.ends:
        reasons = set(triage.not_forecast.values())
        if len(reasons) > 1:
            return f'Nothing can be forecast for {missing}: see the notes.'
        return f'Nothing can be forecast: {reasons.pop()}'
    sentences = []
    if triage.runs:
        sentences.append(_stop_and_best(triage))
    if missing:
        sentences.append(f'Nothing is forecast for {missing}: see the notes.')
    return ' '.join(sentences)


def _stop_and_best(triage: Triage) -> str:
    """Say which runs to stop, and which run is most likely to end best.

    In the tables, a run is ranked among the runs whose budget is not larger.
    The run that is named here as the best is compared with all judged runs.
    """
    if not triage.is_ranked:
        return 'No runs can be compared.'
    stopped = []
    for end, verdict in zip(triage.ends, triage.verdicts):
        if verdict == STOP:
            stopped.append(end.name)
    names = ', '.join(stopped) or 'none'
    probabilities = triage.best_of_all
    likeliest = triage.ends[int(np.nanargmax(probabilities))]
    probability = f'{np.nanmax(probabilities):.0%}'
    # The tables list the run with the largest mean first. A run with a smaller
    # mean may be more likely to end best, as its mean is less certain.
    first = triage.ends[0]
    if likeliest is first:
        return (
            f'Stop {names}. {first.name} is most likely to end best of all '
            f'judged runs, with a probability of {probability}.')
    return (f'Stop {names}. It is too close to call which of all judged runs '
            f'ends best: {first.name} has the largest mean, but '
            f'{likeliest.name} ends best with the largest probability, '
            f'{probability}.')


def _legend(triage: Triage) -> Iterator[str]:
    """Yield lines that explain ranks and verdicts."""
    if triage.is_ranked:
        level = triage.predictions.level
        yield (f'rank, best: the ranks that are possible ({level:.0%}), and '
               'the probability to end best. Both are by mean accuracy, among '
               f'the runs whose budget is at most {LONGER} times that of the '
               'ranked run.')
    if STOP in triage.verdicts:
        yield (f'{STOP}: the run ends within {100 * MARGIN:g} point of the '
               f'best one with a probability below {LEAST_PROBABILITY:.0%}.')


def write_triage(folder: Path, triage: Triage) -> None:
    """Write `triage.txt`, `.json`, `checkpoints.csv` and `forecasts.csv`."""
    write_text(folder / 'triage.txt', f'{as_text(triage)}\n')
    write_json(folder / 'triage.json', triage.to_dict())
    write_tables(folder, triage)


def write_tables(folder: Path, triage: Triage) -> None:
    """Write `checkpoints.csv` and `forecasts.csv` to an existing folder."""
    checkpoints = map(_cells, triage.checkpoint_records())
    forecasts = map(_cells, triage.forecast_records())
    write_csv(folder / 'checkpoints.csv', CHECKPOINT_FIELDS, checkpoints)
    write_csv(folder / 'forecasts.csv', FORECAST_FIELDS, forecasts)


def _cells(record: Mapping[str, Any]) -> list[Any]:
    """Return the values of a record as the cells of a row."""
    return list(record.values())
