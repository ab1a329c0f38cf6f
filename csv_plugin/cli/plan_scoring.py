"""Say how many GPUs and GPU hours a list of models needs to be scored.

    salience plan --models paper --out outputs/jobs

writes models.csv, for salience losses, status and slurm, with the GPUs and the
estimated GPU hours of each model; and 1_gpu.csv, 2_gpus.csv and so on, with
the models that need as many, in place of those of an earlier plan.
docs/cluster.md says what the estimate assumes.
"""
import argparse
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from csv_plugin.cli.arguments import add_out, check_folder, whole_number
from csv_plugin.core.conventions import InputError
from csv_plugin.core.gpu_time import GPUS, gpu_hours, weights_gb
from csv_plugin.io.collecting import PAPER
from csv_plugin.io.model_lists import YES, ListedModel, read_model_list
from csv_plugin.io.paper import paper_weights
from csv_plugin.io.tables import write_csv

#: Of the paper's 550 texts, about.
_TOKENS = 180_000
#: Names of the lists by number of GPUs.
_LIST = re.compile(r'1_gpu\.csv|[0-9]+_gpus\.csv')
#: Columns of the lists.
_HEADER = ('model', 'path', 'tokenizer', 'dtype', 'own_code', 'params_b',
           'gpus', *(f'hours_{gpu.name.lower()}' for gpu in GPUS))


class _Job(NamedTuple):
    """What it takes to score a model.

    Args:
        name (str): Of the model.
        model (ListedModel): Its weights are in a format of 16 bits.
        size (float): Billions of parameters.
        gpus (int): How many it needs.
        hours (tuple[float, ...]): GPU hours on each of `GPUS`.
    """
    name: str
    model: ListedModel
    size: float
    gpus: int
    hours: tuple[float, ...]

    @property
    def file(self) -> str:
        """Name of the list of models that need as many GPUs."""
        return f'{self.gpus}_gpu{"s" * (self.gpus > 1)}.csv'

    @property
    def row(self) -> list[object]:
        """Cells of a list."""
        model = self.model
        return [
            self.name, model.path, model.tokenizer or '', model.dtype,
            YES if model.own_code else '', self.size, self.gpus,
            *(round(hours, 4) for hours in self.hours)
        ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--models',
        required=True,
        metavar='LIST|paper',
        help='table .csv with the columns model (its name), path and\n'
        'params_b (billions of parameters), as for salience\n'
        "losses; paper for the paper's 59 models (required)")
    parser.add_argument(
        '--tokens',
        type=partial(whole_number, least=1),
        default=_TOKENS,
        metavar='N',
        help=f"tokens of all texts (default {_TOKENS}: the paper's)")
    add_out(parser, 'the lists')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    models = (
        paper_weights()
        if args.models == PAPER else read_model_list(args.models))
    jobs = _jobs(models, args.tokens)
    args.out.mkdir(parents=True, exist_ok=True)
    lists = {
        file: list(some)
        for file, some in groupby(
            sorted(jobs, key=lambda job: job.gpus), lambda job: job.file)
    } | {
        'models.csv': jobs
    }
    for file, some in lists.items():
        write_csv(args.out / file, _HEADER, (job.row for job in some))
    # Lists of an earlier plan would be scored as well.
    for path in args.out.iterdir():
        if _LIST.fullmatch(path.name) and path.name not in lists:
            path.unlink()
    print(_table(args.out, lists))


def _jobs(models: Mapping[str, ListedModel], n_tokens: int) -> list[_Job]:
    """What each model takes, in the order of the list.

    Raises:
        InputError: The size of a model is not known, or its weights are in
            float32.
    """
    jobs = []
    for name, model in models.items():
        if model.params_b is None:
            raise InputError(f'model {name!r}', 'params_b, its billions of '
                             'parameters', 'none', 'Give it in a table .csv.')
        if model.dtype == 'float32':
            raise InputError(f'model {name!r}',
                             'the dtype bfloat16 or float16', model.dtype,
                             'Leave the cell empty, which means bfloat16.')
        size = model.params_b
        jobs.append(
            _Job(name, model._replace(dtype=model.dtype or 'bfloat16'), size,
                 model.gpus,
                 tuple(gpu_hours(size, n_tokens, gpu) for gpu in GPUS)))
    return jobs


def _table(out: Path, lists: Mapping[str, Sequence[_Job]]) -> str:
    """Sums for each list."""
    rows = [[
        str(out / file),
        len(jobs),
        max(job.gpus for job in jobs),
        sum(weights_gb(job.size)
            for job in jobs), *(sum(hours)
                                for hours in zip(*(job.hours for job in jobs)))
    ] for file, jobs in lists.items()]
    return tabulate(
        rows, ('list', 'models', 'most GPUs', 'GB of weights',
               *(f'GPU hours, {gpu.name}' for gpu in GPUS)),
        floatfmt=('', '', '', '.0f', *('.1f' for _ in GPUS)))
