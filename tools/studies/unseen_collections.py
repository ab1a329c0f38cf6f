"""Errors and intervals on public collections that nobody had looked at.

    OMP_NUM_THREADS=1 python -m tools.studies.unseen_collections \\
        --public outputs --out outputs/unseen

docs/appendix/unseen.md has the collections and how they were chosen, and the
protocols, which were fixed before any figure was known. The table is that of
`full_collections`. The folders pythia, pythia_five_shot and pruned are what
`public_tables` writes.
"""
from collections.abc import Iterator
from pathlib import Path

from tools.studies.common import parser_of, tables_in
from tools.studies.full_collections import by_split, families_out, judge
from tools.studies.trials import Trial, of_tables

#: The collections, with the name of the second protocol.
COLLECTIONS = {
    'pythia': 'larger',
    'pythia_five_shot': 'larger',
    'pruned': 'less pruned',
}


def protocols(public: Path) -> Iterator[Trial]:
    """Two protocols of each collection: by families, and by its splits."""
    for name, predicted in COLLECTIONS.items():
        models = of_tables(tables_in(public / name))
        yield families_out(f'{name}, families out', models)
        yield by_split(f'{name}, {predicted}', models, ['train'], 'test')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument('--out', type=Path, default='outputs/unseen')
    args = parser.parse_args()
    judge(list(protocols(args.public)), args.out)


if __name__ == '__main__':
    main()
