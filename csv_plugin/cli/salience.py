"""Predict benchmark accuracies of language models from their token losses.

Every verb has its own help and an example:

    salience fit --help
"""
import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, Optional

from csv_plugin import __version__
from csv_plugin.cli.arguments import Parser, exit_code
from csv_plugin.core.conventions import InputError


class _Verb(NamedTuple):
    """A verb of the command `salience`.

    `file` is the name of its module in `csv_plugin.cli`, and `help` is its
    help. `extra` is the group of optional dependencies that it needs. With
    `one_thread`, the linear algebra runs on one thread: the verb solves many
    small systems of equations, for which several threads would wait for each
    other on a busy machine.
    """
    file: str
    help: str
    extra: str = ''
    one_thread: bool = False

    @property
    def module(self) -> str:
        """The full name of the module."""
        return f'csv_plugin.cli.{self.file}'


#: The verbs by name, in the order in which the help lists them.
VERBS = {
    'demo': _Verb('run_demo', 'run the demonstration, or copy its config',
                  'opencompass'),
    'texts': _Verb('build_validation_set', 'write the shipped texts, or draw '
                   'from benchmarks', 'opencompass'),
    'losses': _Verb('score_models', 'score models on texts, with any engine',
                    'lm'),
    'import': _Verb('import_losses',
                    'read losses that other programs measured'),
    'status': _Verb('check_run', 'list what is missing in a run'),
    'fit': _Verb('fit_predictor', 'train a predictor on losses and accuracies',
                 'lm,report'),
    'predict': _Verb('predict_accuracies', 'predict accuracies from losses',
                     'report', one_thread=True),
    'compare': _Verb('compare_models',
                     'decide between two models by their losses',
                     one_thread=True),
    'watch': _Verb('watch_checkpoints', 'predict a model while it trains, by '
                   'its checkpoints', 'lm'),
    'triage': _Verb('triage_checkpoints', 'say where pretraining runs will '
                    'end, and which to stop', one_thread=True),
}  # yapf: disable


def make_parser(verbs: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command, with the options of these verbs.

    All other verbs are listed with their help, but without options. The
    modules of `verbs` are imported, which takes time.
    """
    parser = Parser(
        prog='salience',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        '--version',
        action='version',
        version=__version__,
        help='show the version and exit')
    choices = parser.add_subparsers(
        title='verbs', metavar='VERB', dest='verb', required=True)
    for name, verb in VERBS.items():
        part = choices.add_parser(
            name,
            help=verb.help,
            formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in verbs:
            module: Any = import_module(verb.module)
            part.description = module.__doc__
            module.add_arguments(part)
            part.set_defaults(run=module.run)
    return parser


def _run(arguments: Sequence[str]) -> Optional[int]:
    """Run the verb that the arguments name; return its exit code.

    The exit code is None for 0. An `InputError` if a package that the verb
    needs is not installed.
    """
    verb = VERBS.get(arguments[0]) if arguments else None
    if verb and verb.one_thread:
        # This is set before numpy is loaded, because numpy reads it only then.
        os.environ.setdefault('OMP_NUM_THREADS', '1')
    try:
        args = make_parser(arguments[:1]).parse_args(arguments)
        args.command = shlex.join(['salience', *arguments])
        code: Optional[int] = args.run(args)
        return code
    except ModuleNotFoundError as error:
        name = arguments[0]
        package, _, _ = str(error.name).partition('.')
        extra = VERBS[name].extra
        if package == 'csv_plugin' or not extra:
            raise
        raise InputError(
            f'salience {name}', f'the package {package!r}', 'none',
            f"Run pip install '.[{extra}]' in a clone, or install the wheel "
            f"as 'NAME.whl[{extra}]'.") from error


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command on `argv`, by default `sys.argv[1:]`.

    Return the exit code. It is 0, or for `salience compare` the code of the
    verdict; 2 after an error in the input; 130 after Ctrl-C; and 141 if the
    program that reads the output has ended.
    """
    try:
        return exit_code(_run, sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        print('stopped', file=sys.stderr)
        return 130
