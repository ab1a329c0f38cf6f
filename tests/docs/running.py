"""Runs what a page says of this project's command and of Python."""
import contextlib
import doctest
import os
import shlex
import subprocess
import sys
from pathlib import Path

from csv_plugin.cli.compare_models import EXIT_CODES
from csv_plugin.cli.salience import main
from csv_plugin.demo import shipped
from tests.docs.blocks import APPENDIX, PAGES, ROOT, blocks, is_setting

_SALIENCE = ('from csv_plugin.cli.salience import main; '
             'raise SystemExit(main())')
#: Kinds of blocks that are run.
KINDS = ('commands', 'examples', 'python', 'script')
#: Commands that run for minutes, and the lines of `.ci/run` that run them.
_IN_CI = {'make demo': 'run make demo', 'make test': 'run make test-all'}


def can_run(command):
    """Whether a command of a block of commands is run here or by `.ci/run`."""
    return (is_setting(command) or command.startswith('salience ')
            or runs_in_ci(command))


def runs_in_ci(command):
    """Whether `.ci/run` runs a command."""
    steps = (ROOT / '.ci' / 'run').read_text('utf-8').splitlines()
    return _IN_CI.get(command) in steps


def pages_with_code():
    """Pages of which something is run."""
    return [
        page for page in PAGES + APPENDIX if any(
            block.kind in KINDS for block in blocks(page))
    ]


def run_page(page, names, replaced=()):
    """Run a page in the present folder; `names` are there for its Python.

    Pairs of `replaced` are words of the page and what stands in for them.
    """
    for block in blocks(page):
        where = f'{block.page}:{block.line}'
        for word, stand_in in replaced:
            block = block._replace(text=block.text.replace(word, stand_in))
        if block.kind == 'commands':
            run_commands(block)
        elif block.kind == 'script':
            run_script(block.text)
        elif block.kind == 'python':
            exec(compile(block.text, where, 'exec'), names)
        elif block.kind == 'examples':
            run_examples(block, where, names)


def run_script(text):
    """Run a script of the shell, whose `salience` and Python are these."""
    bin = Path('bin').resolve()
    bin.mkdir(exist_ok=True)
    for name, options in (('salience', f"-c '{_SALIENCE}'"), ('python', '')):
        (bin /
         name).write_text(f'#!/bin/sh\nexec {sys.executable} {options} "$@"\n')
        (bin / name).chmod(0o755)
    path = f'{bin}{os.pathsep}{os.environ["PATH"]}'
    subprocess.run(['bash', '-eu', '-o', 'pipefail', '-c', text],
                   check=True,
                   env={
                       **os.environ, 'PATH': path,
                       'PYTHONPATH': str(ROOT)
                   })


def run_examples(block, where, names):
    test = doctest.DocTestParser().get_doctest(block.text, names, where, None,
                                               block.line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert not runner.run(test, clear_globs=False).failed, where
    names.update(test.globs)


def run_commands(block):
    """Run the commands of a block but for those of `.ci/run`."""
    settings = ''
    for command in block.commands:
        assert can_run(command), command
        if is_setting(command):
            settings += command + '\n'
        elif not runs_in_ci(command):
            run_command(command, settings)


def run_command(command, settings):
    """Run `salience`; what it prints may go to a file."""
    line, _, target = command.partition(' > ')
    with contextlib.ExitStack() as stack:
        if target:
            file = stack.enter_context(open(os.path.expanduser(target), 'w'))
            stack.enter_context(contextlib.redirect_stdout(file))
        code = run(words_of(line, settings))
    # `compare` may decide otherwise than that B is better.
    may_differ = ' compare ' in command
    assert code == 0 or (may_differ and code in EXIT_CODES.values()), command


def words_of(command, settings):
    """The words of a command after those that its shell replaces."""
    demo = shlex.quote(str(shipped.FOLDER))
    script = (f'salience() {{ [ "$*" = "demo --where" ] && echo {demo}; }}\n'
              f'{settings}\nprintf "%s\\0" {command}')
    process = subprocess.run(['bash', '-c', script],
                             check=True,
                             capture_output=True,
                             text=True)
    return process.stdout.split('\0')[:-1]


def run(words):
    """Run `salience` in this process; its exit code."""
    assert words[0] == 'salience', words
    try:
        return main(words[1:])
    except SystemExit as end:
        return end.code
