"""Names in Markdown."""


def table_cell(text: str) -> str:
    r"""A text inside a cell of a table: on one line, and as it reads.

    >>> table_cell('a|b <i>\nc')
    'a\\|b &lt;i> c'
    """
    line = ' '.join(text.split())
    return line.replace('\\', '\\\\').replace('|', '\\|').replace('<', '&lt;')
