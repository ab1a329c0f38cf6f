"""Decide between two models, checkpoints or recipes.

    salience compare old.safetensors new.safetensors \\
        --predictor predictor.safetensors
    salience compare old1 old2 old3 --against new1 new2 new3 \\
        --accuracies scores.csv

A and B are dumps (files of token losses), folders with one dump, or runs of
OpenCompass with one model. PLACE:MODEL names one of several models in a
folder, a run or a table of losses. With --accuracies, A and B may be names of
models in the table. Several runs of A, or of B, differ only in their seed.

The exit code is 0 if B is better, 3 if B is worse, 4 if there is no difference
beyond noise, and 5 if these data cannot tell. docs/decisions.md has a loop
that keeps or reverts changes by this exit code.
"""
import argparse
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache, partial
from glob import glob
from itertools import permutations, zip_longest
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.cli.arguments import metrics_by_task, print_json, refuse
from csv_plugin.cli.options import add_flag, add_option, add_shared, positive
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import MARGIN, Answers, RunLosses, compare
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import shortened
from csv_plugin.core.measured import ALIKE, check_measured
from csv_plugin.core.noise import BETTER, LOSS, SAME, UNCLEAR, WORSE
from csv_plugin.core.predictions import WHY_NOT_YET
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.files import NOT_THERE
from csv_plugin.io.model_tables import (measured_losses, read_accuracy_columns,
                                        read_loss_features, read_scores_alone)
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import find_dumps
from csv_plugin.io.tables import check_names_in, read_benchmarks
from csv_plugin.report.comparison_report import as_line, as_text
from csv_plugin.report.notes import learning_notes
from csv_plugin.report.screen import full_width

#: Exit code of each verdict on B. The codes 1 and 2 mean errors.
EXIT_CODES = {BETTER: 0, WORSE: 3, SAME: 4, UNCLEAR: 5}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, 'places', 'PLACE',
        'losses of A and of B; with --against, losses of the runs of A '
        '(PLACE or --answers is required)', str, None, '*')
    add_option(parser, '--against', 'PLACE',
               'losses of the runs of B (default: the second PLACE)', str, (),
               '+')
    add_option(
        parser, '--predictor', 'FILE', 'file of a predictor, which predicts '
        'the difference of accuracies (default: the losses alone are '
        'compared)')
    add_option(
        parser, '--answers', 'PLACE', 'grades of A and of B by item, A first: '
        'outputs of lm-evaluation-harness with samples, or TABLE:MODEL, a '
        'table with the column model and one column of grades, 0 or 1, for '
        'each BENCHMARK/ITEM (default: none)', str, (), '+')
    add_option(
        parser, '--accuracies', 'SCORES', 'table of observed accuracies of '
        'the runs, with the column model and one column per benchmark '
        '(default: none)')
    add_option(
        parser, '--benchmarks', 'CSV', 'table of the benchmarks of '
        '--accuracies with the columns benchmark, chance, n_items and perhaps '
        'main; a single run of A and B each needs n_items (default: what the '
        'predictor knows)')
    add_option(
        parser, '--tasks', 'NAME[=METRIC]', 'tasks and groups of '
        'lm-evaluation-harness whose grades in --answers count, perhaps with '
        'a metric and filter, as in salience import (default: all tasks)', str,
        (), '+')
    add_option(
        parser, '--same-recipe', 'PLACE', 'losses of two or more further runs '
        'of one recipe that differ only in their seed, from which the noise '
        'between seeds is estimated (default: none)', str, (), '+')
    add_flag(
        parser, '--same-family', 'A and B share weights or data (default: '
        'only two checkpoints of the same run do, such as run@1000 and '
        'run@2000)')
    add_option(
        parser, '--by', 'NAME', 'what decides: the name of a benchmark, mean '
        'for the mean over benchmarks, or loss (default: mean, or loss '
        'without accuracies)', str, '')
    add_option(
        parser, '--margin', 'POINTS', 'smallest difference that matters, in '
        f'percentage points of accuracy (default {100 * MARGIN:g})', positive)
    add_option(parser, '--level', 'PERCENT',
               'confidence level of intervals (default 95)', positive, 95)
    add_flag(parser, '--line',
             'print a single line for logs (default: tables)')
    add_shared(parser, '--wide', '--json')


