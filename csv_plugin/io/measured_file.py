"""Records of what numbers were measured on, beside their tables."""
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import Measured
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.json_files import read_json

#: Name of the file, in the folder of the tables.
MEASURED = 'measured.json'
_REMEDY = 'Import the numbers again, or remove the file.'


def write_measured(folder: FilePath, records: Sequence[Measured]) -> Path:
    """Write `measured.json`, an object a record."""
    path = Path(folder) / MEASURED
    rows = [asdict(record) for record in records]
    write_text(path, json.dumps(rows, indent=1) + '\n')
    return path


def read_measured(table: FilePath) -> tuple[Measured, ...]:
    """Read the records beside a table; none without such a file."""
    path = Path(table).with_name(MEASURED)
    if not path.is_file():
        return ()
    try:
        return tuple(
            Measured(**record, facts={**facts})
            for record in read_json(path, _REMEDY)
            for facts in [record.pop('facts')])
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(str(path), 'records of numbers', str(error),
                         _REMEDY) from error
