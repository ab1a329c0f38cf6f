"""Chance levels and numbers of items of common benchmarks."""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files

from csv_plugin.core.conventions import InputError
from csv_plugin.io.tables import BenchmarkInfo, read_benchmarks


def known_benchmarks() -> dict[str, BenchmarkInfo]:
    """The shipped table, by the names that OpenCompass 0.5.4 uses.

    A name is the abbreviation of a dataset or the name of a summary group.
    The chance level of a benchmark with k options is 1/k, of free answers
    0. That of bbh is the plain mean over its 27 tasks, as the score is: in
    each the mean of 1/k over its questions, 1/2 where the question allows
    two answers without listing them as (A) and (B), 0 where the answer is
    free. Items are those of the split that OpenCompass scores, 0 where
    that is not certain.

    Returns:
        dict[str, BenchmarkInfo]: By benchmark.

    >>> known_benchmarks()['mmlu'].chance
    0.25
    """
    with as_file(files('csv_plugin.data') / 'benchmarks.csv') as path:
        return read_benchmarks(path)


def benchmark_infos(names: Sequence[str],
                    chance: Mapping[str, float]) -> dict[str, BenchmarkInfo]:
    """What is known of benchmarks, in the order of their names.

    Args:
        names (Sequence[str]): Names of benchmarks.
        chance (Mapping[str, float]): Chance levels by benchmark, for those
            that the shipped table lacks or where another level is meant.

    Returns:
        dict[str, BenchmarkInfo]: By benchmark. One that the shipped table
            lacks has an unknown number of items.

    Raises:
        InputError: No chance level is known for some of the names, a level
            is not in 0..1 or below 1, or it is for none of the names.

    >>> benchmark_infos(['mmlu', 'mine'], {'mine': 0.5})['mine'].chance
    0.5
    """
    _check_chance(names, chance)
    known = known_benchmarks()
    unnamed = BenchmarkInfo(chance=0, n_items=0, main=True, kind='')
    lacking = [name for name in names if name not in {**known, **chance}]
    if lacking:
        options = ' '.join(f'--chance {name}=0.25' for name in lacking)
        raise InputError(
            'chance levels', 'one for every benchmark',
            f'none for {", ".join(lacking)}',
            f'Give the accuracy of random guessing, such as {options}.')
    return {
        name: replace(info, chance=chance.get(name, info.chance))
        for name in names
        for info in [known.get(name, unnamed)]
    }


def _check_chance(names: Sequence[str], chance: Mapping[str, float]) -> None:
    for name, level in chance.items():
        if name not in names:
            raise InputError(f'chance level of {name!r}',
                             f'one of the benchmarks {", ".join(names)}',
                             repr(name), 'Correct or add the name.')
        if not 0 <= level < 1:
            raise InputError(f'chance level of {name!r}',
                             'a number in 0..1, below 1', f'{level:g}',
                             'With k choices it is 1/k.')
