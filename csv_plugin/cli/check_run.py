"""Say which accuracies and token losses are missing in a run of OpenCompass.

    salience status outputs/mine/20260101_120000

To run what is missing, use `opencompass CONFIG -r`. The logs are in the
folders logs/infer and logs/eval of the run.
"""
import argparse
from itertools import groupby
from operator import attrgetter

from csv_plugin.cli.arguments import print_next
from csv_plugin.cli.options import add_shared, bar
from csv_plugin.core.formatting import shortened
from csv_plugin.core.text_tables import text_table, wrapped
from csv_plugin.io.runs.run_plan import Gap, is_texts, newest_config, run_gaps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, 'work_dir')


def run(args: argparse.Namespace) -> None:
    plan, gaps = run_gaps(args.work_dir, bar('models'))
    rows = [['model', 'accuracies', 'token losses']]
    for model, names in plan.items():
        rows.append([model, *_counts(model, names, gaps)])
    print(text_table(rows), '', wrapped(_lines(gaps)), sep='\n')
    if gaps:
        folder = args.work_dir.resolve()
        config = newest_config(args.work_dir)
        assert config
        print_next('opencompass', config, '-r', folder.name, '--work-dir',
                   folder.parent)
    elif len(plan) > 1:  # No predictor can be fitted to a single model.
        print_next('salience', 'fit', '--help')


def _counts(model: str, names: list[str], gaps: list[Gap]) -> list[str]:
    """Return how many accuracies and dumps a model has, as two cells.

    A cell is, for example, '3 of 4', or '-' if the run has no benchmark or no
    validation set.
    """
    # Both dictionaries count validation sets at True, benchmarks at False.
    planned = {False: 0, True: 0}
    missing = {False: 0, True: 0}
    for name in names:
        planned[is_texts(name)] += 1
    for gap in gaps:
        if gap.model == model:
            missing[is_texts(gap.dataset)] += 1
    cells = []
    for kind, n_planned in planned.items():
        cell = '-'
        if n_planned:
            n_present = n_planned - missing[kind]
            cell = f'{n_present} of {n_planned}'
        cells.append(cell)
    return cells


def _lines(gaps: list[Gap]) -> list[str]:
    """Return a line for each model and reason that says what is missing."""
    if not gaps:
        return ['Nothing is missing.']
    lines = []
    key = attrgetter('model', 'reason')
    for (model, reason), alike in groupby(sorted(gaps, key=key), key):
        names = ', '.join(gap.dataset for gap in alike)
        lines.append(f'{model}: {shortened(names, 100)}: {reason}')
    return lines
