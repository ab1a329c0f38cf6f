"""Find files and folders of models, and the names to call the models."""
import glob
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.core.formatting import shortened
from csv_plugin.io.checkpoint_names import read_revision
from csv_plugin.io.files import FilePath, check_file_names

#: Patterns of files with weights and of the config of a model.
_WEIGHTS = '*.safetensors', '*.bin', 'config.json'
#: Patterns of files of tokenizers. A folder with a tokenizer has at least one
#: such file.
_TOKENIZERS = 'tok*', 'vocab*', '*.model', '*.tiktoken', 'tekken*'

#: Remedy for two paths that give the same name.
_NAME_THEM = ('Rename one. `salience import` takes NAME=PATH, and Python a '
              'mapping of paths.')


def paths_by_model(
    paths: Mapping[str, FilePath] | Iterable[FilePath]
) -> dict[str, Path]:  # yapf: disable
    """Return the file or folder of each model, by the model's name.

    If `paths` is a mapping, its keys are the names. Otherwise a model has the
    name of its folder, or of its file without the suffix.

    Raises:
        InputError: Two paths have the same name, or `paths` is a single path.
    """
    check_list('paths of losses', paths)
    if isinstance(paths, Mapping):
        return {model: Path(path) for model, path in paths.items()}
    files = list(map(Path, paths))
    models = list(map(_model_name, files))
    check_unique('names of models', models, _NAME_THEM)
    return dict(zip(models, files))


def named_path(text: str) -> tuple[str, str]:
    """Split NAME=PATH into name and path; without NAME=, the name is empty.

    An equals sign after a slash belongs to the path.

    >>> named_path('m=/tmp/lr=0.1/final'), named_path('/tmp/lr=0.1/final')
    (('m', '/tmp/lr=0.1/final'), ('', '/tmp/lr=0.1/final'))
    """
    name, sign, path = text.partition('=')
    if sign and '/' not in name:
        return name, path
    return '', text


def _model_name(path: Path) -> str:
    """Return the name of a folder, or of a file without its known suffix."""
    known = ('.json', '.jsonl', '.csv', '.safetensors')
    return path.stem if path.suffix in known else path.name


def checkpoint_folders(pattern: str, levels: int = 1) -> dict[str, Path]:
    """Find the folders of checkpoints by a pattern, `runs/*/checkpoint-*`.

    Return absolute paths by names `run@step`, sorted by run and step.
    `read_revision` reads the step from the name of the folder, such as
    `step1000`, `1000` or `iter_0001000`. If this name states more than a step,
    such as tokens, the whole name replaces the step. The name of the run
    consists of the names of the innermost parent folders, as many as `levels`,
    joined by hyphens.

    Raises:
        InputError: No folder matches, the name of a folder states no step, or
            two folders give the same name.
    """
    absolute = os.path.abspath(pattern)
    folders = list(filter(os.path.isdir, glob.glob(absolute)))
    if not folders:
        parent = Path(absolute).parent
        names = []
        for path in parent.glob('*'):
            if path.is_dir():
                names.append(path.name)
        found = 'none'
        if not (glob.has_magic(str(parent)) or parent.exists()):
            found = f"no folder '{parent}'"
        if names:
            found = shortened(f'only {", ".join(sorted(names))}', 100)
        raise InputError(
            f'checkpoints {pattern!r}', 'a folder that matches', found,
            'Correct the pattern. Folders are named after their '
            'steps, such as checkpoint-1000.')
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
    """Return a fingerprint of names, sizes and times of a model's files.

    It is an empty string if there are no files with weights, as for a name on
    the hub.
    """
    root = Path(path)
    files = []
    if root.is_file():
        files.append(root)
    else:
        for pattern in _WEIGHTS:
            files += root.glob(pattern)
    if not files:
        return ''
    stamps = []
    for file in sorted(files):
        stat = file.stat()
        stamps.append((file.name, stat.st_size, stat.st_mtime_ns))
    digest = hashlib.sha256(repr(stamps).encode())
    return digest.hexdigest()[:16]


def check_tokenizers(models: Iterable[FilePath]) -> None:
    """Raise an `InputError` if a model's folder has no tokenizer.

    Only folders with a `config.json` are checked.
    """
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
        raise InputError(
            'models', 'a tokenizer in each folder',
            f'none in {", ".join(map(str, without))}',
            'Name a tokenizer for all models by '
            f'--tokenizer{example}.')
