"""This package's method and others on real models, in one table.

    OMP_NUM_THREADS=1 python -m tests.bench.compare_real_methods \\
        --out outputs/methods

The tables of docs/other_methods.md, from the data that docs/results.md names,
which are not part of the repository but lie at ../shared/real. Options behind
`--` go to `salience compare-methods`, such as `-- --methods pca ridge`.
"""
import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from tabulate import tabulate

from csv_plugin.cli import compare_methods
from csv_plugin.io.tables import write_csv

REAL = Path('../shared/real')
#: Benchmarks of the 89 models that are nearly the same.
DOUBLES = ('piqa=core_piqa', 'arc_easy=core_arc_easy',
           'lambada_openai_invppl=core_lambada')
#: What the names of the items of Gemstones begin with.
OWN_UNITS = ('arc_challenge=arcc', 'arc_easy=arce', 'commonsense_qa=coqa',
             'openbookqa=openbook')


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--out', required=True, type=Path)
    parser.add_argument('options', nargs='*')
    args = parser.parse_args(argv)
    gemstones = REAL / 'gemstones'
    args.out.mkdir(parents=True, exist_ok=True)
    sizes = with_sizes(gemstones / 'models.csv', args.out / 'gemstones.csv')
    runs = {
        'Gemstones': [
            *tables(gemstones, 'losses.safetensors', sizes), '--own-units',
            *OWN_UNITS
        ],
        'larger models': [*tables(REAL), '--doubles', *DOUBLES],
        'families':
        [*tables(REAL), '--doubles', *DOUBLES, '--leave-family-out']
    }
    for name, options in runs.items():
        compare_methods.main([
            *options, '--fit', 'train', 'val', '--predict', 'test',
            *args.options, '--out',
            str(folder(args.out, name))
        ])
    print(joined({name: folder(args.out, name) for name in runs}))


def folder(out: Path, name: str) -> Path:
    return out / name.replace(' ', '_').lower()


def tables(root: Path,
           losses: str = 'losses.csv',
           models: Optional[Path] = None) -> list[str]:
    """Options that name the tables of a folder."""
    return [
        f'--losses={root / losses}', f'--scores={root / "scores.csv"}',
        f'--models={models or root / "models.csv"}',
        f'--benchmarks={root / "benchmarks.csv"}'
    ]


def with_sizes(models: Path, target: Path) -> Path:
    """A copy of the table of models with sizes, from widths and depths.

    Twelve times width squared times depth are the parameters of the blocks
    but for a factor that all models share, which a power law does not see.
    """
    with models.open(newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        width, depth = map(int, row['run'].split('x'))
        row['params_b'] = 12e-9 * width**2 * depth
    write_csv(target, [*rows[0]], [[*row.values()] for row in rows])
    return target


def joined(folders: dict[str, Path]) -> str:
    """MSE of all methods in several comparisons, as a Markdown table."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, path in folders.items():
        with (path / 'methods.csv').open(newline='') as file:
            for row in csv.DictReader(file):
                found.setdefault(row['method'], {})[name] = row
    rows = [[
        method,
        next(iter(parts.values()))['looks_at'],
        *cells(parts.get(name) for name in folders)
    ] for method, parts in found.items()]
    header = ['method', 'looks at']
    for name in folders:
        header += [f'{name}: MSE', 'coverage']
    return tabulate(rows, header, tablefmt='pipe', disable_numparse=True)


def cells(rows: Iterable[Optional[dict[str, str]]]) -> Iterable[str]:
    """MSE in 1e-3 and coverage, a dash for none."""
    for row in rows:
        for name, scale, digits in (('mse', 1e3, 3), ('coverage', 1, 2)):
            value = float(row[name] or 'nan') if row else float('nan')
            yield f'{scale * value:.{digits}f}' if value == value else '-'


if __name__ == '__main__':
    main()
