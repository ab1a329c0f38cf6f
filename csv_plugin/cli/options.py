"""Options: their types, and those that several verbs have."""
import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import PREDICTED
from csv_plugin.core.progress import Progress
from csv_plugin.io.model_paths import named_path
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import split_name

#: Default of `--predict`; one that is given is another list.
TEST = ['test']


def add_option(group: Any,
               name: str,
               metavar: str,
               text: str,
               kind: Callable[[str], Any] = str,
               default: Any = None,
               nargs: Optional[str] = None,
               **settings: Any) -> None:
    """Add an option or a positional argument to a parser.

    `name` may hold several names. `text` is the help, which states the
    default; an option is required if its text ends with '(required)'.
    `settings` are passed to `add_argument`.
    """
    if name.startswith('--') and text.endswith('(required)'):
        settings['required'] = True
    group.add_argument(
        *name.split(),
        metavar=metavar,
        help=text,
        type=kind,
        default=default,
        nargs=nargs,
        **settings)


def add_choice(group: Any,
               name: str,
               choices: Iterable[str],
               text: str,
               default: Optional[str] = None) -> None:
    """Add an option with one of several values."""
    group.add_argument(name, choices=[*choices], default=default, help=text)


def add_flag(group: Any, name: str, text: str) -> None:
    """Add an option that takes no value."""
    group.add_argument(name, action='store_true', help=text)


def positive(text: str) -> float:
    """Type of options that are positive numbers."""
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError
    return number


def whole_number(text: str, least: int = 0) -> int:
    """Type of options that are whole numbers, the least allowed or more."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f'expected a whole number, {least} or more, found {text!r}')
    return int(text)


def named_number(text: str) -> tuple[str, float]:
    """Type of options such as `--chance NAME=0.25`.

    >>> named_number('a=b=0.25')
    ('a=b', 0.25)
    """
    name, _, value = text.rpartition('=')
    number = float(value)
    if not name or math.isnan(number):
        raise ValueError
    return name, number


def predictor_file(text: str) -> tuple[str, str]:
    """Type of the option `--predictor [LABEL=]FILE`.

    >>> predictor_file('salience=p.safetensors')
    ('salience', 'p.safetensors')
    >>> predictor_file('p.safetensors')
    ('predicted', 'p.safetensors')
    """
    label, path = named_path(text)
    return label or PREDICTED, path


#: Tables of models, and options that choose some of them.
TABLES = '--losses', '--scores', '--models', '--benchmarks'
SPLITS = '--fit', '--predict'
#: Loading of a model, and of runs that are judged.
LOADING = '--tokenizer', '--trust-remote-code'
FORECASTS = '--predictor', '--history', '--budget', '--known'

#: Arguments of `add_option` after the name, or the text of a flag, for options
#: that mean the same in several verbs.
_SHARED: dict[str, Any] = {
    '--losses': ('FILE', 'column model, and one of losses per text or item: '
                 '.csv, .parquet, or .safetensors beside units.txt '
                 '(required)'),
    '--scores': ('FILE', 'column model, and one of accuracies per benchmark, '
                 'fractions; empty where it was not run: .csv or .parquet '
                 '(required)'),
    '--models': ('CSV', 'columns model, family and split (required)'),
    '--benchmarks': ('CSV', 'columns benchmark, chance, n_items and perhaps '
                     'main (0 for benchmarks that means leave out) '
                     '(required)'),
    '--fit': ('SPLIT', 'splits to fit to, as the table of models names them '
              '(default: all but test and those of --predict)', split_name,
              (), '+'),
    '--predict': ('SPLIT', 'splits to predict (default test)', split_name,
                  TEST, '+'),
    '--leave-family-out': 'predict each model of all these splits from the '
                          'other families (default: no)',
    '--chance': ('NAME=LEVEL', 'accuracies of guessing on --tasks, fractions '
                 'such as mine=0.25 (default: those of common benchmarks)',
                 named_number, (), '+'),
    '--checkpoints': ('CSV', 'columns model, run, step, and perhaps tokens, '
                      'budget, stage (default: by names of models)'),
    '--predictor': ('[LABEL=]FILE', 'such as predictor.safetensors; the label '
                    'names the predictions, by default predicted (required)',
                    predictor_file),
    '--history': ('PLACE', 'losses of earlier, finished runs (default: none)',
                  str, (), '+'),
    '--budget': ('NUMBER', 'end of a run, in steps or, where they are known, '
                 'in tokens (default: those of the earlier runs)', positive,
                 math.nan),
    '--known': ('SCORES', 'column model, and one of known accuracies per '
                'benchmark, fractions: accuracies of checkpoints change all '
                'that is said of their runs (default: none)'),
    '--tokenizer': ('PATH', 'tokenizer, a folder or a name on the hub; '
                    'required with servers (default: the model)'),
    '--trust-remote-code': 'run code that comes with the model (default: no)',
    '--out': ('DIR', 'folder for what is written (required)', Path),
    'work_dir': ('WORK_DIR', 'time-stamped folder of the run (required)',
                 Path),
    '--wide': 'print tables with all their columns side by side (default: '
              'as wide as the terminal or 100 columns)',
    '--json': 'print JSON and nothing else (default: a table)',
}  # yapf: disable


def add_shared(group: Any,
               *names: str,
               needed: bool = True,
               **settings: Any) -> None:
    """Add options that several verbs have.

    None of them is required if they are not `needed`. `settings` are passed
    to `add_argument`.
    """
    for name in names:
        option = _SHARED[name]
        if isinstance(option, str):
            add_flag(group, name, option)
            continue
        metavar, text, *rest = option
        if not needed:
            text = text.replace('(required)', '(default: none)')
        add_option(group, name, metavar, text, *rest, **settings)


def check_splits(args: argparse.Namespace, remedy: str) -> None:
    """Refuse splits that are both to fit to and to predict."""
    in_both = set(args.fit) & set(args.predict)
    if in_both:
        raise InputError('--fit and --predict', 'different splits',
                         f'{" and ".join(sorted(in_both))} in both', remedy)


def models_of(args: argparse.Namespace,
              tables: ModelTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models of `--fit` and those of `--predict`."""
    splits = {row.split for row in tables.info.values()}
    if args.leave_family_out and args.predict is TEST and 'test' not in splits:
        args.predict = []
        if not args.fit and splits == {''}:
            return tables.features.models, ()
    fit = tables.models_to_fit(args.fit, args.predict)
    return fit, tables.models_in(*args.predict)


def bar(label: str) -> Progress:
    """Return a bar that shows the progress of a loop of some seconds."""
    return partial(_items_with_bar, label)


def _items_with_bar(label: str, items: Sequence[Any]) -> Iterator[Any]:
    """Yield the items, and show a bar if they take more than two seconds.

    Loading tqdm takes as long as reading a dozen dumps.
    """
    end_without_bar = monotonic() + 2
    remaining = iter(items)
    for n_done, item in enumerate(remaining, 1):
        yield item
        if monotonic() > end_without_bar and n_done < len(items):
            from tqdm import tqdm
            yield from tqdm(remaining, label, total=len(items), initial=n_done)
