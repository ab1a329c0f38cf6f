"""Tables as HTML, the way Jupyter shows the last value of a cell."""
import html
from collections.abc import Iterable, Sequence
from itertools import islice

from csv_plugin.core.escaping import visible

#: Rows and columns that are shown of a large table.
MOST_ROWS, MOST_COLUMNS = 30, 12
#: Classes of what Jupyter does not read as formulas, as names may hold dollar
#: signs.
NO_FORMULAS = 'tex2jax_ignore mathjax_ignore'


def html_table(caption: str,
               header: Sequence[str],
               rows: Iterable[Sequence[str]],
               n_rows: int,
               notes: Sequence[str] = ()) -> str:
    """A table, the first column of which holds names.

    Args:
        caption (str): What the table is, one line.
        header (Sequence[str]): Names of the columns.
        rows (Iterable[Sequence[str]]): Their cells; no more than `MOST_ROWS`
            are asked for.
        n_rows (int): How many rows there are.
        notes (Sequence[str]): Lines below the table.

    Returns:
        str: HTML, all texts escaped.

    >>> html_table('', ['m', 'x < 1'], [], 0).splitlines()[1]
    '<table><tr><th>m</th><th>x &lt; 1</th></tr></table></div>'
    """
    lines = [
        f'<div class="{NO_FORMULAS}"><p>{_text(caption)}</p>',
        f'<table><tr>{"".join(_cells("th", header))}</tr>'
    ]
    for name, *cells in islice(rows, MOST_ROWS):
        lines.append(f'<tr><th style="text-align: left">{_text(name)}</th>'
                     f'{"".join(_cells("td", cells, 1))}</tr>')
    lines[-1] += '</table>'
    if n_rows > MOST_ROWS:
        notes = [f'... {n_rows - MOST_ROWS} more rows', *notes]
    lines += [f'<p>{_text(note)}</p>' for note in notes]
    lines[-1] += '</div>'
    return '\n'.join(lines)


def _cells(tag: str, texts: Sequence[str], n_before: int = 0) -> list[str]:
    """Cells of a row, of which some stand before; the last counts the rest."""
    most = MOST_COLUMNS - n_before
    if len(texts) > most:
        texts = [*texts[:most], f'... {len(texts) - most} more']
    return [f'<{tag}>{_text(text)}</{tag}>' for text in texts]


def _text(text: str) -> str:
    return html.escape(visible(text))
