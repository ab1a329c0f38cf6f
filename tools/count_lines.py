"""Count what the project consists of.

    python tools/count_lines.py [FOLDER]

prints, for the package, its lines, files, lines of code, tokens per line of
code, comprehensions per 1,000 lines of code, numbers that are set at module
level, public names and verbs. Then it prints the lines of the tests.
"""
import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

#: Types of tokens that are not counted. A line with no other tokens is not a
#: line of code.
_SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
    tokenize.DEDENT, tokenize.ENDMARKER
}
#: Nodes of the syntax tree that can have a docstring.
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def code_of(source: str) -> tuple[int, int]:
    """Return the numbers of lines of code and of tokens in them.

    Tokens of comments and docstrings are not counted.

    >>> code_of('# why\\nx = [1,\\n     2]  # two\\n')
    (2, 7)
    """
    documented = _docstring_lines(source)
    lines: set[int] = set()
    n_tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type not in _SILENT and first not in documented:
            lines.update(range(first, last + 1))
            n_tokens += 1
    return len(lines), n_tokens


def _docstring_lines(source: str) -> set[int]:
    """Return the numbers of all lines that belong to docstrings."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node):
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or 0) + 1))
    return lines


def comprehensions(source: str) -> int:
    """Return the number of comprehensions and generator expressions.

    >>> comprehensions('[x for x in y if any(a for a in x)]')
    2
    """
    nodes = ast.walk(ast.parse(source))
    return sum(isinstance(node, _COMPREHENSIONS) for node in nodes)


def numbers(source: str) -> int:
    """Return how many names are set to numbers at the level of the module.

    A tuple or list of numbers counts once.

    >>> numbers('A = 1.5\\nB: int = -2 ** 3\\nC, D = 1, 2\\nE = print')
    3
    """
    total = 0
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            total += _is_number(node.value)
    return total


def _is_number(node: ast.AST | None) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return bool(node.elts) and all(map(_is_number, node.elts))
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    # The type of True is bool.
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def sources(folder: Path) -> Iterator[str]:
    """Yield the texts of all Python files below a folder."""
    for path in sorted(folder.rglob('*.py')):
        if '__pycache__' not in path.parts:
            yield path.read_text('utf-8')


def entries(path: Path, name: str) -> int:
    """Return the size of a dictionary that a file sets at module level.

    Raises:
        KeyError: The file has no dictionary of this name.
    """
    for node in ast.parse(path.read_text('utf-8')).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            if ast.unparse(node.targets[0]) == name:
                return len(node.value.keys)
    raise KeyError(f'{path}: there is no dictionary {name}')


def main(root: Path) -> None:
    """Print the counts of the project in the folder `root`."""
    package = root / 'csv_plugin'
    n_lines = n_files = n_code = n_tokens = n_comprehensions = n_numbers = 0
    for source in sources(package):
        lines_of_code, tokens = code_of(source)
        n_files += 1
        n_lines += len(source.splitlines())
        n_code += lines_of_code
        n_tokens += tokens
        n_comprehensions += comprehensions(source)
        n_numbers += numbers(source)
    public_names = entries(package / '__init__.py', '_PUBLIC')
    verbs = entries(package / 'cli/salience.py', 'VERBS')
    tests = sources(root / 'tests')
    lines_of_tests = sum(len(source.splitlines()) for source in tests)
    share = 1000 * n_comprehensions / n_code
    print(f'lines of the package      {n_lines:7,}')
    print(f'files of the package      {n_files:7,}')
    print(f'lines of code             {n_code:7,}')
    print(f'tokens per line of code   {n_tokens / n_code:7.2f}')
    print(f'comprehensions per 1,000  {share:7.1f}')
    print(f'numbers at module level   {n_numbers:7,}')
    print(f'public names              {public_names:7,}')
    print(f'verbs                     {verbs:7,}')
    print(f'lines of tests            {lines_of_tests:7,}')


if __name__ == '__main__':
    main(Path(sys.argv[1] if len(sys.argv) > 1 else '.'))
