"""Which models a run of OpenCompass was to evaluate, and on what."""
import ast
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import is_file_name
from csv_plugin.io.files import FilePath, read_bytes

#: A slice that ends at a place counted from the start.
_SLICE = re.compile(r'\[(\d*):(\d+)(?::([1-9]\d*))?\]')


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
    path = _newest_config(work_dir)
    if path is None:
        raise InputError(
            str(work_dir), 'a run with configs/*.py', 'none',
            'Give the time-stamped folder of a run.')
    plan: dict[str, list[str]] = {}
    with _written_by_opencompass(path):
        for part in _parts(path):
            datasets = [_abbr(dataset) for dataset in part['datasets']]
            for model in part['models']:
                plan.setdefault(_abbr(model, True), []).extend(datasets)
    return {model: list(dict.fromkeys(names)) for model, names in plan.items()}


def read_most_items(work_dir: FilePath) -> dict[str, int]:
    """How many items a run takes of the datasets that it cuts short.

    Args:
        work_dir (FilePath): As in `read_run_plan`.

    Returns:
        dict[str, int]: The most items, by abbreviation of a dataset whose
        `test_range` says it; nothing where the run keeps no config.

    Raises:
        InputError: The config cannot be read.
    """
    path = _newest_config(work_dir)
    most: dict[str, int] = {}
    if path is not None:
        with _written_by_opencompass(path):
            for part in _parts(path):
                for dataset in part['datasets']:
                    cut = (dataset.get('reader_cfg') or {}).get('test_range')
                    items = _most_items(cut)
                    if items is not None:
                        most[_abbr(dataset)] = items
    return most


def _most_items(test_range: Any) -> Optional[int]:
    """Of a range as OpenCompass reads it; None where it does not tell.

    >>> _most_items('[5:20:2]'), _most_items(100), _most_items('[100:]')
    (8, 100, None)
    """
    if isinstance(test_range, int) and test_range >= 1:
        return test_range
    match = _SLICE.fullmatch(test_range) if isinstance(test_range,
                                                       str) else None
    if match is None:
        return None
    first, end, step = match.groups()
    return len(range(int(first or 0), int(end), int(step or 1)))


def _newest_config(work_dir: FilePath) -> Optional[Path]:
    return max(Path(work_dir, 'configs').glob('*.py'), default=None)


def _parts(path: Path) -> list[Any]:
    """The combinations of models and datasets in a config."""
    config = _assignments(read_bytes(path).decode('utf-8'))
    return config.get('model_dataset_combinations') or [config]


@contextmanager
def _written_by_opencompass(path: Path) -> Iterator[None]:
    """Refuse a config whose parts are not what OpenCompass writes."""
    try:
        yield
    # The last two: expressions in each other beyond all measure.
    except (AttributeError, KeyError, SyntaxError, TypeError, ValueError,
            MemoryError, RecursionError) as error:
        raise InputError(
            str(path), 'models and datasets, each with its abbr or path',
            f'{type(error).__name__}: {error}',
            'Give the folder of a run that OpenCompass wrote.') from error


def _abbr(entry: Mapping[str, Any], is_model: bool = False) -> str:
    """The name of a model or a dataset, which is part of the paths of files.

    Without an `abbr`, it is the one that OpenCompass makes of the entry.

    Raises:
        KeyError: There is nothing to make it of.
        TypeError: It is no text.
        ValueError: It leads to another folder.
    """
    if 'abbr' in entry:
        abbr = entry['abbr']
    elif is_model:
        path = os.path.realpath(entry['path']).split('/')[-2:]
        abbr = '_'.join([entry['type'], *path]).replace('/', '_')
    else:
        names = [entry['path'], *([entry['name']] if 'name' in entry else [])]
        abbr = '_'.join(names).replace('/', '_')
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
