"""Say which accuracies and which token losses a run of OpenCompass lacks.

    salience status outputs/mine/20260101_120000

Run again with `opencompass CONFIG -r` for what it lacks; the logs are in
logs/infer and logs/eval of the run. Or say how far the models of a list are,
in the folder to which salience losses writes:

    salience status outputs/losses --models models.csv
"""
import argparse
from collections import Counter
from dataclasses import asdict
from functools import partial
from itertools import groupby
from operator import attrgetter

from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import add_json, add_work_dir, print_json
from csv_plugin.core.conventions import shortened
from csv_plugin.core.escaping import one_line
from csv_plugin.io.list_states import STATES, list_states
from csv_plugin.io.model_lists import read_model_list
from csv_plugin.io.runs.run_gaps import Gap, is_texts, run_gaps

#: Most characters of the datasets that a line lists.
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_work_dir(parser)
    parser.add_argument(
        '--models',
        metavar='LIST',
        help='WORK_DIR is --out of salience losses, this the list of\n'
        'models (default: WORK_DIR is a run of OpenCompass)')
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    if args.models:
        _print_list(args)
        return
    plan, gaps = run_gaps(args.work_dir, partial(tqdm, desc='models', delay=2))
    if args.json:
        print_json({
            'complete': not gaps,
            'models': plan,
            'lacking': [asdict(gap) for gap in gaps]
        })
        return
    print(tabulate(
        [[one_line(model), *_counts(model, names, gaps)]
         for model, names in plan.items()],
        ('model', 'accuracies', 'token losses'),
        disable_numparse=True))  # yapf: disable
    print('', *_lines(gaps), sep='\n')


def _print_list(args: argparse.Namespace) -> None:
    """How far the models of a list are: numbers, and all that are not done."""
    states = list_states(args.work_dir, list(read_model_list(args.models)),
                         partial(tqdm, desc='models', delay=2))
    counts = Counter(state.state for state in states)
    if args.json:
        print_json({
            'complete': counts['done'] == len(states),
            'models': [asdict(state) for state in states]
        })
        return
    print(
        tabulate([[name, counts[name]] for name in STATES],
                 ('state', 'models')))
    key = attrgetter('state', 'reason')
    left = sorted((s for s in states if s.state != 'done'), key=key)
    for (state, reason), alike in groupby(left, key):
        names = ', '.join(each.model for each in alike)
        line = f'{state}: {shortened(names, _WIDTH)}'
        print(one_line(f'{line}: {reason}' if reason else line))


def _counts(model: str, names: list[str], gaps: list[Gap]) -> list[str]:
    """How many accuracies and dumps of how many there are."""
    cells = []
    for texts in (False, True):
        planned = sum(is_texts(name) == texts for name in names)
        lacking = sum(gap.model == model and gap.texts == texts
                      for gap in gaps)
        cells.append(f'{planned - lacking} of {planned}' if planned else '-')
    return cells


def _lines(gaps: list[Gap]) -> list[str]:
    """Gaps of a model with the same reason in one line."""
    if not gaps:
        return ['Nothing is lacking.']
    lines = []
    key = lambda gap: (gap.model, gap.texts, gap.reason)  # noqa: E731
    for (model, _, reason), alike in groupby(sorted(gaps, key=key), key):
        names = ', '.join(gap.dataset for gap in alike)
        lines.append(
            one_line(f'{model}: {shortened(names, _WIDTH)}: '
                     f'{reason}'))
    return lines
