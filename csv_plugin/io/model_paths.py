"""Files and folders of models: names, checkpoints, and marks of weights."""
import glob
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.core.formatting import shortened
from csv_plugin.io.checkpoint_names import read_revision
from csv_plugin.io.files import FilePath, check_file_names

#: Files with weights, and the one that says how they are used.
_WEIGHTS = '*.safetensors', '*.bin', 'config.json'
#: Names of which a folder with a tokenizer has one.
_TOKENIZERS = 'tok*', 'vocab*', '*.model', '*.tiktoken', 'tekken*'

#: Remedy for two paths that end alike.
_NAME_THEM = ('Rename one. `salience import` takes NAME=PATH, and Python a '
              'mapping of paths.')


def paths_by_model(
    paths: Mapping[str, FilePath] | Iterable[FilePath]
) -> dict[str, Path]:  # yapf: disable
    """Return files and folders by the models that they are named after.

    A mapping has the names to call them. An `InputError` if two have one name,
    or there is a path in place of several.
    """
    check_list('paths of losses', paths)
    if isinstance(paths, Mapping):
        return {model: Path(path) for model, path in paths.items()}
    files = list(map(Path, paths))
    models = list(map(_model_name, files))
    check_unique('names of models', models, _NAME_THEM)
    return dict(zip(models, files))


def named_path(text: str) -> tuple[str, str]:
    """Return name and path of NAME=PATH; the name is empty in a mere path.

    An equals sign behind a slash belongs to the path.

    >>> named_path('m=/tmp/lr=0.1/final'), named_path('/tmp/lr=0.1/final')
    (('m', '/tmp/lr=0.1/final'), ('', '/tmp/lr=0.1/final'))
    """
    name, sign, path = text.partition('=')
    return (name, path) if sign and '/' not in name else ('', text)


def _model_name(path: Path) -> str:
    """Return the name of a file without suffix, or that of a folder."""
    known = ('.json', '.jsonl', '.csv', '.safetensors')
    return path.stem if path.suffix in known else path.name


def checkpoint_folders(pattern: str, levels: int = 1) -> dict[str, Path]:
    """Find checkpoints by a pattern such as `runs/*/checkpoint-*`.

    Absolute paths by `run@step`, sorted by both. Names of folders, such as
    `step1000`, `1000` or `iter_0001000`, are read by `read_revision`; one that
    states more than a step, such as tokens, is kept. The run is named after
    so many `levels` of folders above, joined by hyphens.
    """
    absolute = os.path.abspath(pattern)
    folders = list(filter(os.path.isdir, glob.glob(absolute)))
    if not folders:
        names = []
        for path in Path(absolute).parent.glob('*'):
            if path.is_dir():
                names.append(path.name)
        found = 'none'
        if names:
            found = shortened(f'only {", ".join(sorted(names))}', 100)
        raise InputError(f'checkpoints {pattern!r}', 'a folder that matches',
                         found,
                         'Names tell the step, such as checkpoint-1000.')
    checkpoints: dict[tuple[str, int, str], Path] = {}
    for path in sorted(map(Path, folders)):
        revision = read_revision(path.name)
        above = path.parent.parts[1:][-levels:]
        if revision is None or len(above) < levels:
            raise InputError(
                f'checkpoint {str(path)!r}',
                f'a name that tells the step, below {levels} folders',
                repr(path.name), 'Narrow the pattern, such as '
                'runs/*/checkpoint-*, or rename the folder.')
        run = '-'.join(above)
        check_file_names('run', [run], 'Rename the folder of the run.')
        name = str(revision.step) if revision.is_step_alone else path.name
        earlier = checkpoints.setdefault((run, revision.step, name), path)
        if earlier != path:
            raise InputError(
                f'checkpoint {run}@{name}', 'a single folder',
                f'{str(earlier)!r} and {str(path)!r}',
                'Narrow the pattern, or name runs by more folders: levels=2.')
    by_name = {}
    for (run, _, name), path in sorted(checkpoints.items()):
        by_name[f'{run}@{name}'] = path
    return by_name


def weights_mark(path: FilePath) -> str:
    """Return a short text that changes with the files of a model's weights.

    It is empty if there are none, such as for a name on the hub.
    """
    root = Path(path)
    files = []
    if root.is_file():
        files.append(root)
    else:
        for pattern in _WEIGHTS:
            files += root.glob(pattern)
    stamps = []
    for file in sorted(files):
        stat = file.stat()
        stamps.append((file.name, stat.st_size, stat.st_mtime_ns))
    mark = hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]
    return mark if stamps else ''


def check_tokenizers(models: Iterable[FilePath]) -> None:
    """Raise an `InputError` for folders with a config, but no tokenizer."""
    others = []
    without = []
    for path in map(Path, models):
        if not (path / 'config.json').is_file():
            continue
        found: list[Path] = []
        for pattern in _TOKENIZERS:
            found += path.glob(pattern)
        if found:
            others.append(path)
        else:
            without.append(path)
    if without:
        example = f', such as {others[-1]}' if others else ''
        raise InputError('models', 'a tokenizer in each folder',
                         f'none in {", ".join(map(str, without))}',
                         f'Name one for all models by --tokenizer{example}.')
