"""Everything in the package can be reached from what users start or import.

Reached are the public interface (`csv_plugin.__all__`), the `main` of every
command, the files in tools/ and configs/, the configs of the package, what is
registered with OpenCompass, and then whatever reached code names. Where the
source does not tell what a name stands for, it counts as reached: what is
reported is surely unused, except by tests.
"""
import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from tests.package_source import PACKAGE, ROOT, imported_from

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Bases that call no method of a class by themselves.
INERT_BASES = {'object', 'ABC', 'Generic', 'NamedTuple', 'TypedDict'}


def is_dunder(name: str) -> bool:
    """Whether Python calls it by itself, or Jupyter does."""
    return (name == '_repr_html_'
            or name.startswith('__') and name.endswith('__'))


def flat(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Top-level statements, with those inside of `if`, `try` and `with`."""
    for node in statements:
        if not isinstance(node, (ast.If, ast.Try, ast.With)):
            yield node
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ExceptHandler):
                yield from flat(child.body)
            else:
                yield from flat([child])


def imported_names(
        node: ast.AST,
        package: str) -> Iterator[tuple[str, str, str]]:  # yapf: disable
    """(name, what it stands for, what is loaded) of an import statement."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.split('.')[0]
            yield name, alias.name if alias.asname else name, alias.name
    elif isinstance(node, ast.ImportFrom):
        base = imported_from(node, package)
        for alias in node.names:
            target = f'{base}.{alias.name}'
            yield alias.asname or alias.name, target, target


class Module:
    """A file's top level.

    Attributes:
        definitions: Functions, classes and constants, by name.
        imports: What imported names stand for, absolute and dotted.
        loads: What its import statements load.
        statements: Everything else, which runs when the module is loaded.
    """

    def __init__(self, path: str, source: str):
        parts = path.removesuffix('.py').split('/')
        is_package = parts[-1] == '__init__'
        self.name = '.'.join(parts[:-1] if is_package else parts)
        self.package = '.'.join(parts[:-1])
        self.definitions: dict[str, list[ast.AST]] = {}
        self.imports: dict[str, str] = {}
        self.loads: set[str] = set()
        self.statements: list[ast.AST] = []
        for node in flat(without_docstring(ast.parse(source))):
            self._add(node)

    def _add(self, node: ast.AST) -> None:
        names = []
        if isinstance(node, (*Function, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = getattr(node, 'targets', [getattr(node, 'target', None)])
            names = [
                child.id for target in targets for child in ast.walk(target)
                if isinstance(child, ast.Name) and not is_dunder(child.id)
            ]
        for name, target, loaded in imported_names(node, self.package):
            self.imports[name] = target
            self.loads.add(loaded)
        for name in names:
            self.definitions.setdefault(name, []).append(node)
        if not names and not isinstance(node, (ast.Import, ast.ImportFrom)):
            self.statements.append(node)

    @property
    def registered(self) -> Iterator[tuple[str, bool]]:
        """(name, whether OpenCompass has it) of what registers itself."""
        for name, nodes in self.definitions.items():
            for decorator in getattr(nodes[-1], 'decorator_list', ()):
                function = getattr(decorator, 'func', decorator)
                last = ast.unparse(function).split('.')[-1]
                if last.startswith('register'):
                    yield name, last == 'register_module'


@dataclass
class Uses:
    """What some code names."""
    names: set[str] = field(default_factory=set)
    #: `a.b.c` as it stands there.
    chains: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    #: Of import statements in functions.
    imports: dict[str, str] = field(default_factory=dict)
    loads: set[str] = field(default_factory=set)

    def add(self, node: ast.AST, package: str) -> None:
        for name, target, loaded in imported_names(node, package):
            self.imports[name] = target
            self.loads.add(loaded)
        if isinstance(node, ast.Attribute):
            self.attributes.add(node.attr)
            chain = attribute_chain(node)
            if chain:
                self.chains.add('.'.join(chain))
                self.attributes.update(chain[1:])
                # The name that the chain begins with is not a value alone.
                return
        elif isinstance(node, ast.Name):
            self.names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.strings.add(node.value)
            annotation = quoted_annotation(node.value)
            if annotation:
                self.add(annotation, package)
        for child in without_docstring(node):
            self.add(child, package)


def attribute_chain(node: ast.AST) -> list[str]:
    """The names of `a.b.c`, or none if it begins with another expression."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def quoted_annotation(text: str) -> ast.AST | None:
    """The expression that a text is, if it may be a type in quotes."""
    if re.fullmatch(r'[\w.\[\], |]*\b_?[A-Z][\w.\[\], |]*', text):
        with contextlib.suppress(SyntaxError):
            return ast.parse(text, mode='eval').body
    return None


def without_docstring(node: ast.AST) -> Iterator[ast.AST]:
    """Children of a node, but for its docstring."""
    body = getattr(node, 'body', None)
    first = body[0] if isinstance(body, list) and body else None
    has_docstring = (
        isinstance(node, (ast.Module, *Function, ast.ClassDef))
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant))
    for child in ast.iter_child_nodes(node):
        if not (has_docstring and child is first):
            yield child


class Search:
    """What is reached, beginning with the roots.

    Args:
        sources (Mapping[str, str]): Python files by path, such as
            csv_plugin/core/losses.py.
        templates (str): Jinja templates, whose code names attributes too.
    """

    def __init__(self, sources: Mapping[str, str], templates: str = ''):
        modules = [Module(path, text) for path, text in sources.items()]
        self.modules = {module.name: module for module in modules}
        self.loaded: set[str] = set()
        self.reached: set[tuple[str, str]] = set()
        code = ' '.join(re.findall(r'\{[{%].*?[%}]\}', templates, re.DOTALL))
        self.attributes = set(re.findall(r'\w+', code))
        #: Modules used as values, of which any attribute may be taken.
        self.values: set[str] = set()
        #: Methods that wait for their name to be used.
        self.waiting: list[tuple[Module, str, ast.AST]] = []
        self.interface: set[tuple[str, str]] = set()
        self._find_roots()
        self._go_on()

    def unreached(self) -> list[str]:
        """Modules, definitions and methods of the package, by dotted name."""
        names = [f'{m.name}.{name}.{node.name}'
                 for m, name, node in self.waiting]  # yapf: disable
        for module in self.modules.values():
            dead = [
                f'{module.name}.{name}' for name in module.definitions
                if (module.name, name) not in self.reached
            ]
            if module.name.split('.')[0] != PACKAGE:
                continue
            never = module.name not in self.loaded and dead
            names += [module.name] if never else dead
        return sorted(names)

    def _find_roots(self) -> None:
        for module in self.modules.values():
            top, _, rest = module.name.partition('.')
            if top != PACKAGE or rest.split('.')[0] in ('', 'configs'):
                self._load(module.name)
                for name in module.definitions:
                    self._reach(module.name, name)
            elif rest.split('.')[0] == 'cli' and 'main' in module.definitions:
                self._reach(module.name, 'main')
            for name, by_host in module.registered:
                if by_host:
                    self._reach(module.name, name)
        if PACKAGE in self.modules:
            self._open(self.modules[PACKAGE])

    def _open(self, door: Module) -> None:
        """Reach the public interface: all that `csv_plugin` names."""
        uses = Uses()
        for nodes in [*door.definitions.values(), door.statements]:
            for node in nodes:
                uses.add(node, door.package)
        words = {word for text in uses.strings
                 for word in re.findall(r'\w+', text)}  # yapf: disable
        # Where it also names modules, only those are meant.
        paths = {path for text in uses.strings
                 for path in re.findall(r'[\w.]+', text)}  # yapf: disable
        homes = [
            module for module in self.modules.values()
            if {module.name, module.name.partition('.')[2]} & paths
        ]
        for module in homes or list(self.modules.values()):
            for name in words:
                for target in self._meanings(module, name):
                    self._publish(*target)
        for target in door.imports.values():
            for name in self._resolve(target):
                self._publish(*name)

    def _publish(self, module_name: str, name: str) -> None:
        """Reach the public methods of a class, and of what they return."""
        if (module_name, name) in self.interface:
            return
        self.interface.add((module_name, name))
        self._reach(module_name, name)
        module = self.modules[module_name]
        for node in module.definitions.get(name, ()):
            functions = [node]
            if isinstance(node, ast.ClassDef):
                functions = [
                    method for method in node.body
                    if isinstance(method, Function)
                    and not method.name.startswith('_')
                ]
                self.attributes |= {method.name for method in functions}
            for function in functions:
                returned = Uses()
                if getattr(function, 'returns', None):
                    returned.add(function.returns, module.package)
                for word in returned.names | returned.chains:
                    for target in self._meanings(module, word):
                        self._publish(*target)

    def _meanings(self, module: Module, chain: str) -> list[tuple[str, str]]:
        """(module, name) that a chain stands for at a module's top level."""
        name, _, rest = chain.partition('.')
        if name in module.definitions:
            return [(module.name, name)]
        if name in module.imports:
            return self._resolve(f'{module.imports[name]}.{rest}'.strip('.'))
        return []

    def _resolve(self, target: str) -> list[tuple[str, str]]:
        """(module, name) behind an absolute dotted name; none for a module.

        The module is loaded.
        """
        parts = target.split('.')
        for n in range(len(parts), 0, -1):
            module = self.modules.get('.'.join(parts[:n]))
            if module is None:
                continue
            self._load(module.name)
            rest = parts[n:]
            if not rest:
                self.values.add(module.name)
                return []
            if rest[0] in module.definitions:
                return [(module.name, rest[0])]
            if rest[0] in module.imports:
                target = '.'.join([module.imports[rest[0]], *rest[1:]])
                return self._resolve(target)
            if '__getattr__' in module.definitions:
                return [(other.name, rest[0])
                        for other in self.modules.values()
                        if rest[0] in other.definitions]
            return []
        return []

    def _load(self, name: str) -> None:
        """Run a module's top level, and that of the packages it lies in."""
        module = self.modules.get(name)
        if module is None or name in self.loaded:
            return
        self.loaded.add(name)
        self._load(name.rpartition('.')[0])
        for target in module.loads:
            self._load_part(target)
        for node in module.statements:
            self._use(module, node)
        for registered, _ in module.registered:
            self._reach(name, registered)

    def _load_part(self, target: str) -> None:
        """Load the module that `from module import name` loads."""
        is_module = target in self.modules
        self._load(target if is_module else target.rpartition('.')[0])

    def _reach(self, module_name: str, name: str) -> None:
        if (module_name, name) in self.reached:
            return
        self.reached.add((module_name, name))
        self._load(module_name)
        module = self.modules[module_name]
        for node in module.definitions[name]:
            if not isinstance(node, ast.ClassDef):
                self._use(module, node)
                continue
            is_called = self._is_called_by_others(module, node)
            for child in without_docstring(node):
                if (not isinstance(child, Function) or is_called
                        or is_dunder(child.name)):
                    self._use(module, child)
                else:
                    self.waiting.append((module, name, child))

    def _is_called_by_others(self, module: Module, node: ast.ClassDef) -> bool:
        """Whether code that is not ours may call a class's methods.

        The names of a protocol's methods count as used.
        """
        for base in node.bases:
            base = base.value if isinstance(base, ast.Subscript) else base
            chain = ast.unparse(base)
            if chain.split('.')[-1] == 'Protocol':
                self.attributes |= {
                    method.name
                    for method in node.body if isinstance(method, Function)
                }
            elif chain.split('.')[-1] in INERT_BASES:
                continue
            ours = [(self.modules[owner], parent)
                    for owner, name in self._meanings(module, chain)
                    for parent in self.modules[owner].definitions[name]
                    if isinstance(parent, ast.ClassDef)]
            if not ours or any(
                    self._is_called_by_others(*parent) for parent in ours):
                return True
        return False

    def _use(self, module: Module, node: ast.AST) -> None:
        """Reach all that some code names."""
        uses = Uses()
        uses.add(node, module.package)
        # Strings name what is taken with `getattr`.
        self.attributes |= uses.attributes | uses.strings
        for target in uses.loads:
            self._load_part(target)
        targets = set(uses.imports.values())
        targets |= {s for s in uses.strings if s.startswith(f'{PACKAGE}.')}
        for chain in uses.names | uses.chains:
            base, _, rest = chain.partition('.')
            if base in uses.imports:
                targets.add(f'{uses.imports[base]}.{rest}'.strip('.'))
            for meaning in self._meanings(module, chain):
                self._reach(*meaning)
        for target in targets:
            for meaning in self._resolve(target):
                self._reach(*meaning)

    def _go_on(self) -> None:
        """Reach what only names that were found later lead to."""
        size = -1
        while size != (size := len(self.reached) + len(self.attributes) -
                       len(self.waiting)):
            for waiting in list(self.waiting):
                module, _, node = waiting
                if node.name in self.attributes:
                    self.waiting.remove(waiting)
                    self._use(module, node)
            for name in list(self.values):
                module = self.modules[name]
                for definition in self.attributes & set(module.definitions):
                    self._reach(name, definition)


def test_nothing_in_the_package_is_unreachable():
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding='utf-8')
        for folder in (PACKAGE, 'tools', 'configs')
        for path in sorted((ROOT / folder).rglob('*.py'))
    }
    templates = '\n'.join(
        path.read_text(encoding='utf-8')
        for path in (ROOT / PACKAGE).rglob('*.jinja'))
    unreached = Search(sources, templates).unreached()
    assert not unreached, 'only tests use:\n' + '\n'.join(unreached)


def unreached(sources: Mapping[str, str]) -> list[str]:
    """Of a package with these modules, by path below csv_plugin."""
    files = {f'{PACKAGE}/{path}': text for path, text in sources.items()}
    return Search(files).unreached()


COMMAND = """
from csv_plugin.core.used import Class, function
def main():
    Class().method(function)
"""


def test_dead_functions_classes_and_constants_are_noticed():
    sources = {
        'cli/start.py': COMMAND + 'def other(): return main()',
        'core/used.py': """
import csv_plugin.core.far as far
LIMIT, UNUSED = 1, 2
NEVER: int = 3
class Class:
    def method(self, f): return f(LIMIT)
def function(): return far.near()
def dead(): return far.only_dead()
def recursive(): return recursive()
class Dead(Class):
    def method(self): pass
""",
        'core/far.py': """
def near(): pass
def only_dead(): pass
""",
    }
    assert unreached(sources) == [
        'csv_plugin.cli.start.other', 'csv_plugin.core.far.only_dead',
        'csv_plugin.core.used.Dead', 'csv_plugin.core.used.NEVER',
        'csv_plugin.core.used.dead', 'csv_plugin.core.used.recursive'
    ]


def test_dead_methods_are_noticed():
    sources = {
        'cli/start.py':
        COMMAND,
        'core/used.py':
        """
from typing import NamedTuple, Protocol
from elsewhere import Base
class Row(NamedTuple):
    cell: int
    def taken(self): pass
    def unused(self): pass
class Shape(Protocol):
    def asked(self): ...
class Class:
    def __init__(self): self.rows = Row(1).taken
    def method(self, f): f(Child, Grandchild, Shape)
    def by_name(self): pass
    @property
    def forgotten(self): return self.only_forgotten()
    def only_forgotten(self): pass
    def asked(self): pass
class Child(Base):
    def called_by_base(self): pass
class Grandchild(Child):
    def called_by_base_too(self): pass
def function(): getattr(Class(), 'by_name')
""",
    }
    assert unreached(sources) == [
        'csv_plugin.core.used.Class.forgotten',
        'csv_plugin.core.used.Class.only_forgotten',
        'csv_plugin.core.used.Row.unused'
    ]


def test_dead_modules_are_noticed():
    sources = {
        'cli/start.py': COMMAND,
        'core/used.py':
        'def function(): pass\nclass Class:\n    def method(self, f): pass',
        'core/alone.py': 'from csv_plugin.core.of_alone import f\nx = f',
        'core/of_alone.py': 'def f(): pass',
        'io/circle.py': 'from csv_plugin.io.other import g\ndef f(): g()',
        'io/other.py': 'from csv_plugin.io.circle import f\ndef g(): f()',
    }
    assert unreached(sources) == [
        'csv_plugin.core.alone', 'csv_plugin.core.of_alone',
        'csv_plugin.io.circle', 'csv_plugin.io.other'
    ]


@pytest.mark.parametrize('start', [
    'from csv_plugin.core.deep import alive\ndef main(): alive()',
    'from csv_plugin.core import deep as d\ndef main(): d.alive()',
    'import csv_plugin.core.deep\ndef main(): csv_plugin.core.deep.alive()',
    'def main():\n    from csv_plugin.core.deep import alive\n    alive()',
    'from csv_plugin.core import deep\nfor m in [deep]: m.alive()\n'
    'def main(): pass',
    'from csv_plugin.core import alive as a\ndef main(b=a): pass',
    'def main(): x = __import__("csv_plugin.core.deep"); x.alive()',
    'def main(): return "csv_plugin.core.deep.alive"',
    'from .. import core\ndef main(): core.alive()',
    'from csv_plugin import core\n@core.deep.alive\ndef main(): pass',
    'from csv_plugin.core import alive\ndef main() -> "list[Kind]": pass\n'
    'class Kind:\n    @alive\n    class Inner: pass',
])
def test_every_way_of_naming_reaches(start):
    sources = {
        'cli/start.py': start,
        'core/__init__.py': 'from csv_plugin.core.deep import alive',
        'core/deep.py': 'def alive(): pass\ndef dead(): pass',
    }
    assert unreached(sources) == ['csv_plugin.core.deep.dead']


def test_roots():
    """Tools, all configs, and what is registered with OpenCompass."""
    sources = {
        'tools/start.py':
        'from csv_plugin.io.tables import by_tool\nby_tool()',
        'configs/run.py':
        'with read_base():\n    from csv_plugin.io.tables import by_config\n'
        'x = by_config()',
        'csv_plugin/configs/models.py':
        'def for_users(): pass',
        'csv_plugin/io/tables.py':
        'def by_tool(): pass\ndef by_config(): pass\ndef dead(): pass',
        'csv_plugin/oc/models.py':
        """
from csv_plugin.oc.needed import f
@MODELS.register_module()
class Model(Base):
    def method(self): f()
class Dead: pass
""",
        'csv_plugin/oc/needed.py':
        'def f(): pass',
    }
    assert Search(sources).unreached() == [
        'csv_plugin.io.tables.dead', 'csv_plugin.oc.models.Dead'
    ]


@pytest.mark.parametrize('door', [
    'from csv_plugin.core.api import fit\n__all__ = ["fit"]',
    '__all__ = ["fit"]\ndef __getattr__(name): return load(name)',
    '_HOMES = {"core.api": ("fit",)}\n__all__ = sorted(_HOMES)',
    '_HOMES = {"make": "csv_plugin.core.api:fit"}\n__all__ = list(_HOMES)',
    '_HOMES = {"make": ("core", "fit")}\n__all__ = list(_HOMES)',
    'if TYPE_CHECKING:\n    from csv_plugin.core.api import fit',
])
def test_public_interface(door):
    """With the public methods of what it gives to users."""
    sources = {
        '__init__.py':
        door,
        'core/__init__.py':
        'from csv_plugin.core.api import fit',
        'core/api.py':
        """
from csv_plugin.core import results
def fit() -> 'results.Fit | None': pass
def dead(): pass
""",
        'core/results.py':
        """
class Fit:
    def predict(self) -> list['Rows']: return [Rows()]
    def _unused(self): pass
class Rows:
    def to_frame(self): pass
""",
    }
    assert unreached(sources) == [
        'csv_plugin.core.api.dead', 'csv_plugin.core.results.Fit._unused'
    ]


def test_templates_use_attributes():
    sources = {
        'tools/start.py':
        'from csv_plugin.report.rows import Row\nRow()',
        'csv_plugin/report/rows.py':
        """
class Row:
    def shown(self): pass
    def mentioned(self): pass
""",
    }
    template = '<p>mentioned {{ row.shown() }}</p>'
    assert Search(sources, template).unreached() == [
        'csv_plugin.report.rows.Row.mentioned'
    ]
