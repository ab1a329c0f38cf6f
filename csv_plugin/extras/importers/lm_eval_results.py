"""Result files of lm-evaluation-harness, versions 0.3 to 0.4.13.

0.3 and 0.4.0 to 0.4.2 write one file of any name; later versions put the date
into its name. 0.3 has metrics without filters and one number of few-shot
examples for all tasks; 0.4.0 does not list the tasks of a group.
"""
import ast
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import (METRIC, N_ITEMS, PART, SETTINGS, SHOTS,
                                      SYSTEM, TEMPLATE, TURNS, VERSION,
                                      Measured, check_weights, differing)
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.io.files import NOT_THERE, FilePath
from csv_plugin.io.json_files import inside, is_number, read_json_part

REMEDY = 'Run the harness again, or fetch an intact copy of its output.'
#: Metrics that are accuracies; the first that a benchmark has counts.
METRICS = 'acc_norm', 'acc', 'exact_match'
_INDENTED = re.compile(' *- ')
_DATE = re.compile(r'\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d')
#: Arguments of a model that are names of it; of several, the first counts.
_NAMES = 'pretrained', 'model', 'path', 'engine'
_ADAPTERS = 'peft', 'delta', 'lora_local_path'
#: Names of number formats, of which 'auto' is none.
_DTYPES = {'auto': None, 'half': 'float16', 'float': 'float32'}
_QUANTIZED = re.compile('quant|load_in_|gptq|gguf|bnb_|awq')


