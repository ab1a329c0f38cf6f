"""Values that readers stumble over, and texts that hold them: forgeries.

A forgery is a file that somebody wrote on purpose: every digest in it is
right, and what it says need not be.
"""
import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import yaml

#: Names that are dangerous on a terminal, in a path, a page or a spreadsheet.
NAMES = ('', ' ', '\0', '\x1b[2J', '\u202etxt.exe', '../../x', '/etc/passwd',
         'a/b', '..', '.', '\ud800', '=cmd|x!A1', '<b onclick="x">', '| a |',
         'a\nb', 'model', 'x' * 300, '\u0065\u0301', '１', 'nan', '@', '\ufeff')
NUMBERS = (0, -1, 1, 2, 0.5, -0.5, 100, 2**31, 2**63, -2**63, 2**64, 10**400,
           1e308, -1e308, 1e-300, math.nan, math.inf, -math.inf, True)
VALUES = (*NAMES, *NUMBERS, None, [], {}, [[]], 'x' * 300_000)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container inside a JSON value, with each of its keys."""
    if isinstance(value, dict):
        keys: Any = list(value)
    else:
        keys = range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def forge_json(rng: Random, text: str) -> str:
    """JSON of which one value is another, twice, missing or a bomb."""
    box = [json.loads(text)]
    container, key = rng.choice(list(places(box)))
    match rng.randrange(6):
        case 0 | 1:
            container[key] = rng.choice(VALUES)
        case 2:
            container[key] = rng.choice(('@deep', '@wide', '@large'))
        case 3:
            if container is not box:
                del container[key]
        case 4:
            twin = rng.choice((container[key], *VALUES))
            if isinstance(container, dict):
                container['@' + key] = twin
            else:
                container.insert(key, twin)
        case 5:
            if isinstance(container, dict):
                container[rng.choice(NAMES)] = container.pop(key)
            else:
                container[key] = [container[key]]
    forged = json.dumps(box)[1:-1]
    deep, wide = rng.choice((60, 2000, 200_000)), rng.choice((1000, 300_000))
    for mark, raw in (('@deep', '[' * deep + ']' * deep),
                      ('@wide', '[' + '0,' * wide + '0]'), ('@large',
                                                            '1e999')):
        forged = forged.replace(f'"{mark}"', raw)
    # The second of two equal keys.
    return forged.replace(f'"@{key}":', f'"{key}":')


def forge_json_lines(rng: Random, text: str) -> str:
    """JSON lines of which one is forged, doubled, moved or missing."""
    lines = text.split('\n')[:-1]
    index = rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            lines.insert(index, rng.choice(lines))
        case 1:
            lines.pop(index)
        case 2:
            rng.shuffle(lines)
        case _:
            lines[index] = forge_json(rng, lines[index])
    return rng.choice(('\n', '\n', '\r\n', '\n\n')).join((*lines, ''))


#: Cells of tables besides the names above.
_CELLS = ('-1', '1_0', '１２', '0x10', '1e400', 'inf', 'NaN', '1,5', ' 0.5 ',
          '0.5%', '5e-1', '9' * 400, 'x' * 200_000, '"', 'True', '0', '1',
          '+0.5', '1e-300', '54.3', '١٢')


def forge_csv(rng: Random, text: str) -> str:
    """A table with a strange cell, or with a row or column too many.

    A list of names, one a line, is a table of one column.
    """
    rows = list(csv.reader(io.StringIO(text)))
    row = rng.randrange(len(rows))
    column = rng.randrange(len(rows[0]))
    match rng.randrange(9):
        case 0:
            rows.insert(row, list(rng.choice(rows)))
        case 1:
            rows.pop(row)
        case 2:
            other = rng.randrange(len(rows[0]))
            rows = [[*cells, cells[other]] for cells in rows]
        case 3:
            rows = [cells[:column] + cells[column + 1:] for cells in rows]
        case 4:
            rows[row].append(rng.choice(_CELLS))
        case 5:
            rows[row].pop()
        case _:
            rows[row][column] = rng.choice((*_CELLS, *NAMES))
    file = io.StringIO()
    end = rng.choice(('\n', '\n', '\n', '\r\n', '\r'))
    csv.writer(file, lineterminator=end).writerows(rows)
    return file.getvalue()


_ALIASES = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]\n' for n in range(1, 12))
_YAML_BOMBS = (
    _ALIASES,
    _ALIASES + '<<: *a11\n',
    '- ' + _ALIASES.replace('\n', '\n  '),
    '- &a [*a]\n',
    '- &a {name: *a, dataset: *a, count: 1}\n',
    '[' * 50_000,
    '{a: ' * 5_000,
    '- !!python/object/apply:os.getcwd []\n',
    '- name: 2024-99-99\n  dataset: x\n  count: 1\n',
    '- name: 2024-01-01T99:99:99Z\n  dataset: x\n  count: 1\n',
    '- name: !!int x\n  dataset: x\n  count: 1\n',
    '- name: !!binary x\n  dataset: x\n  count: 1\n',
    '- name: a\n  name: b\n  dataset: x\n  count: 1\n',
    '- {name: a, dataset: x, count: 1_000}\n',
    '- {name: a, dataset: x, count: 190:20:30}\n',
    '- {name: a, dataset: x, count: 0b101}\n',
    '- {[a]: b}\n',
    '- {? {a: b} : c}\n',
    '--- a\n--- b\n',
    '%YAML 9.9\n--- a\n',
    '- name: "\\ud800"\n  dataset: x\n  count: 1\n',
    '- name: a\n\tdataset: x\n',
    '- &a name: *b\n',
    '- <<: 1\n',
    '- <<: [{name: a}, {name: b}]\n  dataset: x\n  count: 1\n',
)


def forge_yaml(rng: Random, text: str) -> str:
    """A YAML bomb, or a list with a forged value."""
    if rng.random() < .4:
        return rng.choice(_YAML_BOMBS)
    return forge_json(rng, json.dumps(yaml.safe_load(text)))


FORGERS: dict[str, Callable[[Random, str], str]] = {
    '.json': forge_json,
    '.jsonl': forge_json_lines,
    '.csv': forge_csv,
    '.txt': forge_csv,
    '.yaml': forge_yaml,
}
