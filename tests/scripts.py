"""Runs scripts of the repository, as from a shell."""
import csv
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from csv_plugin.cli.salience import main, make_parser

ROOT = Path(__file__).resolve().parents[1]


def printed(module: str, *options: str) -> str:
    """What a module prints that is run with some options; it must succeed."""
    process = subprocess.run([sys.executable, '-m', module, *options],
                             cwd=ROOT,
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def check_end(text: str, is_last: bool = False) -> list[str]:
    """The lines that a verb printed, but for the next command at the end.

    That one must parse, or be missing after the last verb; the others fit
    into 100 columns, or are one path.
    """
    lines = text.splitlines()
    if not is_last:
        word, command, *options = shlex.split(lines.pop())
        assert word == 'Next:'
        if command == 'salience' and '--help' not in options:
            make_parser(options[:1]).parse_args(options)
    for line in lines:
        assert len(line) <= 100 or line.startswith(('Written to', 'warning:'))
    return lines


def refusal(capsys: Any, *words: str) -> str:
    """The line of the error that a call of the command ends with."""
    capsys.readouterr()
    assert main(words) == 2
    error: str = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith('error: ')
    return error
