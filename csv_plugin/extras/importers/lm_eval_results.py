"""Read results and accuracies of lm-evaluation-harness, 0.3.0 to 0.4.13.

Versions until 0.4.2 write one file of results, of any name. Later versions
put the date into its name. Version 0.4.0 does not list the tasks of a group,
and version 0.3.0 has no filters.
"""
import ast
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_choice, check_list
from csv_plugin.core.measured import (EXTENT, METRIC, N_ITEMS, SHOTS, SYSTEM,
                                      TEMPLATE, VERSION, Measured,
                                      check_measured, check_weights)
from csv_plugin.core.metric_names import is_no_accuracy
from csv_plugin.extras.importers.accuracy_cells import Cell, accuracy_table
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.io.files import NOT_THERE, FilePath
from csv_plugin.io.json_files import inside, is_number, read_json_part
from csv_plugin.io.model_paths import paths_by_model

REMEDY = 'Run the harness again, or fetch an intact copy of its output.'
LOG_SAMPLES = 'Run the harness, 0.4.3 or later, with --log_samples.'
#: Default metrics, all accuracies. If a benchmark has several of them, the
#: first in this order counts.
METRICS = 'acc_norm', 'acc', 'exact_match'
_DATE = re.compile(r'\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d')
#: Keys of `model_args` that name the model. If several are given, the first in
#: this order counts.
_NAMES = 'pretrained', 'model', 'path', 'engine', 'load'
#: Maps other names of number formats to the usual name. 'auto' does not tell
#: the format.
_DTYPES = {'auto': None, 'half': 'float16', 'float': 'float32'}
_QUANTIZED = re.compile('quant|load_in_|gptq|gguf|bnb_|awq')


