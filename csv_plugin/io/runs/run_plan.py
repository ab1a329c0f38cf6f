"""Read the plan of an OpenCompass run, and find what is missing."""
import ast
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import is_file_name
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath, read_bytes
from csv_plugin.io.json_files import read_json
from csv_plugin.io.runs.run_dumps import TEXTS, read_run_dump
from csv_plugin.io.runs.run_failures import failure_of


def read_run_plan(work_dir: FilePath) -> dict[str, list[str]]:
    """Return the datasets of each model of a run, from its newest config.

    Models and datasets are named by their `abbr`, as in the names of files.
    The config is parsed and not run, so OpenCompass need not be installed.
    """
    path = newest_config(work_dir)
    if path is None:
        raise InputError(work_dir, 'a run with configs/*.py', 'none',
                         'Give the time-stamped folder of a run.')
    plan: dict[str, list[str]] = {}
    try:
        config = _variables(path)
        parts = config.get('model_dataset_combinations') or [config]
        for part in parts:
            datasets = list(map(_abbr, part['datasets']))
            for model in part['models']:
                name = _abbr(model, is_model=True)
                of_model = plan.setdefault(name, [])
                of_model += datasets
    # Too deeply nested expressions raise MemoryError or RecursionError.
    except (AttributeError, KeyError, SyntaxError, TypeError, ValueError,
            MemoryError, RecursionError) as error:
        raise InputError(
            path, 'models and datasets, each with its abbr or path',
            f'{type(error).__name__}: {error}',
            'Give the folder of a run that OpenCompass wrote.') from error
    # A dataset may be in several combinations of models and datasets.
    for model, names in plan.items():
        plan[model] = list(dict.fromkeys(names))
    return plan


class Gap(NamedTuple):
    """A benchmark or a set of texts that a model was not evaluated on."""
    model: str
    dataset: str
    reason: str


def is_texts(dataset: str) -> bool:
    """Return whether a dataset of a run is a validation set, by its name."""
    return dataset.startswith(TEXTS)


def run_gaps(
        work_dir: FilePath,
        progress: Progress = iter) -> tuple[dict[str, list[str]], list[Gap]]:
    """Return the datasets of each model of a run, and what is missing.

    Each gap is an accuracy or a dump that is missing or cannot be used; gaps
    are in the order of the plan. Dumps are read completely, so that damaged
    files are noticed.
    """
    plan = read_run_plan(work_dir)
    gaps = []
    for model in progress(list(plan)):
        for dataset in plan[model]:
            reason = ''
            try:
                if is_texts(dataset):
                    _, _, fingerprint = dataset.rpartition('-')
                    read_run_dump(work_dir, model, fingerprint)
                else:
                    reason = _no_accuracy(Path(work_dir), model, dataset)
            except InputError as error:
                reason = str(error)
            if reason:
                gaps.append(Gap(model, dataset, reason))
    return plan, gaps


def _no_accuracy(work_dir: Path, model: str, dataset: str) -> str:
    """Return why there is no accuracy, '' if there is one."""
    result = work_dir / 'results' / model / f'{dataset}.json'
    answers = work_dir / 'predictions' / model / dataset
    if result.exists():
        content = read_json(result, 'Remove it, and run again with -r.')
        if isinstance(content, dict) and 'error' in content:
            return f'not evaluated: {content["error"]}'
        return ''
    failure = failure_of(work_dir, model, dataset)
    reason = f': {failure}' if failure else ''
    whole = Path(f'{answers}.json')
    first_part = Path(f'{answers}_0.json')
    if whole.exists() or first_part.exists():
        return f'answers without an accuracy{reason}'
    return f'not run{reason}'


def newest_config(work_dir: FilePath) -> Optional[Path]:
    """Return the newest config in the folder of a run, or None."""
    configs = Path(work_dir, 'configs').glob('*.py')
    return max(configs, default=None)


def _variables(path: Path) -> dict[str, Any]:
    """Return the values that a config assigns to variables, by name."""
    values = {}
    code = read_bytes(path).decode('utf-8')
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    values[target.id] = _value(statement.value)
    return values


def _value(node: ast.AST) -> Any:
    """Return the value of an expression, or None if it is not a literal.

    Literals are constants, lists, tuples, dictionaries and calls of `dict`.
    Inside of them, None replaces any other expression.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return list(map(_value, node.elts))
    if isinstance(node, ast.Dict):
        values = {}
        for key, value in zip(node.keys, node.values):
            # The key is None for `**other`, which is ignored.
            if key:
                values[_value(key)] = _value(value)
        return values
    if isinstance(node, ast.Call) and ast.unparse(node.func) == 'dict':
        return {word.arg: _value(word.value) for word in node.keywords}
    return None


def _abbr(entry: Mapping[str, Any], is_model: bool = False) -> str:
    """Return the `abbr` of a model or dataset, its name in paths of files.

    If the entry has no `abbr`, it is composed as OpenCompass composes it.

    Raises:
        KeyError, TypeError, ValueError: The entry lacks a field, or the name
            is no text or leads to another folder.
    """
    if 'abbr' in entry:
        abbr = entry['abbr']
    elif is_model:
        parents = os.path.realpath(entry['path']).split('/')
        names = [entry['type'], *parents[-2:]]
        abbr = '_'.join(names).replace('/', '_')
    else:
        names = [entry['path']]
        if 'name' in entry:
            names.append(entry['name'])
        abbr = '_'.join(names).replace('/', '_')
    if not isinstance(abbr, str):
        raise TypeError(f'the abbr {abbr!r}')
    if not all(map(is_file_name, abbr.split('/'))):
        raise ValueError(f'the abbr {abbr!r}, which leads to another folder')
    return abbr
