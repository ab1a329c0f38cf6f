"""Runs what a page says of this project's command and of Python."""
import contextlib
import doctest
import os
import shlex
import subprocess

from csv_plugin.cli.compare_models import EXIT_CODES
from csv_plugin.cli.salience import main
from csv_plugin.demo import shipped
from tests.docs.blocks import PAGES, blocks, is_setting


def runs(block):
    """Whether something of a block is run."""
    if block.kind == 'commands':
        return block.run and any(
            line.startswith('salience ') for line in block.commands)
    return block.run and block.kind in ('python', 'examples')


def pages_with_code():
    """Pages of which something is run."""
    return [page for page in PAGES if any(map(runs, blocks(page)))]


def run_page(page, names):
    """Run a page in the present folder; `names` are there for its Python."""
    for block in filter(runs, blocks(page)):
        where = f'{block.page}:{block.line}'
        if block.kind == 'commands':
            run_commands(block)
        elif block.kind == 'python':
            exec(compile(block.text, where, 'exec'), names)
        else:
            run_examples(block, where, names)


def run_examples(block, where, names):
    test = doctest.DocTestParser().get_doctest(block.text, names, where, None,
                                               block.line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert not runner.run(test, clear_globs=False).failed, where
    names.update(test.globs)


def run_commands(block):
    """Run what is typed with `salience` in a block."""
    settings = ''
    for command in block.commands:
        if is_setting(command):
            settings += command + '\n'
        elif command.startswith('salience '):
            line, _, target = command.partition(' > ')
            with contextlib.ExitStack() as stack:
                if target:
                    file = stack.enter_context(
                        open(os.path.expanduser(target), 'w'))
                    stack.enter_context(contextlib.redirect_stdout(file))
                code = run(words_of(line, settings))
                # `compare` may decide otherwise than that B is better.
                may_differ = ' compare ' in command
                assert code == 0 or (may_differ
                                     and code in EXIT_CODES.values()), command


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
