"""This package's method and others on real models, in one table.

    OMP_NUM_THREADS=1 python -m tools.studies.compare_real_methods \\
        --out outputs/methods

The table of docs/appendix/real_runs.md, from the data that docs/results.md
names, which are not part of the repository but lie at ../shared/real. Options
behind `--` go to `python -m tools.studies.compare_methods`, such as `--
--methods pca ridge`.
"""
import csv
import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Optional

from tabulate import tabulate

from csv_plugin.io.tables import write_csv
from tools.studies import compare_methods
from tools.studies.options import parser_of

REAL = Path('../shared/real')
#: Benchmarks of the 89 models that are nearly the same.
DOUBLES = ('piqa=core_piqa', 'arc_easy=core_arc_easy',
           'lambada_openai_invppl=core_lambada')
#: What the names of the items of Gemstones begin with.
OWN_UNITS = ('arc_challenge=arcc', 'arc_easy=arce', 'commonsense_qa=coqa',
             'openbookqa=openbook')


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = parser_of(__doc__)
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
    """All methods in several comparisons, as a Markdown table."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    looks_at = {}
    for name, path in folders.items():
        with (path / 'methods.csv').open(newline='') as file:
            for row in csv.DictReader(file):
                method = row.pop('method')
                looks_at[method] = row.pop('looks_at')
                found.setdefault(method, {})[name] = {
                    key: float(value or 'nan')
                    for key, value in row.items()
                }
    first = next(iter(found))
    rows = [[
        method, looks_at[method],
        *chain.from_iterable(cells(parts.get(name)) for name in folders)
    ] for method, parts in found.items()]
    header = ['method', 'looks at']
    for name in folders:
        header += [f'{name}: MSE', f'of {first}', 'coverage (width)']
    return tabulate(rows, header, tablefmt='pipe', disable_numparse=True)


def cells(row: Optional[dict[str, float]]) -> list[str]:
    """MSE in 1e-3, its share with an interval, coverage and width."""
    if row is None or math.isnan(row['mse']):
        return ['-'] * 3
    share = (f'{row["ratio"]:.2f} '
             f'({row["ratio_low"]:.2f} - {row["ratio_high"]:.2f})')
    if row['ratio_low'] == row['ratio_high'] == 1:
        share = '1'
    return [
        f'{1e3 * row["mse"]:.3f}', share,
        f'{row["coverage"]:.2f} ({100 * row["width"]:.1f})'
    ]


if __name__ == '__main__':
    main()
