"""Plant bugs, one at a time, and print those that no test notices.

    python tools/mutants.py --sample 100 --seed 0 [--rooms core lm oc ...]

A bug is a comparison, an operator, a number or a flag that is changed. The
quick tests run once to learn which of them run which lines; each bug then
meets only the quick tests that run its line, in a copy of the project. If none
does, as when the line runs at import, these are the tests that run any line of
its module, or all tests if none runs any.

A bug that no quick test notices meets slow tests, too: those of the files
whose quick tests run its line or, if there are none, those of the files named
after its module. A bug that they do not notice, either, survives.
"""
import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import NamedTuple

from coverage import CoverageData
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
#: Tests that a bug meets first: those of its own module, then kept numbers,
#: then those of its room. It meets the others if these do not notice it.
FIRST_TESTS = 200
#: Smaller numbers are tolerances, of which none is right to a factor of two.
LEAST_NUMBER = 1e-3
#: Whole numbers up to this one are counts or indices, which 1 too many breaks.
#: Larger ones are sizes: nobody could see one more of them.
MOST_COUNT = 10
#: After so many seconds a bug counts as noticed: it made something endless.
#: All quick tests take less than 200.
PATIENCE = 600
PYTEST = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider']
QUICK = 'not slow and not long'
SLOW = 'slow and not long'
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd
}  # yapf: disable
NAMES = {'min': 'max', 'max': 'min', 'minimum': 'maximum',
         'maximum': 'minimum', 'any': 'all', 'all': 'any'}  # yapf: disable


class Bug(NamedTuple):
    """A part of a file, as it is and as it is planted."""
    path: str
    line: int
    start: int
    end: int
    was: str
    becomes: str


