"""The package as source code: its modules, and what each of them imports."""
import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'csv_plugin'


def module_name(path: Path, root: Path = ROOT) -> str:
    """The dotted name of a file; of a package for its `__init__.py`."""
    parts = path.relative_to(root).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def source_files(root: Path = ROOT, package: str = PACKAGE) -> dict[str, Path]:
    """All modules of a package that lies in a folder, by dotted name."""
    return {
        module_name(path, root): path
        for path in sorted((root / package).rglob('*.py'))
    }


def package_of(path: Path, root: Path = ROOT) -> str:
    """The package that relative imports in a file start from."""
    return module_name(path.parent / '__init__.py', root)


def is_type_checking(node: ast.AST) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, which never runs."""
    return (isinstance(node, ast.If)
            and ast.unparse(node.test).split('.')[-1] == 'TYPE_CHECKING')


def imports(tree: ast.AST,
            package: str,
            type_checking: bool = True) -> Iterator[str]:
    """Absolute dotted names that a module of `package` imports anywhere.

    `from a import b` counts as `a.b`, since b may be a module, and so does
    `import_module('a.b')`.

    Args:
        tree (ast.AST): The module.
        package (str): Where its relative imports start.
        type_checking (bool): Whether to count what only type checkers read.
    """
    for node in run_nodes(tree) if not type_checking else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = imported_from(node, package)
            yield from (f'{base}.{alias.name}' for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = ast.unparse(node.func).split('.')[-1]
            name = getattr(node.args[0], 'value', None)
            if (function in ('__import__', 'import_module')
                    and isinstance(name, str)):
                yield importlib.util.resolve_name(name, package)


def imported_from(node: ast.ImportFrom, package: str) -> str:
    """The absolute name between `from` and `import`."""
    base = '.' * node.level + (node.module or '')
    return importlib.util.resolve_name(base, package)


def run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but the bodies of `if TYPE_CHECKING:`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not is_type_checking(child):
            yield from run_nodes(child)
        else:
            for node in child.orelse:
                yield from run_nodes(node)
