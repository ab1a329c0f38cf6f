"""Copy configs that come with the package, to run or to change them."""
from collections.abc import Sequence
from pathlib import Path

from csv_plugin import configs
from csv_plugin.cli.arguments import print_next
from csv_plugin.core.conventions import InputError, check_choice
from csv_plugin.io.files import file_set, read_bytes, write_text
from csv_plugin.report.screen import shown_path

#: The folder of the files that configs import.
PARTS = Path(configs.__path__[0]).resolve()
#: The folder of the configs themselves.
RUNS = PARTS / 'runs'


def copy_configs(names: Sequence[str], folder: Path) -> None:
    """Copy the configs with these names, and print where the copies are.

    The names are without `.py`. Without names, all configs are copied.

    Raises:
        InputError: A name is unknown, or the folder has a file of the same
            name with other content.
    """
    texts = {path.stem: path.read_text('utf-8') for path in RUNS.glob('*.py')}
    names = names or sorted(texts)
    targets = {}
    for name in names:
        check_choice('names of configs', name, sorted(texts),
                     'Leave the names out to copy all.')
        targets[name] = folder / f'{name}.py'
    for name, target in targets.items():
        if target.exists() and read_bytes(target) != texts[name].encode():
            raise InputError(
                target, 'no file, or an unchanged copy', 'another file',
                'Rename it, or choose another folder with --out.')
    with file_set(folder):
        for name, target in targets.items():
            write_text(target, texts[name])
    print('Written:', *map(shown_path, targets.values()), sep='\n')
    print_next('opencompass', targets[names[0]])