@dataclass(frozen=True)
class Run:
    """One file of results, and what is in it."""
    path: Path
    content: dict[str, Any]

    @property
    def results(self) -> dict[str, Any]:
        """Metrics of tasks and groups by their names."""
        return self.content['results']

    def samples(self, task: str) -> Path:
        """Return the file with the samples of a task, which may not exist."""
        date = self.path.stem.rpartition('_')[2]
        return self.path.with_name(f'samples_{task}_{date}.jsonl')

    @cached_property
    def when(self) -> float:
        """When it was run: by the file's name, else by its content."""
        if match := _DATE.search(self.path.name):
            with suppress(ValueError):
                return datetime.strptime(match[0],
                                         '%Y-%m-%dT%H-%M-%S').timestamp()
        date = self.content.get('date')
        return date if is_number(date) else 0

    def measured(self,
                 name: str,
                 task: str,
                 metric: Optional[str] = None) -> Measured:
        """Return the record of a task or group of the model `name`."""
        leaves = self.leaves(task)
        template = self._prompt('chat_template_sha', 'chat_template')
        turns = self._prompt('fewshot_as_multiturn')
        return Measured(name, task, str(self.path), {
            **self._weights, **self._items(leaves),
            METRIC: metric,
            SHOTS: _joined(map(self._shots, leaves)),
            VERSION: _joined(map(self._version, leaves)),
            TEMPLATE: template,
            SYSTEM: self._prompt('system_instruction'),
            TURNS: None if template in (None, 'none') else turns,
        })  # yapf: disable

    def _prompt(self, *fields: str) -> Optional[str]:
        """The first field that is not empty; 'none' if all are."""
        values = [
            self.content[field] for field in fields if field in self.content
        ]
        return next((str(value) for value in values if value),
                    'none' if values else None)

    @cached_property
    def _weights(self) -> dict[str, Optional[str]]:
        config = partial(inside, self.content, 'config')
        args = arguments(config())
        adapter = next((key for key in _ADAPTERS if key in args), '')
        named = next((args[key] for key in _NAMES if key in args), None)
        # The harness calls a model by its adapter, and invents a name where
        # there are no arguments.
        given = self.content.get('model_name') or named
        dtype = str(config('model_dtype') or args.get('dtype', 'auto'))
        revision = config('model_revision') or args.get('revision')
        if not revision and 'pretrained' in args:
            revision = 'main'
        adapters = args.get(adapter), config(f'{adapter}_sha')
        return {
            'model': named if adapter or not named else given,
            'revision': _together('/', revision, args.get('subfolder')),
            'commit': config('model_sha') or None,
            'dtype': _DTYPES.get(dtype, dtype.removeprefix('torch.')),
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
        listed = self.content.get('group_subtasks')
        if isinstance(listed, dict):
            return listed
        parts: dict[str, list[str]] = {}
        above: list[tuple[int, str]] = []
        for task in self.results:
            match = _INDENTED.match(str(inside(self.results, task, 'alias')))
            depth = len(match[0]) if match else 0
            above = [pair for pair in above if pair[0] < depth]
            if above:
                parts.setdefault(above[-1][1], []).append(task)
            above.append((depth, task))
        return parts

    def _shots(self, task: str) -> Optional[str]:
        places = (('n-shot', task), ('configs', task, 'num_fewshot'),
                  ('config', 'num_fewshot'))  # The last one is of 0.3.
        found = (inside(self.content, *place) for place in places)
        return next((str(shots) for shots in found if shots is not None), None)

    def _version(self, task: str) -> Optional[str]:
        with suppress(TypeError, ValueError):  # Such as the N/A of groups.
            return f'{float(inside(self.content, "versions", task)):g}'
        return None

    def _items(self, leaves: Sequence[str]) -> dict[str, Any]:
        """Number of items, and whether these are all of the benchmark."""
        limit = inside(self.content, 'config', 'limit')
        original = _total(
            inside(self.content, 'n-samples', leaf, 'original')
            for leaf in leaves)
        n_items = _total(self._n_items(leaf, limit) for leaf in leaves)
        if n_items is not None and original is not None:
            part: Optional[str] = 'all' if n_items >= original else 'some'
        elif limit:
            part = 'some'
        else:
            part = 'all' if 'limit' in (inside(self.content, 'config') or
                                        ()) else None
        return {N_ITEMS: n_items, PART: part}

    def _n_items(self, task: str, limit: Any) -> Optional[float]:
        """Items of a task that were run; None if it is not stated.

        Until 0.4.11, the effective number leaves --samples out.
        """
        scores = self.results.get(task)
        run = (_counted(scores), inside(scores, 'sample_len'),
               inside(self.content, 'n-samples', task, 'effective'), limit)
        return next((n for n in run if is_number(n) and n >= 1), None)


def _counted(scores: Any) -> Optional[int]:
    """The number of items by the standard error of an accuracy, if any.

    With k of n grades 1 and the others 0, the mean p is k / n and has the
    standard error sqrt(p (1 - p) / (n - 1)).
    """
    for key, mean in (scores.items() if isinstance(scores, dict) else ()):
        metric, comma, kind = key.partition(',')
        error = scores.get(f'{metric}_stderr{comma}{kind}')
        if metric in METRICS and is_number(mean) and is_number(error) and (
                0 < mean < 1 and error > 1e-9):
            n_items = mean * (1 - mean) / error**2 + 1
            wholes = n_items, mean * n_items
            if all(abs(whole - round(whole)) < 1e-6 for whole in wholes):
                return round(n_items)
    return None


def read_runs(path: FilePath, left_out: LeftOut) -> list[Run]:
    """Read all results in a file or a folder, the newest last.

    `left_out` takes JSON files that are no results. An `InputError` if there
    is no such path, or no results in it.
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
    runs = usable(lambda name: _read_run(root, root / name),
                  [os.path.relpath(file, root) for file in files], 'file',
                  left_out)
    return sorted(runs.values(), key=lambda run: (run.when, run.path.name))


def _read_run(root: Path, file: Path) -> Run:
    content = read_json_part(file, REMEDY).fields
    results, config, versions = (
        isinstance(content.get(name), dict)
        for name in ('results', 'config', 'versions'))
    if not results or not (config or versions):
        # The same for all such files, which are listed together.
        raise InputError(
            str(root), "'results' and 'config' of lm-evaluation-harness",
            'other JSON', 'Files of 0.3 to 0.4.13 are read.')
    return Run(file, content)


def runs_of(runs: Iterable[Run], name: str, task: str,
            left_out: LeftOut) -> list[Run]:
    """Return the runs of a task, the one that counts first.

    Whole runs count before those of some items, and newer ones before older.
    The runs are those of the model `name`, the newest last; `left_out` takes
    all but the first. An `InputError` if they are of several weights.
    """
    found = [(run, run.measured(name, task)) for run in runs
             if isinstance(run.results.get(task), dict)]
    # The sort is stable, and the newest is the last.
    found = sorted(found[::-1], key=lambda pair: _cut(pair[1]))
    if found:
        first = found[0][1]
        check_weights(record for _, record in found
                      if bool(_cut(record)) == bool(_cut(first)))
        for run, record in found[1:]:
            left_out.add('run', _why_not(first, record),
                         f'{task} in {run.path.name}')
    return [run for run, _ in found]


def samples_of(runs: Sequence[Run], name: str, task: str,
               left_out: LeftOut) -> tuple[Path, Measured]:
    """Return the samples of the run that counts among those that have some.

    Args as in `runs_of`.
    """
    logged = [run for run in runs if os.path.lexists(run.samples(task))]
    found = runs_of(logged, name, task, left_out)
    if not found:
        raise InputError(
            f'results of {name!r}', 'samples_*.jsonl of the task beside them',
            'none', 'Run the harness, 0.4.3 or later, with --log_samples.')
    return found[0].samples(task), found[0].measured('', task)


def _cut(record: Measured) -> float:
    """0 for a whole run, and the more the fewer items another one has."""
    is_cut = record.facts[PART] == 'some'
    return 1 / (record.facts[N_ITEMS] or 1) if is_cut else 0


def _why_not(first: Measured, other: Measured) -> str:
    if _cut(other) and not _cut(first):
        return 'a run of all items counts before one of some'
    for fact in SETTINGS:
        if values := differing((first, other), fact, 'place'):
            return (f'the newest run counts; {fact}: {values}. Name the file '
                    'of another as NAME=FILE')
    return 'the newest run counts'


def tasks_of(runs: Iterable[Run], left_out: LeftOut) -> str:
    """Return the names of all tasks, and what is left out, for errors."""
    tasks = {task for run in runs for task in run.results}
    return '; '.join((', '.join(sorted(tasks)) or 'no task', *left_out.lines))


def arguments(config: Any) -> dict[str, str]:
    """Return `model_args`: a text until 0.4.9, then perhaps an object."""
    args = inside(config, 'model_args')
    with suppress(SyntaxError, TypeError, ValueError):
        args = ast.literal_eval(args)  # Of an object, converted to a text.
    if isinstance(args, str):
        pairs = [part.partition('=')[::2] for part in args.split(',')]
        args = {key.strip(): value.strip() for key, value in pairs if key}
    if not isinstance(args, dict):
        return {}
    return {
        key: str(value).rstrip('/')
        for key, value in args.items() if str(value) not in ('', 'None')
    }


def quantization(args: Mapping[str, str]) -> Optional[str]:
    """Return arguments that quantize; 'none', or None without arguments."""
    options = [
        f'{key}={value}' for key, value in sorted(args.items())
        if _QUANTIZED.search(key) and value != 'False'
    ]
    return ', '.join(options) or ('none' if args else None)


def _total(numbers: Iterable[Any]) -> Optional[int]:
    known = [*numbers]
    return int(sum(known)) if all(map(is_number, known)) else None


def _together(sign: str, *parts: Any) -> Optional[str]:
    return sign.join(str(part) for part in parts if part) or None


def _joined(values: Iterable[Optional[str]]) -> Optional[str]:
    """The different values; None if one is missing."""
    different = {*values}
    return None if None in different else ', '.join(
        sorted(map(str, different)))
