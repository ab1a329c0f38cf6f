"""Options that several studies share."""
import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from csv_plugin.cli.options import whole_number
from csv_plugin.core.features import FeatureTable
from csv_plugin.io.model_tables import ModelTables, read_model_tables

TABLES = ('losses', 'scores', 'models', 'benchmarks')


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a study as it is."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawTextHelpFormatter)


def add_number(parser: argparse.ArgumentParser, name: str, default: Any,
               text: str) -> None:
    """An option for a positive whole number, or several by default."""
    several = isinstance(default, tuple)
    words = ' '.join(map(str, default)) if several else default
    parser.add_argument(
        name,
        nargs='+' if several else None,
        type=partial(whole_number, least=1),
        default=default,
        metavar='N',
        help=f'{text} (default {words})')


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Option `--jobs`, for studies that train models of the zoo."""
    add_number(parser, '--jobs', 1, 'models trained at once, one thread each')


def two_names(text: str) -> tuple[str, str]:
    """Type of options such as `--own-units arc_challenge=arcc`."""
    first, _, second = text.rpartition('=')
    if not first or not second:
        raise argparse.ArgumentTypeError(
            'expected two names such as piqa=core_piqa, found '
            f'{text!r}')
    return first, second


def tables_of(args: argparse.Namespace) -> ModelTables:
    """The tables that the options of `TABLES` name."""
    return read_model_tables(*(getattr(args, name) for name in TABLES))


def tables_in(folder: Path) -> ModelTables:
    """The tables of a folder, as docs/formats.md describes them."""
    losses, *others = (folder / f'{name}.csv' for name in TABLES)
    if not losses.exists():
        losses = losses.with_suffix('.safetensors')
    return read_model_tables(losses, *others)


def with_units(tables: ModelTables, units: Sequence[str]) -> ModelTables:
    """The tables with losses on these units alone, in this order."""
    features = tables.features
    places = [features.columns.units.index(unit) for unit in units]
    return replace(
        tables,
        features=FeatureTable.of_losses(features.models, units,
                                        features.values[:, places]))
