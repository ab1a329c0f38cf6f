"""Which pretraining run is worth continuing, from token losses alone.

Example, two data mixtures of the demonstration after a third of the training:

    D=$(salience demo --where)
    salience triage --out outputs/triage \\
        --predictor "$D/predictor.safetensors" \\
        --dumps "$D/collection/[dh]-l@[123]?.safetensors" \\
        --history "$D/collection/[bc]-*.safetensors"

A place is a dump, a folder of dumps, a work directory of OpenCompass, or a
pattern of any of them. Checkpoints have names such as run@step, or are
described in a table (--checkpoints); see docs/triage.md.
"""
import argparse
import shlex
from pathlib import Path

from csv_plugin.cli.arguments import (into_folder, print_end, print_json,
                                      print_next)
from csv_plugin.cli.options import FORECASTS, add_option, add_shared, bar
from csv_plugin.io.files import file_set
from csv_plugin.io.predictors import load_predictor
from csv_plugin.report.screen import full_width
from csv_plugin.report.triage_report import as_text, write_triage
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.watching import TriageJob


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(parser, '--dumps', 'PLACE',
               'losses of the runs to judge (required)', str, None, '+')
    add_shared(parser, '--checkpoints', *FORECASTS, '--out', '--wide',
               '--json')


@into_folder
def run(args: argparse.Namespace) -> None:
    job = TriageJob(
        load_predictor(args.predictor[1]), args.dumps, args.history,
        args.checkpoints, args.budget)
    triage = job.update(bar('dumps'))
    write_and_print(args, triage)
    if not (args.json or args.history or triage.forecast_runs):
        print_next(*shlex.split(args.command), '--history',
                   'finished/*.safetensors')


def write_and_print(args: argparse.Namespace, triage: Triage) -> None:
    """Write tables and a picture to `--out`, and print a table or JSON."""
    with file_set(args.out):
        write_triage(args.out, triage)
        drawn = _drawn(triage, args.out / 'triage.png')
    if args.json:
        print_json(triage.to_dict())
        return
    print(as_text(triage, full_width(args.wide)), flush=True)
    if not drawn:
        print('\nNo picture: matplotlib is not installed.')
    print_end(args.out)


def _drawn(triage: Triage, path: Path) -> bool:
    """Whether a picture could be drawn, for which matplotlib is needed."""
    try:
        from csv_plugin.extras.pictures import save, trajectory_picture
    except ModuleNotFoundError:
        return False
    save(trajectory_picture(triage), path)
    return True