def run(args: argparse.Namespace) -> int:
    _check_options(args)
    sides = _sides(args)
    if len(args.answers) not in (0, 2):
        raise InputError(
            '--answers', 'two places, A and B', str(len(args.answers)),
            'Name A first, then B; in the same table: TABLE:A '
            'TABLE:B.')
    if not 1 <= args.level < 100:
        raise InputError('--level', 'a percentage from 1 to below 100',
                         f'{args.level:g}', 'Give 95 for 95 %.')
    if args.margin and args.margin >= 100:
        raise InputError('--margin', 'points of accuracy below 100',
                         f'{args.margin:g}', 'Give 1 for one point.')
    predictor = load_predictor(args.predictor) if args.predictor else None
    # Names of the columns to read from tables: the columns of a predictor that
    # was fitted to tables, or all columns (None).
    units = None
    if predictor and predictor.columns.scored is None:
        units = predictor.columns.units
    read_table = partial(read_loss_features, units=units)
    # Each table is read only once, even if several places name it.
    tables = lru_cache(maxsize=None)(read_table)
    read = partial(_losses, predictor=predictor, tables=tables)
    runs_of_a, runs_of_b = sides
    places = [*runs_of_a, *runs_of_b, *args.same_recipe]
    accuracies = None
    if args.accuracies:
        accuracies = _accuracies(args, sides, predictor)
        paths = [_split(place)[0] for place in places]
        if not any(map(Path.exists, paths)):
            refuse(args, 'accuracies without losses', 'same_recipe')
            places = []
    losses = list(map(read, places))
    _check_tables(places, losses)
    n_a = len(runs_of_a)
    n_both = n_a + len(runs_of_b)
    losses_of_a = losses[:n_a] or None
    losses_of_b = losses[n_a:n_both] or None
    same_recipe = losses[n_both:]
    answers = None
    if args.answers:
        answers = _answers(args)
    if predictor:
        _check_predictable(args.by, predictor, accuracies, answers)
    margin = MARGIN
    if args.margin:
        margin = args.margin / 100
    comparison = compare(losses_of_a, losses_of_b, predictor, answers,
                         same_recipe, args.same_family, args.level / 100,
                         margin, args.by, accuracies)
    notes = list(comparison.notes)
    if predictor:
        notes += learning_notes(predictor)
    if not runs_of_a:
        a, b = args.answers
        sides = (a, ), (b, )
    comparison = replace(comparison, runs=sides, notes=tuple(notes))
    if args.json:
        print_json(comparison.to_dict())
    elif args.line:
        print(as_line(comparison))
    else:
        print(as_text(comparison, full_width(args.wide)))
    return EXIT_CODES[comparison.verdict]


def _check_options(args: argparse.Namespace) -> None:
    """Raise an `InputError` if options are given that would be ignored."""
    if not args.predictor:
        refuse(args, 'no --predictor', 'same_family')
    if not args.answers:
        refuse(args, 'no --answers', 'tasks')
    if not args.accuracies:
        refuse(args, 'no --accuracies', 'benchmarks')
    if not (args.predictor or args.answers or args.accuracies):
        refuse(args, 'losses alone', 'margin')
    if args.json:
        refuse(args, '--json', 'line', 'wide')
    if args.line:
        refuse(args, '--line', 'wide')
        if args.by == LOSS:
            # The margin is one of accuracies, which the line does not have.
            refuse(args, '--by loss --line', 'margin')


