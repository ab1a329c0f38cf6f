"""A triage as files: Markdown, CSV, JSON and a picture."""
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from csv_plugin.io.files import atomic_path
from csv_plugin.io.tables import write_csv
from csv_plugin.report.triage_tables import as_markdown
from csv_plugin.triage.judging import LEVEL, OVERALL, Triage

CHECKPOINT_FIELDS = ('run', 'checkpoint', 'tokens', 'share', 'benchmark',
                     'predicted', 'low', 'high', 'extrapolated')
FORECAST_FIELDS = ('run', 'benchmark', 'tokens', 'share', 'budget', 'forecast',
                   'low', 'high', 'rank', 'verdict')
PICTURE = 'triage.png'


def write_triage(folder: Path, found: Triage) -> list[Path]:
    """Write `triage.md`, `.json`, `.png`, `checkpoints.csv`, `forecasts.csv`.

    Args:
        folder (Path): To create; files of these names are replaced.
        found (Triage): What to write. Accuracies are fractions; `tokens` are
            steps where no tokens are known.

    Returns:
        list[Path]: The files; without matplotlib there is no picture.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / 'triage.md', as_markdown(found))
    _write(folder / 'triage.json',
           json.dumps(_content(found), indent=1, ensure_ascii=False))
    write_csv(folder / 'checkpoints.csv', CHECKPOINT_FIELDS,
              _checkpoint_rows(found))
    write_csv(folder / 'forecasts.csv', FORECAST_FIELDS, _forecast_rows(found))
    names = ['triage.md', 'triage.json', 'checkpoints.csv', 'forecasts.csv']
    try:
        from csv_plugin.report.triage_picture import write_picture
    except ModuleNotFoundError as error:
        if str(error.name).partition('.')[0] != 'matplotlib':
            raise
        return [folder / name for name in names]
    write_picture(folder / PICTURE, found)
    return [folder / name for name in (*names, PICTURE)]


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(f'{text}\n', 'utf-8')


def _checkpoint_rows(found: Triage) -> Iterator[tuple[Any, ...]]:
    for run in found.runs:
        for name, tokens, share in zip(run.checkpoints, run.tokens,
                                       run.shares):
            for benchmark in found.benchmarks:
                cell = found.predictions.at(name, benchmark)
                yield (run.run, name, float(tokens), float(share), benchmark,
                       cell.value, cell.low, cell.high, int(cell.extrapolated))


def _forecast_rows(found: Triage) -> Iterator[tuple[Any, ...]]:
    known = {run.run: run for run in found.runs}
    for benchmark, ranking in found.rankings.items():
        for r, name in enumerate(ranking.runs):
            run = known[name]
            yield (name, benchmark, float(run.tokens[-1]),
                   float(run.shares[-1]), float(run.budget),
                   float(ranking.values[r]), float(ranking.low[r]),
                   float(ranking.high[r]), r + 1, ranking.verdicts[r])


def _content(found: Triage) -> dict[str, Any]:
    """NaN, which JSON has not, becomes null."""
    return {
        'measure': found.measure,
        'level': LEVEL,
        'checkpoints': _records(CHECKPOINT_FIELDS, _checkpoint_rows(found)),
        'forecasts': _records(FORECAST_FIELDS, _forecast_rows(found)),
        'above': {
            benchmark: {
                'runs':
                ranking.runs,
                'probability': [[_plain(p) for p in row]
                                for row in ranking.above.tolist()]
            }
            for benchmark, ranking in found.rankings.items()
        },
        'error_to_expect': {
            run: {
                name:
                dict(
                    zip((*found.benchmarks, OVERALL),
                        np.append(errors, errors.mean()).tolist()))
                for name, errors in zip((
                    'forecast', 'prediction now'), found.error_to_expect(run))
            }
            for run in found.backtests
        },
        'off_trajectory': [asdict(one) for one in found.off],
        'notes': found.notes,
    }


def _records(fields: tuple[str, ...],
             rows: Iterator[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(fields, map(_plain, row))) for row in rows]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
