"""Result files of lm-evaluation-harness, versions 0.3 to 0.4.13.

0.3 and 0.4.0 to 0.4.2 write one file of any name; later versions put the date
into its name. 0.3 has metrics without filters and one number of few-shot
examples for all tasks; 0.4.0 does not list the tasks of a group.
"""
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.input_error import InputError
from csv_plugin.core.measured import (LABELS, SETTINGS, Measured,
                                      check_weights, differing)
from csv_plugin.extras.importers.json_rows import (JsonPart, is_number,
                                                   read_json_part)
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.io.files import NOT_THERE, FilePath

REMEDY = 'Run the harness again, or fetch an intact copy of its output.'
_INDENTED = re.compile(' *- ')
_DATE = re.compile(r'\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d')
#: No benchmark has as many items.
_LARGEST = 2**31
#: Arguments of a model that are names of it; of several, the first counts.
_NAMES = 'pretrained', 'model', 'path', 'engine'
_ADAPTERS = 'peft', 'delta', 'lora_local_path'
#: Names of number formats, of which 'auto' is none.
_DTYPES = {'auto': None, 'half': 'float16', 'float': 'float32'}
_QUANTIZED = re.compile('quant|load_in_|gptq|gguf|bnb_|awq')


@dataclass(frozen=True)
class Run:
    """One file of results.

    Args:
        path (Path): The file.
        content (JsonPart): What is in it.
    """
    path: Path
    content: JsonPart

    @property
    def results(self) -> dict[str, Any]:
        """Metrics of tasks and groups by their names."""
        return self.content.fields['results']

    def samples(self, task: str) -> Path:
        """Return the file with the samples of a task.

        Raises:
            InputError: There is none, as samples were not logged, or were
                written by an earlier version than 0.4.3.
        """
        date = self.path.stem.rpartition('_')[2]
        file = self.path.with_name(f'samples_{task}_{date}.jsonl')
        if not file.is_file():
            raise InputError(
                str(self.path), f'a file {file.name} beside it', 'none',
                'Run the harness, 0.4.3 or later, with --log_samples.')
        return file

    @cached_property
    def when(self) -> float:
        """When it was run: by the file's name, else by its content."""
        date = self.content.fields.get('date')
        if match := _DATE.search(self.path.name):
            with suppress(ValueError):
                return datetime.strptime(match[0],
                                         '%Y-%m-%dT%H-%M-%S').timestamp()
        return date if is_number(date) else 0

    def stated(self, field: str, name: str) -> Any:
        """Return what a field contains about a task, or None."""
        by_name = self.content.fields.get(field)
        return by_name.get(name) if isinstance(by_name, dict) else None

    def measured(self,
                 name: str,
                 task: str,
                 metric: Optional[str] = None) -> Measured:
        """Return the record of a result.

        Args:
            name (str): The model, as tables call it.
            task (str): Task or group of the harness.
            metric (Optional[str]): Metric and filter.
        """
        leaves = self.leaves(task)
        n_items, part = self._items(task, leaves)
        return Measured(
            name,
            task,
            str(self.path),
            metric=metric,
            shots=_joined(map(self._shots, leaves)),
            n_items=n_items,
            part=part,
            version=_joined(
                _version(self.stated('versions', leaf)) for leaf in leaves),
            template=self._prompt('chat_template_sha', 'chat_template'),
            system=self._prompt('system_instruction'),
            **self._weights)

    def _prompt(self, *fields: str) -> Optional[str]:
        """The first field that is not empty; 'none' if all are."""
        known = [field for field in fields if field in self.content.fields]
        values = [self.content.fields[field] for field in known]
        return next(
            filter(None, map(_text, values)), 'none' if known else None)

    @cached_property
    def _config(self) -> dict[str, Any]:
        config = self.content.fields.get('config')
        return config if isinstance(config, dict) else {}

    @cached_property
    def _weights(self) -> dict[str, Optional[str]]:
        config, args = self._config, arguments(self._config)
        adapter = next((key for key in _ADAPTERS if key in args), '')
        named = next((args[key] for key in _NAMES if key in args), None)
        # The harness calls a model by its adapter, and invents a name where
        # there are no arguments.
        given = _text(self.content.fields.get('model_name'))
        dtype = _text(config.get('model_dtype')) or args.get('dtype', 'auto')
        revision = _text(config.get('model_revision')) or args.get('revision')
        if revision is None and 'pretrained' in args:
            revision = 'main'
        adapters = args.get(adapter), _text(config.get(f'{adapter}_sha'))
        return {
            'model': named if adapter or not named else given or named,
            'revision': _together('/', revision, args.get('subfolder')),
            'commit': _text(config.get('model_sha')),
            'dtype': _DTYPES.get(dtype,
                                 dtype.split('torch.')[-1]),
            'quantization': quantization(args),
            'adapter': _together('@', *adapters) or ('none' if args else None),
        }

    def leaves(self, task: str, above: Sequence[str] = ()) -> list[str]:
        """Return the tasks of a group, however deep; of a task, itself."""
        below = self._subtasks.get(task)
        if not isinstance(below, list) or not below or task in above:
            return [task]
        return [
            leaf for part in below
            for leaf in self.leaves(str(part), (*above, task))
        ]

    @cached_property
    def _subtasks(self) -> Mapping[str, Sequence[str]]:
        """Parts of groups; of 0.4.0, by the indentation of their aliases."""
        listed = self.content.fields.get('group_subtasks')
        if isinstance(listed, dict):
            return listed
        parts: dict[str, list[str]] = {}
        above: list[tuple[int, str]] = []
        for task, scores in self.results.items():
            alias = scores.get('alias') if isinstance(scores, dict) else ''
            match = _INDENTED.match(str(alias))
            depth = len(match[0]) if match else 0
            above = [pair for pair in above if pair[0] < depth]
            if above:
                parts.setdefault(above[-1][1], []).append(task)
            above.append((depth, task))
        return parts

    def _shots(self, task: str) -> Optional[str]:
        config = self.stated('configs', task)
        shots = self.stated('n-shot', task)
        if shots is None and isinstance(config, dict):
            shots = config.get('num_fewshot')
        if shots is None:
            shots = self._config.get('num_fewshot')  # 0.3
        return _text(shots)

    def _items(self, task: str,
               leaves: Sequence[str]) -> tuple[Optional[int], Optional[str]]:
        """Number of items, and whether these are all of the benchmark."""
        limit = self._config.get('limit')
        counts = [self.stated('n-samples', leaf) for leaf in leaves]
        original = _total(counts, 'original')
        n_items = _total([self.results[task]], 'sample_len')
        if n_items is None:
            n_items = _total(counts, 'effective')
        if n_items is None and is_number(limit) and 1 <= limit < _LARGEST:
            n_items = int(limit) * len(leaves)
        if n_items is not None and original is not None:
            return n_items, 'all' if n_items >= original else 'some'
        whole = 'all' if 'limit' in self._config else None
        return n_items, 'some' if limit else whole


