"""Print what makes a shell complete verbs, options and paths.

    salience completion bash > ~/.salience-completion

and a line `source ~/.salience-completion` in ~/.bashrc. The package shtab
writes it.
"""
import argparse
from typing import Any

from csv_plugin.cli.salience import VERBS, make_parser
from csv_plugin.core.conventions import InputError

#: What shtab can write for.
SHELLS = ('bash', 'tcsh', 'zsh')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('shell', choices=SHELLS, help='the shell (required)')


def run(args: argparse.Namespace) -> None:
    import shtab
    parser = make_parser([verb for verb in VERBS if _is_usable(verb)])
    for action in parser._actions:
        _complete_paths(action, shtab.FILE)
    print(shtab.complete(parser, args.shell))


def _is_usable(verb: str) -> bool:
    """Whether the packages are installed that a verb needs."""
    try:
        make_parser([verb])
    except InputError:
        return False
    return True


def _complete_paths(action: argparse.Action, files: Any) -> None:
    """Complete paths where no choices are known, in all verbs."""
    if isinstance(action, argparse._SubParsersAction):
        for parser in action.choices.values():
            for option in parser._actions:
                _complete_paths(option, files)
    elif action.nargs != 0 and action.choices is None:
        action.complete = files  # type: ignore[attr-defined]
