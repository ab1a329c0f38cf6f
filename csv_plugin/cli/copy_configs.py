"""Copy the configs that come with the package, to run or to change them.

    salience configs
    salience configs eval_csv_real --out my_configs

Run a copy by `opencompass eval_csv_real.py`. The parts that configs are made
of can be named where OpenCompass is called without one:

    opencompass --models tidewell_zoo --datasets tidewell_exams \\
        salience_texts --summarizer predicted \\
        --config-dir "$(salience configs --where)"
"""
import argparse
from pathlib import Path

from csv_plugin import configs
from csv_plugin.cli.arguments import into_folder, print_next
from csv_plugin.cli.options import add_flag, add_option
from csv_plugin.core.conventions import InputError, check_choice
from csv_plugin.io.files import file_set, read_bytes, write_text
from csv_plugin.report.screen import shown_path

#: Folder of the parts, and in it the folder of whole configs.
PARTS = Path(configs.__path__[0]).resolve()
RUNS = PARTS / 'runs'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(parser, 'names', 'NAME',
               'names of configs, without .py (default: all)', str, None, '*')
    add_option(parser, '--out', 'DIR',
               'folder to copy them to (default: the present one)', Path,
               Path())
    add_flag(
        parser, '--where', 'print the folder for the option --config-dir of '
        'OpenCompass, and copy nothing (default: copy)')


def run(args: argparse.Namespace) -> None:
    if args.where:
        print(PARTS)
        return
    into_folder(_copy)(args)


def _copy(args: argparse.Namespace) -> None:
    texts = {path.stem: path.read_text('utf-8') for path in RUNS.glob('*.py')}
    names = args.names or sorted(texts)
    for name in names:
        check_choice('names of configs', name, sorted(texts),
                     'Leave the names out to copy all.')
    targets = {name: args.out / f'{name}.py' for name in names}
    for name, target in targets.items():
        if target.exists() and read_bytes(target) != texts[name].encode():
            raise InputError(
                target, 'no file, or the same', 'another one',
                'Rename it, or choose another folder with --out.')
    with file_set(args.out):
        for name, target in targets.items():
            write_text(target, texts[name])
    print('Written:', *map(shown_path, targets.values()), sep='\n')
    print_next('opencompass', next(iter(targets.values())))