def read_runs(path: FilePath, left_out: LeftOut) -> list[Run]:
    """Read all results of a model, the newest last.

    Args:
        path (FilePath): A file of results, or a folder with such files.
        left_out (LeftOut): Takes the JSON files that are no results.

    Raises:
        InputError: There is no such path, or no results in it.
    """
    root = Path(path)
    if not root.exists():
        raise InputError(
            os.fspath(path), 'the outputs of a model', NOT_THERE,
            'Check the path.')
    # Before 0.4.3, results may have the name of a file of lines.
    files = [root] if root.is_file() else (sorted(root.rglob('*.json'))
                                           or sorted(root.rglob('*.jsonl')))
    if not files:
        raise InputError(
            os.fspath(path), 'results of lm-evaluation-harness, *.json',
            'none', 'Name what --output_path of the harness named.')
    runs = usable(
        {
            os.path.relpath(file, root): partial(_read_run, file)
            for file in files
        }, 'file', left_out)
    return sorted(runs.values(), key=lambda run: (run.when, run.path.name))


def _read_run(file: Path) -> Run:
    content = read_json_part(file, REMEDY, finite=False)
    results, config, versions = (
        isinstance(content.fields.get(field), dict)
        for field in ('results', 'config', 'versions'))
    if not results or not (config or versions):
        raise InputError(
            str(file), "'results' and 'config' of lm-evaluation-harness",
            ', '.join(content.fields)[:80] or 'an empty object',
            'Files of 0.3 to 0.4.13 are read.')
    return Run(file, content)


