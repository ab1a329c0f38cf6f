"""Make one HTML page of an OpenCompass run with predictions.

Example (the folder of a run, the texts and predictors of its summary):

    python tools/render_report.py outputs/csv/20260101_120000 \\
        --predictor predicted=predictor.safetensors --texts texts.jsonl

Without --predictor the page shows what the run's leaderboard says. The page
loads nothing from elsewhere and can be sent as it is.
"""
import argparse
import sys
from functools import partial
from pathlib import Path

from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.io.files import check_target
from csv_plugin.report.page.characters import visible
from csv_plugin.report.page.rendering import write_page
from csv_plugin.report.page.run_pages import read_run


def labelled(text):
    label, found, path = text.partition('=')
    if not (label and found and path):
        raise argparse.ArgumentTypeError(
            f'expected LABEL=FILE, found {text!r}')
    return label, path


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        'work_dir',
        metavar='WORK_DIR',
        type=Path,
        help='time-stamped folder of the run')
    parser.add_argument(
        '--predictor',
        action='append',
        default=[],
        type=labelled,
        metavar='LABEL=FILE',
        help='predict anew from the dumps of the run, the main\n'
        'predictor first')
    parser.add_argument(
        '--scores',
        metavar='CSV',
        help='real scores in place of those of the run;\nneeds --predictor')
    parser.add_argument(
        '--models', metavar='CSV', help='families of models, as in training')
    parser.add_argument(
        '--texts',
        metavar='JSONL',
        help='validation set of the first predictor, to show its\n'
        'tokens; needs --predictor')
    parser.add_argument(
        '--out',
        metavar='HTML',
        type=Path,
        help='the page (default WORK_DIR/report.html)')
    args = parser.parse_args(argv)
    for option in ('scores', 'texts'):
        if getattr(args, option) and not args.predictor:
            parser.error(f'--{option} needs --predictor')
    return args


def run(args):
    if args.out:
        check_target(args.out)
    page = read_run(
        args.work_dir,
        args.predictor,
        scores=args.scores,
        models=args.models,
        texts=args.texts,
        progress=partial(tqdm, desc='models', delay=2))
    out = args.out or args.work_dir / 'report.html'
    write_page(out, page)
    print(f'Written to {visible(str(out))}')


def main(argv=None):
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
