"""Make one HTML page of an OpenCompass run with predictions.

Example (the folder of a run, the texts and predictors of its summary):

    salience report outputs/csv/20260101_120000 \\
        --predictor predictor.safetensors --texts texts.jsonl

The page loads nothing from elsewhere and can be sent as it is.
"""
import argparse
from dataclasses import replace
from pathlib import Path

from csv_plugin.cli.arguments import print_end, print_warnings
from csv_plugin.cli.options import add_option, add_shared, bar, predictor_file
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import OBSERVED, UNKNOWN_BENCHMARK
from csv_plugin.io.files import check_target
from csv_plugin.report.notes import reasons

#: What a training writes beside its predictor.
_REPORT = 'report.md'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, 'work_dir')
    add_option(
        parser,
        '--predictor',
        '[LABEL=]FILE',
        'predictor of token losses; again for more of them, the main one '
        'first (required)',
        predictor_file,
        action='append')
    add_option(
        parser, '--models', 'CSV', 'families of models, as in training '
        '(default: each model is one of its own)')
    add_option(
        parser, '--texts', 'JSONL', 'validation set of the first predictor, '
        'to show its tokens (default: no tokens)')
    add_option(parser, '--out', 'HTML',
               'the page (default WORK_DIR/report.html)', Path)


def _check_is_run(folder: Path) -> None:
    """Refuse the outputs of `salience fit` and `salience train`."""
    if (folder / _REPORT).is_file() and not (folder / 'predictions').exists():
        raise InputError(
            folder, 'a run of OpenCompass, with predictions and a summary',
            'the outputs of a training',
            f'Its report is {_REPORT} there. For a page, give the '
            'time-stamped folder of a run whose datasets have the texts of '
            'the predictor.')


def run(args: argparse.Namespace) -> None:
    # matplotlib and jinja2 take longer than all else that starts the command.
    from csv_plugin.extras.page.rendering import write_page
    from csv_plugin.extras.page.run_pages import run_page
    _check_is_run(args.work_dir)
    out = args.out or args.work_dir / 'report.html'
    # A path that is not a run gets its own error below.
    if args.out or out.parent.is_dir():
        check_target(out)
    page = run_page(
        args.work_dir,
        args.predictor,
        models=args.models,
        texts=args.texts,
        progress=bar('models'))
    if args.models:
        lines = []
        for model, folder in page.board.folders.items():
            if model not in page.families and folder not in page.families:
                lines.append(f'{model} has no family in {args.models} and is '
                             'one of its own')
        print_warnings(lines)
    # Why models have no prediction on benchmarks of the predictors.
    predictions = page.board.predictions
    missing = {}
    for cell, reason in predictions.missing.items():
        if cell[2] != OBSERVED and reason != UNKNOWN_BENCHMARK:
            missing[cell] = reason
    print_warnings([*reasons(replace(predictions, missing=missing))])
    write_page(out, page)
    print_end(out, 'python', '-m', 'webbrowser', out)
