"""A triage as files: Markdown, CSV, JSON and a picture."""
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.report.triage_tables import as_markdown
from csv_plugin.triage.judging import Triage

#: Name of the picture.
PICTURE = 'triage.png'


def write_triage(folder: Path, triage: Triage) -> list[Path]:
    """Write `triage.md`, `.json`, `.png`, `checkpoints.csv`, `forecasts.csv`.

    Args:
        folder (Path): Created if it does not exist; files of these names are
            replaced.
        triage (Triage): What to write. Accuracies are fractions; `tokens` are
            steps where no tokens are known.

    Returns:
        list[Path]: The files; without matplotlib there is no picture.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / 'triage.md', f'{as_markdown(triage)}\n')
    content = json.dumps(triage.to_dict(), indent=1, ensure_ascii=False)
    write_text(folder / 'triage.json', f'{content}\n')
    write_tables(folder, triage)
    names = ['triage.md', 'triage.json', 'checkpoints.csv', 'forecasts.csv']
    try:
        from csv_plugin.report.triage_picture import write_picture
    except ModuleNotFoundError as error:
        if str(error.name).partition('.')[0] != 'matplotlib':
            raise
        return [folder / name for name in names]
    write_picture(folder / PICTURE, triage)
    return [folder / name for name in (*names, PICTURE)]


def write_tables(folder: Path, triage: Triage) -> None:
    """Write `checkpoints.csv` and `forecasts.csv`.

    Args:
        folder (Path): It exists; files of these names are replaced.
        triage (Triage): As in `write_triage`.
    """
    _write_records(folder / 'checkpoints.csv', triage.checkpoint_records())
    _write_records(folder / 'forecasts.csv', triage.forecast_records())


def _write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one row per record; None becomes an empty cell."""
    rows = list(records)
    write_csv(path, list(rows[0]), [list(row.values()) for row in rows])
