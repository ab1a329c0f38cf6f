"""Say which accuracies and which token losses a run of OpenCompass lacks.

    salience status outputs/mine/20260101_120000

Run again with `opencompass CONFIG -r` for what it lacks; the logs are in
logs/infer and logs/eval of the run.
"""
import argparse
from dataclasses import asdict
from functools import partial
from itertools import groupby

from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import add_json, add_work_dir, print_json
from csv_plugin.core.conventions import shortened
from csv_plugin.core.escaping import one_line
from csv_plugin.io.runs.run_gaps import Gap, is_texts, run_gaps

#: Most characters of the datasets that a line lists.
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_work_dir(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> None:
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