@dataclass(frozen=True)
class Run:
    """One file of results and its content: a run of the harness."""
    path: Path
    content: dict[str, Any]

    @property
    def results(self) -> dict[str, Any]:
        """Metrics by name of the task or group."""
        return self.content['results']

    @property
    def tasks(self) -> list[str]:
        """Names of tasks and groups that have metrics."""
        names = []
        for name, scores in self.results.items():
            if isinstance(scores, dict):
                names.append(name)
        return names

    @cached_property
    def version(self) -> str:
        """Version of the harness: as stated in the file, or '0.3' or '0.4'."""
        stated = self.content.get('lm_eval_version')
        if isinstance(stated, str):
            return stated
        if 'configs' in self.content:
            return '0.4'
        for task in self.tasks:
            # Since 0.4, the names of results are '<metric>,<filter>'.
            if ',' in ''.join(self.results[task]):
                return '0.4'
        return '0.3'

    def samples(self, task: str) -> Path:
        """Return the file with the samples of a task, which may not exist."""
        _, _, date = self.path.stem.rpartition('_')
        return self.path.with_name(f'samples_{task}_{date}.jsonl')

    def filters(self, task: str, metric: str) -> list[str]:
        """Return the filters of a metric of a task, in the file's order."""
        names = []
        for key in self.scores(task):
            found, _, name = key.partition(',')
            if found == metric:
                names.append(name)
        return names

    def scores(self, task: str) -> dict[str, Any]:
        """Return the values of a task by metric and filter.

        A key is, for example, 'acc,none'. Standard errors are not returned.
        """
        has_filters = self.version != '0.3'
        values = {}
        for key, value in self.results[task].items():
            if '_stderr' in key:
                continue
            if has_filters and ',' in key:
                values[key] = value
            elif not has_filters and type(value) in (int, float):
                values[f'{key},none'] = value
        return values

    @property
    def when(self) -> tuple[str, float, str]:
        """A key that sorts runs by time.

        It consists of the date in the file's name, which is there since 0.4.3,
        the date in its content in seconds, and the name.
        """
        name = self.path.name
        date = ''.join(_DATE.findall(name))
        seconds = self.content.get('date')
        if not is_number(seconds):
            seconds = 0
        return date, seconds, name

    def measured(self,
                 name: str,
                 task: str,
                 metric: Optional[str] = None) -> Measured:
        """Return what the file states about a task or group.

        `name` is the name that the returned record gives to the model.
        `metric` is the metric that counts, with its filter.
        """
        leaves = self.leaves(task)
        facts = self._weights | self._items(leaves) | {
            METRIC: metric,
            SHOTS: _joined(map(self._shots, leaves)),
            VERSION: _joined(map(self._version, leaves)),
            TEMPLATE: self._prompt('chat_template_sha', 'chat_template'),
            SYSTEM: self._prompt('system_instruction'),
        }
        return Measured(name, task, str(self.path), facts)

    def _prompt(self, *fields: str) -> Optional[str]:
        """Return the content of the first of `fields` that is not empty.

        Return 'none' if the file has only empty fields of these names, and
        None if it has no field of these names.
        """
        found = None
        for field in fields:
            if self.content.get(field):
                return str(self.content[field])
            if field in self.content:
                found = 'none'
        return found

    @cached_property
    def _weights(self) -> dict[str, Any]:
        """Facts about the model's weights; a fact that is unknown is None."""
        config = self.content.get('config')
        args = arguments(inside(config, 'model_args'))
        dtype = inside(config, 'model_dtype') or args.get('dtype', 'auto')
        dtype = str(dtype)
        revision = inside(config, 'model_revision') or args.get('revision')
        if not revision:
            # For GPT-NeoX, this is the number of the loaded checkpoint.
            revision = args.get('iteration')
        if not revision and 'pretrained' in args:
            revision = 'main'
        if revision and 'subfolder' in args:
            revision = f'{revision}/{args["subfolder"]}'
        adapter = args.get('peft') or args.get('delta')
        if not adapter and args:
            adapter = 'none'
        # The harness's own name of the model is not used, because it is the
        # name of the adapter if the model has one, and is made up if there are
        # no arguments.
        model = None
        for key in _NAMES:
            model = model or args.get(key)
        return {
            'model': model,
            'revision': revision,
            'commit': inside(config, 'model_sha') or None,
            'dtype': _DTYPES.get(dtype, dtype.removeprefix('torch.')),
            'quantization': quantization(args),
            'adapter': adapter or None,
        }

    def leaves(self, task: str, above: Sequence[str] = ()) -> list[str]:
        """Return the tasks in the group `task` and in its subgroups.

        If `task` is not a group, return only its own name. `above` are the
        groups that contain it.
        """
        below = inside(self.content, 'group_subtasks', task)
        if not isinstance(below, list) or not below or task in above:
            return [task]
        leaves = []
        for part in below:
            leaves += self.leaves(str(part), (*above, task))
        return leaves

    def _shots(self, task: str) -> Optional[str]:
        """Return the number of few-shot examples; None if not stated."""
        if self.version == '0.3':  # One number for all tasks.
            shots = inside(self.content, 'config', 'num_fewshot')
            return None if shots is None else str(shots)
        # The file states 0 for groups, which have no config.
        shots = inside(self.content, 'n-shot', task)
        is_task = bool(inside(self.content, 'configs', task))
        return str(shots) if is_task and shots is not None else None

    def _version(self, task: str) -> Optional[str]:
        """Return the version of a task; None if not stated."""
        version = inside(self.content, 'versions', task)
        # Some files state versions as strings, such as '1.0', and 'N/A' for
        # groups.
        with suppress(TypeError, ValueError):
            return f'{float(version):g}'
        is_text = isinstance(version, str) and version != 'N/A'
        return version if is_text else None

    def _items(self, leaves: Sequence[str]) -> dict[str, Any]:
        """Return the facts `N_ITEMS` and `EXTENT`.

        They are the number of items of all `leaves` together, and whether it
        is 'all' or 'some' of the benchmark. Each is None if it is not stated.
        """
        config = inside(self.content, 'config') or {}
        limit = inside(config, 'limit')
        n_samples = inside(self.content, 'n-samples')
        originals = []
        numbers = []
        for leaf in leaves:
            originals.append(inside(n_samples, leaf, 'original'))
            numbers.append(self._n_items(leaf, limit))
        original = _total(originals)
        n_items = _total(numbers)
        part: Optional[str] = None
        if n_items is not None and original is not None:
            part = 'all' if n_items >= original else 'some'
        elif limit:
            part = 'some'
        elif 'limit' in config:
            part = 'all'
        return {N_ITEMS: n_items, EXTENT: part}

    def _n_items(self, task: str, limit: Any) -> Optional[float]:
        """Return the number of items that were run; None if not stated."""
        n_scored = inside(self.results, task, 'sample_len')
        effective = inside(self.content, 'n-samples', task, 'effective')
        for n_items in (n_scored, effective, limit):
            if is_number(n_items) and n_items >= 1:
                return n_items
        return None


