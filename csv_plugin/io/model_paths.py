"""Files and folders that are named after the models whose losses they hold."""
from collections.abc import Iterable, Mapping
from pathlib import Path

from csv_plugin.core.conventions import check_list, check_unique
from csv_plugin.io.files import FilePath


def paths_by_model(
    paths: Mapping[str, FilePath] | Iterable[FilePath]
) -> dict[str, Path]:  # yapf: disable
    """Files and folders by the models that they are named after.

    Args:
        paths (Mapping | Iterable): File or folder of each model, by the name
            to call it, or those that are named after their models.

    >>> paths_by_model(['out/pythia-1.4b', 'out/mine.jsonl'])
    {'pythia-1.4b': PosixPath('out/pythia-1.4b'), \
'mine': PosixPath('out/mine.jsonl')}

    Raises:
        InputError: Two have one name, or there is a path in place of
            several.
    """
    check_list('paths of losses', paths)
    if isinstance(paths, Mapping):
        return {model: Path(path) for model, path in paths.items()}
    named = [(_model_name(Path(path)), Path(path)) for path in paths]
    check_unique('names of losses', [model for model, _ in named])
    return dict(named)


def split_name(text: str) -> tuple[str, str]:
    """The name and the path in NAME=PATH; the name is empty in a mere path.

    An equals sign behind a slash belongs to the path.

    >>> split_name('m=/tmp/lr=0.1/final'), split_name('/tmp/lr=0.1/final')
    (('m', '/tmp/lr=0.1/final'), ('', '/tmp/lr=0.1/final'))
    """
    name, sign, path = text.partition('=')
    return (name, path) if sign and '/' not in name else ('', text)


def name_and_path(text: str) -> tuple[str, str]:
    """A model's name and path in NAME=PATH, or in a path that ends with it.

    >>> name_and_path('mine=my/model'), name_and_path('my/model/')
    (('mine', 'my/model'), ('model', 'my/model/'))
    """
    name, path = split_name(text)
    return name or Path(path).name, path


def _model_name(path: Path) -> str:
    """Without the suffix of a file; a folder's name may have dots."""
    known = ('.jsonl', '.csv', '.safetensors')
    return path.stem if path.suffix in known else path.name
