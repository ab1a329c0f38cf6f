"""Damaged and forged files of every format, read within bounds.

    python -m tests.faults.fuzz --cases 10850 --seed 0
    python -m tests.faults.fuzz --seed 0 --case dumps:17

The table counts what became of the cases: `refused` with one line, the `same`
result, a `changed` result that is as valid as the first, and what may never
be: a `wrong` result of a damaged file, an `internal` error, a hang, too much
memory, a crash. docs/reliability.md says more.
"""
import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from tabulate import tabulate

from tests.faults.bounded import call_all
from tests.faults.cases import (BAD, GOOD, Case, Outcome, try_case,
                                write_samples)
from tests.faults.samples import SAMPLES


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--cases', type=int, default=10_000, help='of all formats together')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--formats', nargs='+', choices=SAMPLES, default=list(SAMPLES))
    parser.add_argument(
        '--jobs', type=int, default=2, help='number of processes')
    parser.add_argument(
        '--case', metavar='FORMAT:NUMBER', help='only this, without bounds')
    return parser.parse_args(argv)


def fuzz(formats: Sequence[str], n_cases: int, seed: int,
         jobs: int) -> dict[Case, Outcome]:
    """Outcomes of equally many cases of each format."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_samples(root, formats)
        cases = [
            Case(root, form, seed, number) for form in formats
            for number in range(n_cases // len(formats))
        ]
        needs = {SAMPLES[form].needs for form in formats}
        return {
            case: Outcome(result) if isinstance(result, str) else result
            for case, result in call_all(try_case, cases, jobs, sorted(needs))
        }


def table(outcomes: dict[Case, Outcome]) -> str:
    """Counts by format and outcome, in Markdown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for case, outcome in outcomes.items():
        for row in (case.format, 'all'):
            counts[row][outcome.kind] += 1
    kinds = (*GOOD, *BAD)
    names = [*(name for name in counts if name != 'all'), 'all']
    rows = [(name, counts[name].total(), *(counts[name][kind]
                                           for kind in kinds))
            for name in names]
    return tabulate(rows, ('format', 'cases', *kinds), tablefmt='github')


def failures(outcomes: dict[Case, Outcome]) -> Iterable[str]:
    """One line for each kind of failure, with a case that shows it."""
    groups: dict[tuple[str, str, str, str], list[Case]] = defaultdict(list)
    for case, outcome in outcomes.items():
        if outcome.kind in BAD:
            place = outcome.detail.rpartition(' at ')
            error = outcome.detail.partition(' ')[0]
            groups[case.format, outcome.kind, error, place[2]].append(case)
    for (form, kind, *_), cases in sorted(groups.items()):
        first = min(cases, key=lambda case: case.number)
        outcome = outcomes[first]
        yield (f'{len(cases)} x {kind}, such as --case {form}:{first.number} '
               f'({outcome.damage}): {outcome.detail}')


def main(argv: Optional[Sequence[str]] = None) -> int:
    args = parse_args(argv)
    if args.case:
        form, _, number = args.case.rpartition(':')
        with tempfile.TemporaryDirectory() as name:
            write_samples(Path(name), [form])
            outcome = try_case(Case(Path(name), form, args.seed, int(number)))
        print(outcome.kind, outcome.damage, outcome.detail, outcome.trace)
        return int(outcome.kind in BAD)
    outcomes = fuzz(args.formats, args.cases, args.seed, args.jobs)
    print(table(outcomes))
    found = list(failures(outcomes))
    print('', *found, sep='\n')
    return int(bool(found))


if __name__ == '__main__':
    sys.exit(main())