def read_runs(path: FilePath, left_out: LeftOut) -> list[Run]:
    """Read all files of results in a file or a folder, the newest last.

    `left_out` takes JSON files that are not results of the harness. An
    `InputError` if the path does not exist or contains no results.
    """
    root = Path(path)
    if not root.exists():
        raise InputError(path, 'the outputs of a model', NOT_THERE,
                         'Check the path.')
    files = [root]
    if not root.is_file():
        files = sorted(root.rglob('*.json'))
    if not files:
        raise InputError(
            path, 'results of lm-evaluation-harness, *.json', 'none',
            'Give the path that was given to --output_path of '
            'the harness.')
    names = [os.path.relpath(file, root) for file in files]

    def read(name: str) -> Run:
        return _read_run(root, root / name)

    runs = usable(read, names, 'file', left_out)
    return sorted(runs.values(), key=lambda run: run.when)


def _read_run(root: Path, file: Path) -> Run:
    """Read a file of results; an `InputError` if it is other JSON."""
    content = read_json_part(file, REMEDY).fields
    parts = {name for name in content if isinstance(content[name], dict)}
    found = ''
    if 'config_general' in parts:
        found = 'results of lighteval or of the Open LLM Leaderboard'
    elif 'results' not in parts or not parts & {'config', 'versions'}:
        found = 'other JSON'
    if found:
        # The error is the same for all such files, so that `left_out` lists
        # them together.
        raise InputError(root,
                         "'results' and 'config' of lm-evaluation-harness",
                         found, 'Give files of versions 0.3.0 to 0.4.13.')
    return Run(file, content)


def run_of(runs: Iterable[Run], name: str, task: str,
           left_out: LeftOut) -> Optional[Run]:
    """Return the run of a task that counts, None if no run has the task.

    If there are complete runs, the newest of them counts, else the incomplete
    run with the most items. `runs` are the runs of the model `name`, the
    newest last. `left_out` takes the runs that do not count. An `InputError`
    if the complete runs were made with different weights, or if there are no
    complete runs and the incomplete runs were.
    """
    found = []
    for run in runs:
        if task in run.tasks:
            found.append((run, run.measured(name, task)))
    # The sort is stable, so that of equally complete runs the newest is first.
    newest_first = found[::-1]
    found = sorted(newest_first, key=lambda pair: _cut(pair[1]))
    records = []
    n_whole = 0
    for _, record in found:
        records.append(record)
        if not _cut(record):
            n_whole += 1
    # Complete runs come first. If there are none, all runs are checked.
    alike = records[:n_whole] or records
    check_weights(alike)
    for index, (run, _) in enumerate(found[1:], start=1):
        if index < len(alike):
            reason = ('the newest run counts; to use another run, give its '
                      'file as NAME=FILE')
        else:
            reason = 'a run of all items counts before a run of some items'
        left_out.add('run', reason, f'{task} in {run.path.name}')
    if not found:
        return None
    run, _ = found[0]
    return run


def samples_of(runs: Sequence[Run], name: str, task: str,
               left_out: LeftOut) -> tuple[Path, Measured]:
    """Return the file of samples of a task, and the record of its run.

    `run_of` chooses the run among the runs with samples. An `InputError` if
    no run has samples.
    """
    run = run_of(logged(runs, task), name, task, left_out)
    if run is None:
        of_task = [run for run in runs if task in run.results]
        raise InputError(f'results of {name!r}', f'samples of {task}',
                         _no_samples(of_task), LOG_SAMPLES)
    return run.samples(task), run.measured('', task)


def logged(runs: Iterable[Run], task: str) -> list[Run]:
    """Return the runs with samples of a task beside their results."""
    return [run for run in runs if os.path.lexists(run.samples(task))]


def _no_samples(runs: Iterable[Run]) -> str:
    """Return a text that says that none of the runs has samples."""
    versions = sorted({run.version for run in runs})
    named = ' and '.join(versions)
    return f'no samples_*.jsonl beside results of version {named}'


def _cut(record: Measured) -> float:
    """Return a sort key: 0 for a complete run, else 1 / number of items."""
    if record.facts[EXTENT] != 'some':
        return 0
    n_items = record.facts[N_ITEMS] or 1
    return 1 / n_items