def runs_of(runs: Iterable[Run], name: str, task: str,
            left_out: LeftOut) -> list[Run]:
    """Return the runs of a task, the one that counts first.

    Whole runs count before those of some items, and newer ones before older.

    Args:
        runs (Iterable[Run]): Those of one model, the newest last.
        name (str): The model, as tables call it.
        task (str): Task or group of the harness.
        left_out (LeftOut): Takes all but the first.

    Raises:
        InputError: They are of several weights.
    """
    found = [(run, run.measured(name, task)) for run in runs
             if isinstance(run.results.get(task), dict)]
    # The sort is stable, and the newest is the last.
    found = sorted(found[::-1], key=lambda pair: _cut(pair[1]))
    if found:
        first = found[0][1]
        check_weights(record for _, record in found
                      if (record.part == 'some') == (first.part == 'some'))
        for run, record in found[1:]:
            left_out.add('run', _why_not(first, record),
                         f'{task} in {run.path.name}')
    return [run for run, _ in found]


def _cut(record: Measured) -> float:
    """0 for a whole run, and the more the fewer items another one has."""
    return 1 / (record.n_items or 1) if record.part == 'some' else 0


def _why_not(first: Measured, other: Measured) -> str:
    if other.part == 'some' != first.part:
        return 'a run of all items counts before one of some'
    for fact in SETTINGS:
        if values := differing((first, other), fact, 'place'):
            return (f'the newest run counts; {LABELS[fact]}: {values}. Name '
                    'the file of another as NAME=FILE')
    return 'the newest run counts'


def tasks_of(runs: Iterable[Run], left_out: LeftOut) -> str:
    """Return the names of all tasks, and what is left out, for errors."""
    tasks = {task for run in runs for task in run.results}
    return '; '.join((', '.join(sorted(tasks)) or 'no task', *left_out.lines))


def arguments(config: Mapping[str, Any]) -> dict[str, str]:
    """Return `model_args`: a text until 0.4.9, then perhaps an object."""
    args = config.get('model_args')
    if isinstance(args, str):
        pairs = [part.partition('=')[::2] for part in args.split(',')]
        args = {key.strip(): value.strip() for key, value in pairs if key}
    if not isinstance(args, dict):
        return {}
    return {
        key: str(value).rstrip('/')
        for key, value in args.items() if str(value) not in ('', 'None')
    }


def _total(counts: Iterable[Any], kind: str) -> Optional[int]:
    """The items of several tasks; None if a number is missing."""
    numbers = [
        count.get(kind) if isinstance(count, dict) else None
        for count in counts
    ]
    known = [n for n in numbers if type(n) is int and 0 <= n < _LARGEST]
    return sum(known) if len(known) == len(numbers) else None


def quantization(args: Mapping[str, str]) -> Optional[str]:
    """Return arguments that quantize; 'none', or None without arguments."""
    options = [
        f'{key}={value}' for key, value in sorted(args.items())
        if _QUANTIZED.search(key) and value != 'False'
    ]
    return ', '.join(options) or ('none' if args else None)


def _text(value: Any) -> Optional[str]:
    """A value as a text; None if it is empty or missing."""
    return None if value is None or value == '' else str(value)


def _together(sign: str, *parts: Optional[str]) -> Optional[str]:
    return sign.join(filter(None, parts)) or None


def _version(value: Any) -> Optional[str]:
    try:
        return f'{float(value):g}'
    except (TypeError, ValueError):
        return None  # Such as the N/A of groups in 0.4.0.


def _joined(values: Iterable[Optional[str]]) -> Optional[str]:
    """The different values; None if one is missing."""
    different = set(values)
    known = sorted(value for value in different if value is not None)
    return ', '.join(known) if len(known) == len(different) else None
