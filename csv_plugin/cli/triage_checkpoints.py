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
from functools import partial

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_json, add_out, add_several, add_wide,
                                      into_folder, print_end, print_json,
                                      save_picture)
from csv_plugin.cli.table_arguments import add_checkpoints, add_forecasts
from csv_plugin.io.files import file_set
from csv_plugin.io.predictors import load_predictor
from csv_plugin.report.screen import full_width
from csv_plugin.report.triage_report import as_text, write_triage
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.watching import TriageJob


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_several(
        parser,
        '--dumps',
        'PLACE',
        'losses of the runs to judge (required)',
        required=True)
    add_checkpoints(parser)
    add_forecasts(parser, 'tokens or steps')
    add_out(parser, 'the tables and the picture')
    add_wide(parser)
    add_json(parser)


@into_folder
def run(args: argparse.Namespace) -> None:
    job = TriageJob(
        load_predictor(args.predictor[1]), args.dumps, args.history,
        args.checkpoints, args.budget)
    triage = job.update(partial(tqdm, desc='dumps'))
    write_and_print(args, triage)
    if args.json:
        return
    again: tuple[str, ...] = ()
    if not (args.history or triage.forecast_runs):
        again = (*shlex.split(args.command), '--history',
                 'finished/*.safetensors')
    print_end([args.out], *again)


def write_and_print(args: argparse.Namespace, triage: Triage) -> None:
    """Write tables and a picture to `--out`, and print a table or JSON."""
    with file_set():
        write_triage(args.out, triage)
        note = save_picture('trajectory_picture', triage,
                            args.out / 'triage.png')
    if args.json:
        print_json(triage.to_dict())
        return
    print(as_text(triage, full_width(args.wide)), *note, sep='\n\n',
          flush=True)  # yapf: disable