def arguments(args: Any) -> dict[str, str]:
    """Return the entries of `model_args` as strings by key.

    Files of versions until 0.4.9 have a string 'key=value,...', later files
    may have an object. Empty values are left out.
    """
    with suppress(SyntaxError, TypeError, ValueError):
        args = ast.literal_eval(args)  # A dict, converted by `str`.
    if isinstance(args, str):
        parts = args.split(',')
        args = {}
        for part in parts:
            key, _, value = part.partition('=')
            if key:
                args[key.strip()] = value.strip()
    if not isinstance(args, dict):
        return {}
    texts = {}
    for key, value in args.items():
        text = str(value)
        if text not in ('', 'None'):
            texts[key] = text.rstrip('/')
    return texts


def quantization(args: Mapping[str, str]) -> Optional[str]:
    """Return the arguments that quantize a model, joined to one string.

    Return 'none' if no argument quantizes it, and None if `args` is empty.
    """
    if not args:
        return None
    options = []
    for key, value in sorted(args.items()):
        if _QUANTIZED.search(key) and value != 'False':
            options.append(f'{key}={value}')
    return ', '.join(options) or 'none'


def _total(numbers: Iterable[Any]) -> Optional[int]:
    """Return the sum of numbers; None if one of them is not a number."""
    total = 0.0
    for number in numbers:
        if not is_number(number):
            return None
        total += number
    return int(total)


def _joined(values: Iterable[Optional[str]]) -> Optional[str]:
    """Return the distinct values, joined; None if one of them is None."""
    different = set(values)
    if None in different:
        return None
    texts = sorted(map(str, different))
    return ', '.join(texts)


@dataclass(frozen=True)
class Result:
    """The result of a model on a task.

    If a model has several results on a task, this is the result that counts.
    `run` is the file with the result. `metric` is a metric with its filter,
    such as 'acc,none'. `record` is what the file states about the result.
    """
    run: Run
    task: str
    metric: str
    record: Measured

    @property
    def where(self) -> str:
        """File and task of the result, for error messages."""
        return f'{self.run.path}, {self.task}'


def read_results(runs: Mapping[str, Sequence[Run]],
                 patterns: Sequence[str],
                 metrics: Mapping[str, str],
                 left_out: LeftOut,
                 with_samples: bool = False) -> list[Result]:
    """Return the result of each model on each task that matches a pattern.

    Every command reads results with this function, so all commands choose the
    same runs, metrics and filters.

    Args:
        runs (Mapping): Runs of each model, by the name of the model.
        patterns (Sequence[str]): Names or patterns of tasks and groups.
        metrics (Mapping[str, str]): Metric of some of the patterns, perhaps
            with a filter; by default the first of `METRICS` that a task has.
        left_out (LeftOut): Takes what cannot be used.
        with_samples (bool): Whether only runs with samples are used.

    Raises:
        InputError: A pattern matches no task, or the results of a model on a
            task were made with different weights.
    """
    where = results_of(runs)
    tasks: set[str] = set()
    for of_model in runs.values():
        for run in of_model:
            tasks.update(run.tasks)
    # Maps each task to the last pattern that it matches.
    by_task: dict[str, str] = {}
    for pattern in patterns:
        matching = [task for task in tasks if fnmatchcase(task, pattern)]
        if not matching:
            found = ', '.join(sorted(tasks))
            raise InputError(
                where, f'the task {pattern!r} of at least one model',
                '; '.join([found, *left_out.lines]),
                'Run the harness with this task, or correct the name.')
        by_task |= dict.fromkeys(sorted(matching), pattern)
    results = []
    for model, task in product(runs, by_task):
        of_task = [run for run in runs[model] if task in run.results]
        usable_runs = of_task
        if with_samples:
            usable_runs = logged(of_task, task)
        if of_task and not usable_runs:
            reason = f'{_no_samples(of_task)}. {LOG_SAMPLES}'
            left_out.add('task', reason, task)
        # This call is not inside `try`, because different weights are an
        # error, not a reason to leave out a result.
        chosen = run_of(usable_runs, model, task, left_out)
        if chosen is None:
            continue
        wanted = metrics.get(by_task[task]) or None
        try:
            metric = _metric(chosen, task, wanted)
            record = chosen.measured(model, task, metric)
            results.append(Result(chosen, task, metric, record))
        except InputError as error:
            reason = str(error).removeprefix(f'{chosen.path}, {task}: ')
            left_out.add('result', reason, f'{task} of {model}')
    return results


def results_of(models: Iterable[str]) -> str:
    """Return the name of the results of some models for error messages."""
    return f'results of {", ".join(models)}'[:200]


