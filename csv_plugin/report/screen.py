"""Show paths, commands, and tables and lists in Markdown."""
import math
import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from csv_plugin.core.escaping import markdown, one_line
from csv_plugin.core.text_tables import WIDTH
from csv_plugin.io.files import FilePath


def full_width(wide: bool) -> float:
    """Return the maximum width of tables; with `--wide`, it is infinite.

    Otherwise it is the width of the terminal, at most `WIDTH`; without a
    terminal it is `WIDTH`.
    """
    if wide:
        return math.inf
    return min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH)


def terminal_width() -> int:
    """Return the width of the terminal in columns; 80 without a terminal."""
    return shutil.get_terminal_size((80, 24)).columns


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a header row and further rows as a table in Markdown."""
    from tabulate import tabulate
    escaped = []
    for row in rows:
        cells = [markdown(cell) for cell in row]
        escaped.append(cells)
    header, *rest = escaped
    n_numbers = len(header) - 1
    return tabulate(
        rest,
        header,
        tablefmt='pipe',
        colalign=['left'] + ['right'] * n_numbers,
        disable_numparse=True)


def markdown_list(notes: Iterable[str]) -> list[str]:
    """Return a line for each note: an item of a list in Markdown."""
    return [f'* {markdown(note)}' for note in notes]


def next_command_line(*command: FilePath) -> str:
    """Return a line with the command that the user may run next.

    Its arguments are quoted for the shell. A `Path` inside the working folder
    is shown relative to it.
    """
    shown = []
    for argument in command:
        if isinstance(argument, Path):
            shown.append(shown_path(argument))
        else:
            shown.append(os.fspath(argument))
    return f'Next: {shlex.join(shown)}'


def shown_path(path: FilePath) -> str:
    """Return a path, relative to the working folder if it lies inside."""
    whole = Path(os.path.abspath(path))
    here = Path.cwd()
    if whole.is_relative_to(here):
        whole = whole.relative_to(here)
    return one_line(str(whole))
