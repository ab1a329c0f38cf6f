"""Define types of options, and the options that several verbs share."""
import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Optional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.io.checkpoint_names import scaled_number
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import split_name

#: Default of `--predict`. To find out whether the user gave the option,
#: compare its value with this list by `is`.
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

    `name` may be several names, separated by spaces. `text` is the help, which
    states the default. An option is required if its help ends with
    '(required)'. `kind` converts the text of a value to the value. `settings`
    are passed to `add_argument`.
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
    """Add an option whose value is one of `choices`."""
    group.add_argument(name, choices=[*choices], default=default, help=text)


def add_flag(group: Any, name: str, text: str) -> None:
    """Add an option that takes no value."""
    group.add_argument(name, action='store_true', help=text)


def positive(text: str) -> float:
    """Return the number of an option, which must be positive and finite."""
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError
    return number


def amount(text: str) -> float:
    """Return the positive number of an option, such as 2000, 4e12 or 4T."""
    with suppress(ValueError):
        number = scaled_number(text)
        if 0 < number < math.inf:
            return number
    raise argparse.ArgumentTypeError(
        'expected a positive number such as 2000, 4e12 or 4T (with K, M, B or '
        f'T), found {text!r}')


def whole_number(text: str, least: int = 0) -> int:
    """Return the whole number of an option, which must be `least` or more."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f'expected a whole number, {least} or more, found {text!r}')
    return int(text)


def named_number(text: str) -> tuple[str, float]:
    """Return name and number of an option such as `--chance NAME=0.25`.

    >>> named_number('a=b=0.25')
    ('a=b', 0.25)
    """
    name, _, value = text.rpartition('=')
    number = float(value)
    if not name or math.isnan(number):
        raise ValueError
    return name, number


#: Options that name tables.
TABLES = '--losses', '--scores', '--models', '--benchmarks'
#: Options that choose models of these tables.
SPLITS = '--fit', '--predict'
#: Options for loading a model.
LOADING = '--tokenizer', '--trust-remote-code'
#: Options for forecasts of runs.
FORECASTS = '--predictor', '--history', '--known'

#: Options that mean the same in several verbs. A tuple has the arguments of
#: `add_option` after the name of the option. A text is the help of an option
#: that takes no value.
_SHARED: dict[str, Any] = {
    '--losses': ('FILE', 'table of losses with the column model, and one '
                 'column of losses per text or item: .csv, .parquet, or '
                 '.safetensors beside units.txt (required)'),
    '--scores': ('FILE', 'table of accuracies with the column model, and one '
                 'column of fractions per benchmark, empty where it was not '
                 'run: .csv or .parquet (required)'),
    '--models': ('CSV', 'table of models with the columns model, family and '
                 'split (required)'),
    '--benchmarks': ('CSV', 'table of benchmarks with the columns benchmark, '
                     'chance, n_items and perhaps main, which is 0 for '
                     'benchmarks to leave out of means (required)'),
    '--fit': ('SPLIT', 'splits to fit to, as the table of models names them '
              '(default: all splits but test and the splits of --predict)',
              split_name, (), '+'),
    '--predict': ('SPLIT', 'splits to predict (default test)', split_name,
                  TEST, '+'),
    '--leave-family-out': 'predict each model of the splits of --fit and '
                          '--predict from models of other families, and fit '
                          'the predictor that is saved to all of them '
                          '(default: no)',
    '--chance': ('NAME=LEVEL', 'accuracies of guessing on --tasks, fractions '
                 'such as mine=0.25 (default: known levels of common '
                 'benchmarks)', named_number, (), '+'),
    '--checkpoints': ('CSV', 'table of checkpoints with the columns model, '
                      'run, step, and perhaps tokens, budget, stage (default: '
                      'these columns of --models, if given, or else the '
                      'names of models)'),
    '--predictor': ('FILE', 'file of a predictor, such as '
                    'predictor.safetensors (required)'),
    '--history': ('PLACE', 'losses of earlier, finished runs (default: none)',
                  str, (), '+'),
    '--budget': ('NUMBER', 'length of a whole run, in tokens if the tokens of '
                 'checkpoints are known, else in steps, such as 2000 or 4T '
                 '(default: as long as the earlier runs)', amount, math.nan),
    '--known': ('SCORES', 'table of known accuracies with the column model, '
                'and one column of fractions per benchmark; accuracies of '
                'checkpoints change the forecasts of their runs (default: '
                'none)'),
    '--tokenizer': ('PATH', 'tokenizer, a folder or a name on the hub; '
                    'required with servers (default: the tokenizer of the '
                    'model)'),
    '--trust-remote-code': 'run code that comes with the model (default: no)',
    '--out': ('DIR', 'folder for the files that are written (required)', Path),
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
    """Add options that several verbs share.

    With `needed=False`, none of these options is required. `settings` are
    passed to `add_argument`.
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
    """Raise an `InputError` if a split is in both `--fit` and `--predict`."""
    in_both = set(args.fit) & set(args.predict)
    if in_both:
        raise InputError('--fit and --predict', 'different splits',
                         f'{" and ".join(sorted(in_both))} in both', remedy)


def models_of(args: argparse.Namespace,
              tables: ModelTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models to fit to, and the models to predict.

    With `--leave-family-out`, there need not be models to predict: the second
    tuple may be empty. If, in addition, the table of models has no splits, the
    first tuple contains all models.
    """
    splits = {row.split for row in tables.info.values()}
    if args.leave_family_out and args.predict is TEST and 'test' not in splits:
        args.predict = []
        if not args.fit and splits == {''}:
            return tables.features.models, ()
    fit = tables.models_to_fit(args.fit, args.predict,
                               f'{args.models} (--fit)')
    predict = tables.models_in(
        *args.predict, where=f'{args.models} (--predict)')
    return fit, predict


def benchmarks_run(args: argparse.Namespace,
                   accuracies: AccuracyTable) -> tuple[str, ...]:
    """Return the benchmarks that models to fit to were run on.

    `accuracies` are those of the models to fit to.

    Raises:
        InputError: There is no accuracy at all.
    """
    found = accuracies.benchmarks_run
    if not found:
        raise InputError(
            args.scores, 'at least one accuracy of a model to fit to', 'none',
            'Add accuracies of models to fit to, or name other splits with '
            '--fit.')
    return found


def bar(label: str) -> Progress:
    """Return a function that wraps a loop to show a labelled progress bar."""
    return partial(_items_with_bar, label)


def _items_with_bar(label: str, items: Sequence[Any]) -> Iterator[Any]:
    """Yield the items, and show a bar if they take more than two seconds.

    tqdm is loaded only when the bar is shown, because loading it takes as long
    as reading a dozen dumps.
    """
    end_without_bar = monotonic() + 2
    remaining = iter(items)
    for n_done, item in enumerate(remaining, 1):
        yield item
        if monotonic() > end_without_bar and n_done < len(items):
            from tqdm import tqdm
            yield from tqdm(remaining, label, total=len(items), initial=n_done)
