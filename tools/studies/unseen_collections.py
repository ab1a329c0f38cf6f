"""Errors and intervals on public collections that nobody had looked at.

    OMP_NUM_THREADS=1 python -m tools.studies.unseen_collections \\
        --public outputs --out outputs/unseen

docs/appendix/unseen.md has the collections and how they were chosen, and the
protocols, which were fixed before any figure was known. The tables are those
of `full_collections`. The folders pythia, pythia_five_shot and pruned are what
`public_tables` writes.
"""
from collections.abc import Iterator
from pathlib import Path

from tools.studies.full_collections import (Protocol, by_split, families_out,
                                            judge, of_model_tables)
from tools.studies.options import parser_of, tables_in
from tools.studies.yard import METHODS

#: The collections, by the name of the second protocol.
COLLECTIONS = {
    'pythia': 'larger',
    'pythia_five_shot': 'larger',
    'pruned': 'less pruned',
}


def protocols(public: Path) -> Iterator[Protocol]:
    """Two protocols of each collection: by families, and by its splits."""
    for name, predicted in COLLECTIONS.items():
        full = of_model_tables(tables_in(public / name))
        yield families_out(f'{name}, families out', full)
        yield by_split(f'{name}, {predicted}', full, ['train'], 'test')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument(
        '--methods',
        nargs='+',
        default=['mean-loss', 'product'],
        choices=list(METHODS))
    parser.add_argument('--out', type=Path, default='outputs/unseen')
    args = parser.parse_args()
    judge(list(protocols(args.public)), args.methods, args.out)


if __name__ == '__main__':
    main()
