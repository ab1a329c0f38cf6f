"""Count what the project consists of.

    python tools/count_lines.py [FOLDER]

prints one line per aim: lines, lines of code and files of the package, lines
of its tests, public names and verbs. A line of code is one with a token that
is neither a comment nor part of a docstring.
"""
import ast
import io
import sys
import tokenize
from pathlib import Path

#: Tokens that make no line a line of code.
_SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
    tokenize.DEDENT, tokenize.ENDMARKER
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Lines that hold code.

    >>> code_lines('# why\\nx = [1,\\n     2]  # two\\n')
    2
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(source))


def _docstring_lines(source: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node):
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or 0) + 1))
    return lines


def sources(folder: Path) -> list[str]:
    """Of all Python files below a folder that git would not ignore."""
    return [
        path.read_text('utf-8') for path in sorted(folder.rglob('*.py'))
        if '__pycache__' not in path.parts
    ]


def entries(path: Path, name: str) -> int:
    """Number of entries of a dictionary that a module defines at its top."""
    for node in ast.parse(path.read_text('utf-8')).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            if ast.unparse(node.targets[0]) == name:
                return len(node.value.keys)
    raise KeyError(f'{path}: there is no dictionary {name}')


def main(root: Path) -> None:
    package, tests = (sources(root / n) for n in ('csv_plugin', 'tests'))
    for words, number, aim in (
        ('lines of the package', sum(map(_n_lines, package)), 25_000),
        ('of these code', sum(map(code_lines, package)), 16_500),
        ('files of the package', len(package), 170),
        ('lines of tests', sum(map(_n_lines, tests)), 26_000),
        ('public names', entries(root / 'csv_plugin/__init__.py',
                                 '_PUBLIC'), 45),
        ('verbs', entries(root / 'csv_plugin/cli/salience.py', 'VERBS'), 16),
    ):  # yapf: disable
        print(f'{words:21} {number:6,} (aim: at most {aim:,})')


def _n_lines(source: str) -> int:
    return len(source.splitlines())


if __name__ == '__main__':
    main(Path(sys.argv[1] if len(sys.argv) > 1 else '.'))
