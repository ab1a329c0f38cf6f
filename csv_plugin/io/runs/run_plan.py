"""Which models a run of OpenCompass was to evaluate, and on what."""
import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import is_file_name
from csv_plugin.io.files import FilePath, read_bytes


def read_run_plan(work_dir: FilePath) -> dict[str, list[str]]:
    """Datasets of each model of a run, from the config that it keeps.

    The file is read and not run, so OpenCompass need not be installed.

    Args:
        work_dir (FilePath): Time-stamped folder of the run. Where it was
            continued, the newest of its `configs/*.py` counts.

    Returns:
        dict[str, list[str]]: Abbreviations of datasets by that of the model.

    Raises:
        InputError: The run keeps no config, or one that cannot be read or is
            without models, datasets or abbreviations that can be parts of
            paths.
    """
    path = max(Path(work_dir, 'configs').glob('*.py'), default=None)
    if path is None:
        raise InputError(
            str(work_dir), 'a run with configs/*.py', 'none',
            'Give the time-stamped folder of a run.')
    source = read_bytes(path)
    try:
        config = _assignments(source.decode('utf-8'))
        parts = config.get('model_dataset_combinations') or [config]
        plan: dict[str, list[str]] = {}
        for part in parts:
            datasets = [_abbr(dataset) for dataset in part['datasets']]
            for model in part['models']:
                plan.setdefault(_abbr(model), []).extend(datasets)
    # The last two: expressions in each other beyond all measure.
    except (KeyError, SyntaxError, TypeError, ValueError, MemoryError,
            RecursionError) as error:
        raise InputError(
            str(path), 'models and datasets, each with its abbr',
            f'{type(error).__name__}: {error}',
            'Give the folder of a run that OpenCompass wrote.') from error
    return {model: list(dict.fromkeys(names)) for model, names in plan.items()}


def _abbr(entry: Mapping[str, Any]) -> str:
    """The name of a model or a dataset, which is part of the paths of files.

    Raises:
        TypeError: It is no text.
        ValueError: It leads to another folder.
    """
    abbr = entry['abbr']
    if not isinstance(abbr, str):
        raise TypeError(f'the abbr {abbr!r}')
    if not all(map(is_file_name, abbr.split('/'))):
        raise ValueError(f'the abbr {abbr!r}, which leads to another folder')
    return abbr


def _assignments(source: str) -> Mapping[str, Any]:
    """Values by name of a config that OpenCompass has written."""
    return {
        target.id: _value(node.value)
        for node in ast.parse(source).body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }


def _value(node: ast.AST) -> Any:
    """The value of an expression; None of what a config need not tell."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            _value(key): _value(value)
            for key, value in zip(node.keys, node.values) if key
        }
    if isinstance(node, ast.Call) and ast.unparse(node.func) == 'dict':
        return {word.arg: _value(word.value) for word in node.keywords}
    return None
