"""Say which accuracies and token losses are missing in a run of OpenCompass.

    salience status outputs/mine/20260101_120000

Run again with `opencompass CONFIG -r` for what is missing; the logs are in
logs/infer and logs/eval of the run. Or say which models of a list have no
dump in the folder to which salience losses writes:

    salience status outputs/losses --list models.txt
"""
import argparse
from dataclasses import asdict
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_json, add_option, add_work_dir,
                                      print_end, print_json)
from csv_plugin.core.formatting import shortened
from csv_plugin.io.files import check_is_folder, read_text
from csv_plugin.io.model_paths import name_and_path
from csv_plugin.io.runs.run_plan import Gap, is_texts, run_gaps
from csv_plugin.report.screen import text_table, wrapped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_work_dir(parser)
    add_option(
        parser, '--list', 'FILE', 'WORK_DIR is --out of salience losses, this '
        'a file with a MODEL as there in each line (default: WORK_DIR is a '
        'run of OpenCompass)')
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    if args.list:
        _print_list(args)
        return
    plan, gaps = run_gaps(args.work_dir, partial(tqdm, desc='models', delay=2))
    if args.json:
        print_json({
            'complete': not gaps,
            'models': plan,
            'missing': [asdict(gap) for gap in gaps]
        })
        return
    rows = [['model', 'accuracies', 'token losses']]
    rows += [[model, *_counts(model, names, gaps)]
             for model, names in plan.items()]
    print(text_table(rows), '', wrapped(_lines(gaps)), sep='\n')
    if gaps:
        folder = args.work_dir.resolve()
        print_end((), 'opencompass', 'CONFIG', '-r', folder.name, '--work-dir',
                  folder.parent)
    else:
        print_end((), 'salience', 'report', args.work_dir, '--predictor',
                  'predictor.safetensors')


def _print_list(args: argparse.Namespace) -> None:
    """Print which models of a list have a dump, by the names of the files."""
    check_is_folder(args.work_dir, 'dumps')
    lines = [*filter(None, map(str.strip, read_text(args.list).splitlines()))]
    names = [name_and_path(line)[0] for line in lines]
    missing = [
        name for name in names
        if not Path(args.work_dir, f'{name}.safetensors').is_file()
    ]
    if args.json:
        print_json({
            'complete': not missing,
            'models': names,
            'missing': missing
        })
        return
    print(f'{len(names) - len(missing)} of {len(names)} models have a dump.')
    if missing:
        print(wrapped([f'Without one: {shortened(", ".join(missing), 1000)}']))
        print_end(
            (), 'salience', 'losses',
            *(line for line in lines if name_and_path(line)[0] in missing),
            '--texts', 'texts.jsonl', '--out', args.work_dir)
    else:
        print_end((), 'salience', 'predict', args.work_dir, '--predictor',
                  'predictor.safetensors')


def _counts(model: str, names: list[str], gaps: list[Gap]) -> list[str]:
    """How many accuracies and dumps of how many there are."""
    cells = []
    for texts in (False, True):
        planned = sum(is_texts(name) == texts for name in names)
        missing = sum(gap.model == model and gap.texts == texts
                      for gap in gaps)
        cells.append(f'{planned - missing} of {planned}' if planned else '-')
    return cells


def _lines(gaps: list[Gap]) -> list[str]:
    """Gaps of a model with the same reason in one note."""
    if not gaps:
        return ['Nothing is missing.']
    lines = []
    key = attrgetter('model', 'texts', 'reason')
    for (model, _, reason), alike in groupby(sorted(gaps, key=key), key):
        names = ', '.join(gap.dataset for gap in alike)
        lines.append(f'{model}: {shortened(names, 100)}: {reason}')
    return lines