def _sides(
        args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the places of A's losses, and the places of B's losses.

    Both tuples are empty if only graded answers are compared.
    """
    places = tuple(args.places or ())
    against = tuple(args.against)
    if against and not places:
        raise InputError(
            'PLACE', 'the runs of A', 'none beside --against',
            'Name the runs of A first, then --against and the runs of B.')
    if not against and len(places) not in (0, 2):
        raise InputError(
            'PLACE', 'two places, A and B', str(len(places)),
            'Name A first, then B; in the same table: TABLE:A TABLE:B. '
            'Several runs: A1 A2 --against B1 B2.')
    of_a = {_run_at(place) for place in places}
    for place in against:
        if _run_at(place) in of_a:
            raise InputError('--against', 'runs that are not also runs of A',
                             repr(place), 'Leave it out on one side.')
    compared = {_run_at(place) for place in (*places, *against)}
    for place in args.same_recipe:
        if _run_at(place) in compared:
            raise InputError(
                '--same-recipe', 'further runs, not runs of A or B',
                repr(place), 'Leave it out: runs of A and of B count already.')
    if against:
        return places, against
    return places[:1], places[1:]


def _run_at(place: str) -> tuple[Path, str]:
    """Return the path, in one form, and the model that a place names."""
    path, model = _split(place)
    return path.resolve(), model


def _accuracies(
        args: argparse.Namespace, sides: Sequence[Sequence[str]],
        predictor: Optional[Predictor]
) -> tuple[AccuracyTable, AccuracyTable]:  # yapf: disable
    """Return the accuracies of the runs of A, and of the runs of B.

    The tables contain the numbers of items that the table `--benchmarks` has,
    or else those that the predictor knows, if there is one. Means are over the
    main benchmarks of the predictor or, without one, of `--benchmarks`.
    """
    path = args.accuracies
    if not sides[0]:
        raise InputError(
            '--accuracies', 'the runs of A and B beside it', 'none',
            'Name two models of the table, or several '
            'with --against.')
    table = read_scores_alone(path)
    items: dict[str, int] = {}
    main: Collection[str] = table.benchmarks
    if args.benchmarks:
        described = read_benchmarks(args.benchmarks)
        check_names_in(path, 'benchmarks', table.benchmarks, args.benchmarks,
                       described)
        items = {name: row.n_items for name, row in described.items()}
        main = [name for name, row in described.items() if row.main]
    if predictor:
        for fit in predictor.benchmarks:
            items[fit.benchmark] = items.get(fit.benchmark) or fit.n_items
        main = predictor.main
    n_items = [items.get(name, 0) for name in table.benchmarks]
    others = [name for name in table.benchmarks if name not in main]
    table = replace(
        table, n_items=np.array(n_items), outside_means=tuple(others))
    rows = []
    for side in sides:
        models = [_model_of(place, table.models) for place in side]
        for place, model in zip(side, models):
            _check_model(f'{place} in {path}', model, table.models)
        rows.append(table.select(models))
    a, b = rows
    return a, b


def _check_predictable(name: str, predictor: Predictor,
                       accuracies: Optional[tuple[AccuracyTable,
                                                  AccuracyTable]],
                       answers: Optional[tuple[Answers, Answers]]) -> None:
    """Raise an `InputError` if `--by` names a benchmark that cannot decide.

    This is a benchmark that is not predictable yet, without answers to it and
    without observed accuracies.
    """
    observed: set[str] = set()
    if accuracies:
        observed.update(accuracies[0].benchmarks)
    if answers:
        observed.update(answers[0])
    is_known = name in observed or name not in predictor.names
    if not is_known and predictor.benchmark(name).at_chance:
        raise InputError(
            '--by', 'a benchmark that can be predicted',
            f'{name!r}, on which {WHY_NOT_YET}',
            'Give --accuracies or --answers on this benchmark, or let mean or '
            'loss decide.')


def _model_of(place: str, models: Collection[str]) -> str:
    """Return the name of the model at a place.

    `place` is the name of one of `models`, PLACE:MODEL, or a file or folder
    with the name of the model.
    """
    if place in models:
        return place
    path, model = _split(place)
    return model or path.name.removesuffix('.safetensors')


def _split(place: str) -> tuple[Path, str]:
    """Split PLACE:MODEL into path and model; without :MODEL, model is ''."""
    parts = place.split(':')
    for n in range(len(parts), 0, -1):
        path = Path(':'.join(parts[:n]))
        if path.exists():
            return path, ':'.join(parts[n:])
    return Path(place), ''


def _losses(place: str, predictor: Optional[Predictor],
            tables: Callable[[Path], FeatureTable]) -> RunLosses:
    """Read the losses of one model, from a table (FILE:MODEL) or a dump."""
    path, model = _split(place)
    # Both dumps and tables may be safetensors files. A file beside units.txt,
    # which names the columns of a table, is a table.
    has_units = path.with_name('units.txt').is_file()
    is_dump = path.suffix == '.safetensors' and not has_units
    is_table = model or path.suffix in ('.csv', '.parquet')
    if path.is_file() and not is_dump and is_table:
        table = tables(path)
        _check_model(place, model, table.models)
        return table.select([model])
    if not path.exists() and not glob(place):
        raise InputError(
            place, 'a dump, a folder with a dump, or TABLE:MODEL', NOT_THERE,
            'Check the path: write a file such as outputs/losses/'
            'MODEL.safetensors, or TABLE.csv:MODEL for a model in a table.')
    dumps = find_dumps([path])
    if not model and len(dumps) == 1:
        model = next(iter(dumps))
    _check_model(place, model, dumps)
    fingerprint = predictor.columns.fingerprint if predictor else ''
    return dumps[model].read(fingerprint)


def _check_tables(places: Sequence[str], losses: Sequence[RunLosses]) -> None:
    """Raise an `InputError` if tables cannot be compared with each other.

    All tables must have the same columns in the same order, and losses in the
    same unit. As a table does not state the unit of its losses, the units of
    two tables are taken to be different if their mean losses differ by a large
    factor.
    """
    tables = {}
    paths = {}
    for place, part in zip(places, losses):
        if isinstance(part, FeatureTable):
            tables[place] = part
            paths[place], _ = _split(place)
    for (place, one), (other, two) in permutations(tables.items(), 2):
        units = two.columns.units
        if one.columns.units != units:
            columns = zip_longest(one.columns.units, units, fillvalue='none')
            expected, found = next(pair for pair in columns
                                   if pair[0] != pair[1])
            raise InputError(
                f'{other} beside {place}',
                'tables with the same columns of losses',
                f'the column {found!r} in place of {expected!r}',
                'Give losses on the same texts or items, in the same order.')
        # Losses whose means differ by a greater factor are taken to be in
        # different units. Of 3,916 pairs of public models with losses in the
        # same unit, 30 pairs differ by a greater factor.
        most = 2
        mean = float(one.mean_loss[0])
        least = float(two.mean_loss[0])
        if mean > most * least and paths[place] != paths[other]:
            raise InputError(
                f'{place} beside {other}', 'losses in the same unit',
                f'mean losses of {mean:.3g} and {least:.3g}',
                'Convert the losses of one table to the unit of the other; if '
                'both tables are in the same unit, put the models into one '
                'table.')
    # If all models are in one table, reading it has already checked that their
    # losses were measured in the same way.
    n_files = len(set(paths.values()))
    if n_files > 1:
        records = []
        for place, part in tables.items():
            for record in measured_losses(paths[place], part.models):
                records.append(replace(record, name=place))
        check_measured(records, ALIKE)


def _answers(args: argparse.Namespace) -> tuple[Answers, Answers]:
    """Return the graded answers of A and of B, from `--answers`."""
    places = dict(zip('AB', args.answers))
    outputs = {}
    for model, place in places.items():
        path, _ = _split(place)
        if path.is_dir() or path.suffix == '.json':
            outputs[model] = path
    found: Mapping[str, Answers] = {}
    if outputs:
        from csv_plugin.extras.importers.lm_eval import read_lm_eval_answers
        metrics = metrics_by_task(args.tasks)
        found = read_lm_eval_answers(outputs, [*metrics], metrics)
    else:
        refuse(args, 'tables of --answers', 'tasks')
    a = found.get('A') or _of_table(places['A'])
    b = found.get('B') or _of_table(places['B'])
    return a, b


def _of_table(place: str) -> Answers:
    """Return the grades of a model by benchmark and item, from TABLE:MODEL."""
    path, model = _split(place)
    table = read_accuracy_columns(path)
    _check_model(place, model, table.models)
    m = table.models.index(model)
    grades: dict[str, dict[str, float]] = {}
    for item, grade in zip(table.columns, table.values[m].tolist()):
        # The cell of an item that was not run is empty, and its grade NaN.
        if not math.isnan(grade):
            benchmark, _, _ = item.rpartition('/')
            of_benchmark = grades.setdefault(benchmark or path.stem, {})
            of_benchmark[item] = grade
    return grades


def _check_model(place: str, model: str, models: Collection[str]) -> None:
    """Raise an `InputError` if a model that a place names does not exist."""
    if model not in models:
        matcher = SequenceMatcher(b=model)

        def likeness(name: str) -> float:
            matcher.set_seq1(name)
            return matcher.ratio()

        similar = sorted(models, key=likeness, reverse=True)
        raise InputError(
            place, 'PLACE:MODEL with one of the models',
            shortened(', '.join(similar), 200) or 'none',
            f'{did_you_mean([model], models)}Write one of these models after '
            'the place, as in PLACE:MODEL.')
