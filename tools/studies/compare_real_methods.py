"""This package's method and others on real models, in three comparisons.

    OMP_NUM_THREADS=1 python -m tools.studies.compare_real_methods \\
        --out outputs/methods

The tables of docs/appendix/real_runs.md, from the data that docs/results.md
names, which are not part of the repository but lie at ../shared/real. Options
behind `--` go to `python -m tools.studies.compare_methods`, such as `--
--methods pca ridge`.
"""
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

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
        print(f'\n## {name}\n')
        compare_methods.main([
            *options, '--fit', 'train', 'val', '--predict', 'test',
            *args.options, '--out',
            str(args.out / name.replace(' ', '_').lower())
        ])


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


if __name__ == '__main__':
    main()