def changed(node: ast.AST) -> ast.AST | None:
    """A copy of an expression with a bug, or None."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]):
            new.ops = [SWAPS[type(op)]()]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            if any(
                    isinstance(part, ast.JoinedStr)
                    or isinstance(getattr(part, 'value', None), str)
                    for part in ast.walk(new)):
                return None  # Words, joined.
            new.op = SWAPS[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return new.operand
        case ast.Constant(value=bool(flag)):
            new.value = not flag
        case ast.Constant(value=int(number)):
            new.value = number + 1 if number <= MOST_COUNT else number * 2
        case ast.Constant(value=float(number)) if number >= LEAST_NUMBER:
            new.value = number * 2
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            new.func.attr = NAMES[name]
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            new.func.id = NAMES[name]
        case ast.Call(func=ast.Attribute(attr='abs'), args=[value]):
            return value
        case _:
            return None
    return new


def expressions(node: ast.AST) -> Iterator[ast.AST]:
    """All that is computed: neither types nor messages nor decorators."""
    for name, value in ast.iter_fields(node):
        if name in ('annotation', 'returns', 'decorator_list', 'slice_type'):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(
                    child, (ast.Raise, ast.JoinedStr, ast.Import)):
                if isinstance(child, ast.expr):
                    yield child
                yield from expressions(child)


def bugs_of(path: Path) -> Iterator[Bug]:
    source = path.read_text('utf-8')
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    name = path.relative_to(ROOT).as_posix()
    for node in expressions(ast.parse(source)):
        new = changed(node)
        if new is not None:
            assert isinstance(node, ast.expr)
            yield Bug(
                name, node.lineno, starts[node.lineno - 1] + node.col_offset,
                starts[(node.end_lineno or 0) - 1] +
                (node.end_col_offset or 0), ast.unparse(node),
                f'({ast.unparse(new)})')


def copied(folder: Path) -> Path:
    """A copy of what git knows, beside the shared data if they are there."""
    place = folder / 'main'
    for name in subprocess.check_output(['git', 'ls-files', '-z'],
                                        cwd=ROOT,
                                        text=True).split('\0'):
        source, target = ROOT / name, place / name
        if name and source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    shared = ROOT.parent / 'shared'
    if shared.exists():
        (folder / 'shared').symlink_to(shared)
    return place


def test_files(rooms: list[str]) -> list[str]:
    return [f'{part}/{room}' for part in ('tests', 'csv_plugin')
            for room in rooms]  # yapf: disable


def tests_by_line(place: Path,
                  rooms: list[str]) -> dict[tuple[str, int], set[str]]:
    """Which quick tests run a line, by file and line."""
    environment = {**os.environ, 'PYTHONPATH': str(place)}
    subprocess.run([
        *PYTEST, '-m', QUICK, '-n', '2', '--dist', 'loadfile',
        '--cov=csv_plugin', '--cov-context=test', '--cov-report=',
        *test_files(rooms)
    ], cwd=place, env=environment, check=True)  # yapf: disable
    data = CoverageData(str(place / '.coverage'))
    data.read()
    by_file: dict[str, set[str]] = {}
    for context in filter(None, data.measured_contexts()):
        test = context.rpartition('|')[0]
        by_file.setdefault(test.partition('::')[0], set()).add(test)

    def tests(context: str) -> set[str]:
        test, _, phase = context.rpartition('|')
        # A fixture runs once, in the first of the tests that may share it.
        return by_file[test.partition('::')[0]] if phase == 'setup' else {test}

    return {(Path(file).relative_to(place.resolve()).as_posix(), line):
            set().union(*map(tests, filter(None, contexts)))
            for file in data.measured_files()
            for line, contexts in data.contexts_by_lineno(file).items()
            }  # yapf: disable


def slow_files(place: Path, rooms: list[str]) -> set[str]:
    """Files with slow tests."""
    listed = subprocess.run(
        [*PYTEST, '-m', SLOW, '--collect-only', *test_files(rooms)],
        cwd=place,
        capture_output=True,
        text=True).stdout.splitlines()
    return {line.partition('::')[0] for line in listed if '::' in line}


def files_of(tests: set[str], bug: Bug, place: Path) -> set[str]:
    """Files of tests or, if there are none, those named after the module."""
    if tests:
        return {test.partition('::')[0] for test in tests}
    room = place / 'tests' / bug.path.split('/')[1]
    name = f'test_{Path(bug.path).stem}*.py'
    return {file.relative_to(place).as_posix() for file in room.rglob(name)}


def is_noticed(bug: Bug, quick: set[str], files: set[str],
               place: Path) -> bool:
    """Whether a quick test, or a slow one of the files, fails with the bug."""
    room, own = bug.path.split('/')[1], f'/test_{Path(bug.path).stem}.py'

    def order(test: str) -> tuple[object, ...]:
        is_kept = '/test_numbers.py' in test
        return own not in test, not is_kept, f'/{room}/' not in test, test

    path = place / bug.path
    good = path.read_bytes()
    path.write_bytes(good[:bug.start] + bug.becomes.encode() + good[bug.end:])
    try:
        tests = sorted(quick, key=order)
        for some in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
            if some and fails(QUICK, some, place):
                return True
        # Slow tests of all files together would take too long.
        ordered = sorted(files, key=order)
        return any(fails(SLOW, [file], place) for file in ordered)
    finally:
        path.write_bytes(good)


def fails(mark: str, tests: list[str], place: Path) -> bool:
    """Whether one of the tests with the mark fails, or takes too long."""
    try:
        process = subprocess.run([*PYTEST, '-x', '-m', mark, *tests],
                                 cwd=place,
                                 env={**os.environ, 'PYTHONPATH': str(place),
                                      'OMP_NUM_THREADS': '1'},
                                 capture_output=True,
                                 timeout=PATIENCE)  # yapf: disable
    except subprocess.TimeoutExpired:
        return True
    return process.returncode != 0


def arguments() -> argparse.Namespace:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sample', type=int, default=100, metavar='N')
    parser.add_argument('--seed', type=int, default=0, metavar='N')
    parser.add_argument('--jobs', type=int, default=2, metavar='N')
    parser.add_argument(
        '--rooms',
        nargs='+',
        default=['core', 'lm', 'oc', 'triage', 'report', 'cli'])
    return parser.parse_args()


def main() -> None:
    args = arguments()
    bugs = [
        bug for room in args.rooms
        for path in sorted((ROOT / 'csv_plugin' / room).rglob('*.py'))
        for bug in bugs_of(path)
    ]
    planted = random.Random(args.seed).sample(bugs,
                                              min(args.sample, len(bugs)))
    places: Queue[Path] = Queue()
    with TemporaryDirectory() as folder:
        for job in range(args.jobs):
            places.put(copied(Path(folder) / str(job)))
        first = places.get()
        tests = tests_by_line(first, args.rooms)
        slow = slow_files(first, args.rooms)
        places.put(first)
        every = set().union(*tests.values())

        def meet(bug: Bug) -> bool:
            place = places.get()
            of_line = tests.get((bug.path, bug.line), set())
            of_module = set().union(*(found
                                      for (path, _), found in tests.items()
                                      if path == bug.path))
            quick = of_line or of_module or every
            files = files_of(of_line, bug, place) & slow
            try:
                return is_noticed(bug, quick, files, place)
            finally:
                places.put(place)

        n_survived = 0
        with ThreadPoolExecutor(args.jobs) as pool:
            noticed = tqdm(pool.map(meet, planted), total=len(planted))
            for found, bug in zip(noticed, planted):
                if not found:
                    n_survived += 1
                    noticed.write(f'{bug.path}:{bug.line}\n'
                                  f'    {bug.was}\n    {bug.becomes}')
    print(f'{n_survived} of {len(planted)} planted bugs survived, '
          f'out of {len(bugs):,} that could be planted (seed {args.seed}).')


if __name__ == '__main__':
    main()
