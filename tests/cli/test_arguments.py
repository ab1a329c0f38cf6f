"""What the commands share: exit codes, output folders, named numbers."""
import os
import sys
import warnings
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from csv_plugin.cli.arguments import check_folder, exit_code, print_json
from csv_plugin.core.conventions import InputError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize('error', [
    InputError('a file', 'a table', 'nothing', 'Give one.'),
    OSError('disk full'),
    BrokenPipeError('of a server')
])
def test_bad_input_is_one_line_and_exit_code_2(capsys, error):

    def run(*arguments):
        assert arguments == (1, 2)
        raise error

    assert exit_code(run, 1, 2) == 2
    assert capsys.readouterr().err == f'error: {error}\n'
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 / 0)


def test_warnings_are_one_line():
    warning = UserWarning('an old\nfile \x1b[2J'), UserWarning, 'code.py', 7
    lines = []
    exit_code(lambda: lines.append(warnings.formatwarning(*warning)))
    assert lines == ['warning: an old\\nfile \\x1b[2J\n']
    assert 'code.py:7' in warnings.formatwarning(*warning)


#: Calls `exit_code` when nobody reads its output any more.
UNREAD = """
import sys
from csv_plugin.cli.arguments import exit_code
sys.stdin.read()
sys.exit({call})
"""


@pytest.mark.parametrize('call, code', [
    ('exit_code(print, "line")', 141),
    ('exit_code(print, *["line"] * 100_000)', 141),
    ('exit_code(open, "/nowhere")', 2),
])
def test_a_pipe_that_nobody_reads_any_more(call, code):
    """Few lines are written when the program ends only."""
    with Popen([sys.executable, '-c', UNREAD.format(call=call)],
               stdin=PIPE, stdout=PIPE, stderr=PIPE,
               env={**os.environ, 'PYTHONPATH': str(ROOT)}
               ) as process:  # yapf: disable
        process.stdout.close()
        process.stdin.close()
        said = process.stderr.read()
    assert process.returncode == code
    assert b'Pipe' not in said and bool(said) == (code == 2)


def test_folders_are_checked_before_the_work(tmp_path):
    check_folder(tmp_path)
    check_folder(tmp_path / 'new/deeper')
    assert not list(tmp_path.iterdir())
    file = tmp_path / 'file'
    file.touch()
    for path in (file, file / 'deeper', Path('/proc/new/deeper')):
        with pytest.raises((InputError, OSError)):
            check_folder(path)


def test_json_keeps_all_letters_and_has_no_nan(capsys):
    print_json({'é': [1]})
    assert capsys.readouterr().out == '{\n "é": [\n  1\n ]\n}\n'
    with pytest.raises(ValueError):
        print_json(float('nan'))