def read_lm_eval_accuracies(
        paths: Mapping[str, FilePath] | Iterable[FilePath],
        benchmarks: Sequence[str],
        metrics: Optional[Mapping[str, str]] = None,
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from outputs of lm-evaluation-harness.

    If a model has several runs of a benchmark, the newest complete run
    counts. The accuracy is `acc_norm` where the harness gives it, else `acc`,
    else `exact_match`. What cannot be used is left out with a warning. Another
    warning says whether models were run with different prompts or versions of
    a task.

    Args:
        paths (Mapping | Iterable): Output folder of each of M models, by the
            name of the model; or folders that are named after their models.
        benchmarks (Sequence[str]): Tasks or groups of the harness, or
            patterns such as 'arc*'.
        metrics (Optional[Mapping[str, str]]): Metric of some of the
            benchmarks, and perhaps a filter, such as
            `{'gsm8k': 'exact_match,strict-match'}`; '' stands for the
            default metric.
        chance (Optional[Mapping[str, float]]): Chance level of each
            benchmark that is not in `io.known_benchmarks`.

    Returns:
        AccuracyTable: Accuracies of M models on B benchmarks as fractions,
        `(M, B)`; NaN where a model was not run. Its `measured` has a record
        of each accuracy.

    Raises:
        InputError: `read_runs` or `benchmark_infos` raises an error; `paths`
            is empty; no accuracy can be used; the accuracies of a model were
            measured with different weights; or the accuracies on a benchmark
            have different metrics, numbers of few-shot examples or numbers of
            items.
    """
    check_list('benchmarks', benchmarks)
    folders = paths_by_model(paths)
    left_out = LeftOut()
    for benchmark in metrics or {}:
        check_choice('metrics', benchmark, benchmarks,
                     'Correct or add the name.')

    def read(model: str) -> list[Run]:
        return read_runs(folders[model], left_out)

    runs = usable(read, folders, 'model', left_out)
    cells = []
    for result in read_results(runs, benchmarks, metrics or {}, left_out):
        try:
            cells.append(_cell(result))
        except InputError as error:
            reason = str(error).removeprefix(f'{result.where}: ')
            part = f'{result.task} of {result.record.name}'
            left_out.add('result', reason, part)
    return accuracy_table(
        results_of(runs), list(runs), cells, benchmarks, chance,
        check_measured, left_out)


def _cell(result: Result) -> Cell:
    """Return the accuracy of a result; an `InputError` if it is not one."""
    scores = result.run.scores(result.task)
    accuracy = scores[result.metric]
    if not is_number(accuracy) or not 0 <= accuracy <= 1:
        raise InputError(result.where, f'a fraction as {result.metric!r}',
                         repr(accuracy)[:80], 'Name another metric.')
    return accuracy, result.record


def _metric(run: Run, task: str, wanted: Optional[str]) -> str:
    """Return the metric that counts, with its filter.

    `wanted` is the metric that the user named, if any. An `InputError` if the
    metric is missing or not an accuracy, or has several filters.
    """
    where = f'{run.path}, {task}'
    metrics = list(run.scores(task))
    metric = _only_metric(where, task, metrics, wanted, run.version)
    name, _, _ = metric.partition(',')
    higher = inside(run.content, 'higher_is_better', task, name)
    if higher is False or is_no_accuracy(name):
        raise InputError(where, 'a metric that is higher for better models',
                         repr(metric), 'Name another metric.')
    return metric


def _only_metric(where: str, task: str, metrics: Sequence[str],
                 wanted: Optional[str], version: str) -> str:
    """Return the metric, with its filter, that has the wanted name.

    Without a name, it is the first of `METRICS` that the task has. An
    `InputError` if no metric of the task has the name, or if several do.
    """
    names = [wanted] if wanted else METRICS
    for name in names:
        matching = []
        for metric in metrics:
            without_filter, _, _ = metric.partition(',')
            if name in (metric, without_filter):
                matching.append(metric)
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise InputError(
                where, f'one filter of {name!r}', ' and '.join(matching),
                f'Name one of these metrics with its filter, as in '
                f'--tasks {task}={matching[0]}.')
    expected = f'one of {", ".join(METRICS)}'
    if wanted is not None:
        expected = f'the metric {wanted!r}'
    found = f'{", ".join(metrics) or "no metric"}, in version {version}'
    remedy = 'Choose other tasks.'
    if metrics:
        remedy = f'Name one of these metrics, as in --tasks {task}=METRIC.'
    raise InputError(where, expected, found, remedy)
