"""Where pretraining runs will end, from tables of their losses so far.

Example (tables as docs/formats.md describes them; checkpoints have names such
as run@step, or are described in a table):

    salience forecast --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --fit train --predict test --out outputs/forecast

The runs of --fit are finished: a predictor is fitted to their checkpoints,
and they are the history of those of --predict, which are judged as by
`salience triage`.
"""
import argparse

from csv_plugin.cli.arguments import (add_json, add_out, add_wide,
                                      check_splits, into_folder, print_end)
from csv_plugin.cli.table_arguments import (add_checkpoints,
                                            add_fit_and_predict, add_tables,
                                            checkpoints_of, fit_bars)
from csv_plugin.cli.triage_checkpoints import write_and_print
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.io.model_tables import read_model_tables
from csv_plugin.triage.judging import judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_checkpoints(parser)
    add_fit_and_predict(parser)
    add_out(parser, 'the tables and the picture')
    add_wide(parser)
    add_json(parser)


@into_folder
def run(args: argparse.Namespace) -> None:
    check_splits(args, 'Take it out of one.')
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    checkpoints = checkpoints_of(args, tables.features.models)
    new, past = ({
        model: checkpoints[model]
        for model in models
    } for models in (tables.models_in(*args.predict),
                     tables.models_to_fit(args.fit, args.predict)))
    predictor = fit_predictor(
        tables.features,
        tables.accuracies.select(tuple(past), tables.accuracies.main),
        [checkpoint.run for checkpoint in past.values()],
        SOLVERS[DEFAULT_SOLVER],
        progress=fit_bars())
    write_and_print(args, judge(predictor, tables.features, new, past))
    if not args.json:
        print_end([args.out])
