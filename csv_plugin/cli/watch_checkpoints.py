"""Predict a model while it trains, from the checkpoints that it saves.

Each prediction has a 90 % interval.

    salience watch runs/mix1 --predictor predictor.safetensors \\
        --texts texts.jsonl --out outputs/live

The folder holds checkpoint-1000, checkpoint-2000 and so on, as trainers of
Hugging Face save them. Each checkpoint is scored once, after it is written
completely. If a call is interrupted, the same call continues its work. With
--once, which a trainer can start after every save, the call ends when all
checkpoints are scored; its exit code is not 0 if there were new checkpoints
and none of them could be scored.
"""
import argparse
import glob
import math
import os
from functools import partial
from pathlib import Path

from csv_plugin.cli.arguments import into_folder, print_end
from csv_plugin.cli.options import (FORECASTS, LOADING, add_flag, add_option,
                                    add_shared, amount)
from csv_plugin.core.conventions import InputError
from csv_plugin.extras.live.trackers import tensorboard_log
from csv_plugin.report.comparison_report import conclusion
from csv_plugin.report.screen import full_width
from csv_plugin.report.triage_report import as_text
from csv_plugin.triage.result import Triage
from csv_plugin.triage.watching import watch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, 'folder', 'DIR', 'folder of the checkpoints, whose name is '
        'the name of the run (required)', Path)
    add_option(parser, '--texts', 'JSONL',
               'the validation set, such as texts.jsonl (required)')
    add_shared(parser, '--out', '--wide', *FORECASTS, *LOADING)
    add_option(
        parser, '--budget', 'STEPS', 'number of steps of the whole run, such '
        'as 2000 (default: as long as the earlier runs)', amount, math.nan)
    add_flag(
        parser, '--once', 'score the checkpoints that exist now, all of which '
        'must be complete, and end (default: look for new checkpoints until '
        'Ctrl-C)')
    add_option(
        parser, '--tensorboard', 'LOGDIR', 'folder for a TensorBoard log of '
        'predictions and forecasts (default: no log)', Path)
    add_option(
        parser, '--reference', 'RUN', 'another run to compare with: the --out '
        'folder of an earlier call, or dumps (default: none)')


@into_folder
def run(args: argparse.Namespace) -> None:
    from csv_plugin.extras.live.live_predictions import LivePredictions
    from csv_plugin.extras.live.new_checkpoints import CheckpointJob
    folder = Path(os.path.abspath(args.folder))
    logs = []
    if args.tensorboard:
        logs.append(tensorboard_log(args.tensorboard / folder.name))
    live = LivePredictions(args.predictor, args.texts, args.out, folder.name,
                           args.budget, args.history, logs, args.reference,
                           args.known)
    say = partial(print, flush=True)

    def show(triage: Triage) -> None:
        say(as_text(triage, full_width(args.wide)), end='\n\n')
        if live.comparison:
            say(
                f'B is this run. {live.comparison.notes[0]} '
                f'{conclusion(live.comparison)}',
                end='\n\n')

    # Folders with other names, such as checkpoint-best, are ignored, because
    # they are copies of the checkpoint of a step.
    job = CheckpointJob(f'{glob.escape(str(folder))}/checkpoint-*[0-9]', live,
                        say, args.tokenizer, args.trust_remote_code)
    if args.once:
        triage = job.update(saved=True)
        if triage is not None:
            show(triage)
        if job.failed:
            raise InputError(args.folder,
                             'a new checkpoint that can be scored',
                             'none, for the reasons above',
                             'Check how checkpoints are saved.')
    else:
        say(f'watching {args.folder}, Ctrl-C to stop')
        if job.waits:
            say('no checkpoint yet: waiting for the first one')
        watch(job.update, show, say, interval=60)
        say('stopped')
    if live.triage is None:
        say('Nothing is written, because no checkpoint was scored.')
        return
    options = ['--history', *args.history] if args.history else []
    if not math.isnan(args.budget):
        options += ['--budget', f'{args.budget:.15g}']
    if args.known:
        options += ['--known', args.known]
    print_end(args.out, 'salience', 'triage', '--predictor', args.predictor,
              '--dumps', live.losses, *options, '--out', 'outputs/triage')
