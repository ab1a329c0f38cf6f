"""Rows of logged values from the logs of training runs.

The name of a file says its format: `trainer_state.json` of transformers,
event files of TensorBoard, exports of Weights & Biases (CSV, JSON, Parquet),
and logs with a line a step.
"""
import csv
import io
import json
import math
import os
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import read_bytes, read_text
from csv_plugin.io.parquet_tables import read_rows_of
from csv_plugin.io.tables import decimal

#: The step in rows of formats that do not call it by a name.
STEP = 'step'
#: Lines of Composer's file logger, of Megatron-LM and of nanochat, and what
#: to call their value. Those of modded-nanogpt are `step:9/10 val_loss:3.2`.
_LINES = (
    (r'\[metric\]\[batch=(?P<step>\d+)\]: (?P<key>.+): (?P<value>\S+)',
     '{key}'),
    (r'validation(?P<set>\S*) loss at iteration (?P<step>\d+)\b(?! on test)'
     r'.*?\| (?P<key>[^|]+) value: (?P<value>\S+)', '{key} validation{set}'),
    (r'Step (?P<step>\d+) \| Validation bpb: (?P<value>\S+)', 'val/bpb'),
)  # yapf: disable
#: Kinds of logs in a folder, the best first.
_IN_FOLDER = ('trainer_state.json', 'checkpoint-*/trainer_state.json',
              '*tfevents*', '*.jsonl', '*.csv', '*.parquet')
_SUFFIXES = '.json', '.jsonl', '.csv', '.parquet', '.log', '.txt'
REMEDY = ('Give trainer_state.json, event files of TensorBoard, a history '
          'exported from Weights & Biases, or a log with a line a step.')

#: A run, '' where the log does not name it, and values by name.
Row = tuple[str, dict[str, Any]]


def run_name(path: Path) -> str:
    """Return what to call the run of a log: its file, or its folder.

    >>> run_name(Path('runs/mix/checkpoint-900/trainer_state.json'))
    'mix'
    """
    if path.name == 'trainer_state.json' or 'tfevents' in path.name:
        path = path.parent
    if re.fullmatch(r'checkpoint-\d+', path.name):
        path = path.parent
    return path.stem if path.suffix in _SUFFIXES else path.name


def number(value: Any) -> Optional[float]:
    """Return a number, which may be NaN; None for an empty cell or a text."""
    if isinstance(value, str):
        is_number = value.lower() == 'nan' or not math.isnan(decimal(value))
        return float(value) if is_number else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def read_log_rows(path: Path, skipped: Counter[str]) -> Iterator[Row]:
    """Yield the rows of a log; what cannot be read is counted.

    Raises:
        InputError: There is no such file, or it is damaged as a whole.
    """
    if path.is_dir():
        path = _newest_in(path, skipped)
    if 'tfevents' in path.name:
        for file in sorted(path.parent.glob('*tfevents*')):
            yield from _events(file, skipped)
    elif path.suffix == '.csv':
        lines = io.StringIO(read_text(path), newline='')
        try:
            yield from _by_run(csv.DictReader(lines))
        except csv.Error as error:
            raise InputError(str(path), 'a table', str(error),
                             REMEDY) from error
    elif path.suffix == '.parquet':
        yield from _by_run(read_rows_of(path))
    elif path.suffix == '.json':
        yield from _by_run(_json_rows(path))
    else:
        for line in read_bytes(path).decode(errors='replace').splitlines():
            row = _line(line)
            if row:
                yield '', dict(_flat(row))
            elif line.strip():
                skipped['lines without logged values'] += 1


def _newest_in(folder: Path, skipped: Counter[str]) -> Path:
    """The newest log of the first kind; event files are read together."""
    for kind in _IN_FOLDER:
        found = sorted(folder.glob(kind), key=os.path.getmtime)
        if found:
            if kind.startswith('*.') and found[:-1]:
                skipped['older logs'] += len(found) - 1
            return found[-1]
    raise InputError(str(folder), 'a log in it', 'none', REMEDY)


def _by_run(rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Rows of charts, whose columns are `run - value`, and of other tables."""
    for row in rows:
        charted: dict[str, dict[str, Any]] = defaultdict(dict)
        shared = {}
        for column, value in _flat(row):
            run, dash, key = column.rpartition(' - ')
            if not dash:
                shared[key] = value
            elif not key.endswith(('__MIN', '__MAX')):
                charted[run][key] = value
        for run, values in charted.items():
            # Runs have other steps than those beside them.
            if any(number(value) is not None for value in values.values()):
                yield run, {**shared, **values}
        if not charted:
            # A table of runs has their names.
            yield str(row.get('Name', '')), shared


def _flat(row: Mapping[Any, Any], above: str = '') -> Iterator[tuple]:
    """Names and values of a row; those of inner objects are joined by '/'."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{above}{key}/')
        else:
            yield f'{above}{key}', value


def _json_rows(path: Path) -> list[Mapping[str, Any]]:
    """The log history of a trainer, a list of rows, or columns by name."""
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), 'JSON', str(error)[:80], REMEDY) from error
    if isinstance(content, dict):
        content = content.get('log_history', content)
    if isinstance(content, dict):
        rows: dict[str, dict[str, Any]] = defaultdict(dict)
        columns = {k: v for k, v in content.items() if isinstance(v, dict)}
        for column, cells in columns.items():
            for place, value in cells.items():
                rows[place][column] = value
        content = [*rows.values()]
    return [row for row in content if isinstance(row, dict)]


def _line(line: str) -> dict[str, Any]:
    for pattern, name in _LINES:
        if found := re.search(pattern, line):
            key = name.format(**found.groupdict())
            return {STEP: int(found['step']), key: found['value']}
    if line.startswith('step:'):
        return dict(re.findall(r'([\w/]+):([0-9.e+-]+)', line))
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _events(path: Path, skipped: Counter[str]) -> Iterator[Row]:
    """Scalars of TensorBoard.

    A record is its length and a checksum, an event and another checksum.
    """
    try:
        from google.protobuf.message import DecodeError
        from tensorboardX.proto.event_pb2 import Event
    except ImportError as error:
        raise InputError(
            str(path), 'the package tensorboardX', f'the error {str(error)!r}',
            'pip install tensorboardX') from error
    data, end = read_bytes(path), 0
    while end + 12 <= len(data):
        start = end + 12
        end = start + struct.unpack_from('<Q', data, end)[0] + 4
        try:
            event = Event.FromString(data[start:end - 4])
        except DecodeError:
            skipped['damaged records'] += 1
            continue
        values = {v.tag: _scalar(v) for v in event.summary.value}
        if values:
            yield '', {**values, STEP: event.step}


def _scalar(value: Any) -> Optional[float]:
    """The number in a value of a summary, of TensorFlow 1 or 2."""
    if value.HasField('simple_value'):
        return value.simple_value
    content = value.tensor.tensor_content
    numbers = value.tensor.float_val or (struct.unpack('<f', content)
                                         if len(content) == 4 else ())
    return numbers[0] if len(numbers) == 1 else None
