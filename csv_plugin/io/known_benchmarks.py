"""Chance levels and numbers of items of common benchmarks."""
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files

from csv_plugin.core.conventions import InputError, check_choice, check_list
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.io.tables import BenchmarkInfo, read_benchmarks


def known_benchmarks() -> dict[str, BenchmarkInfo]:
    """Return the table of benchmarks that comes with this package.

    Names are those of OpenCompass 0.5.4, of datasets or summary groups. The
    chance level is 1/k if questions have k options, and 0 if answers are free.
    That of bbh is the mean over its 27 tasks of the mean of 1/k, or 1/2 where
    two answers are not listed as (A) and (B). Items are those of the split on
    which OpenCompass evaluates, 0 where it is not certain.
    """
    with as_file(files('csv_plugin') / 'data' / 'benchmarks.csv') as path:
        return read_benchmarks(path)


def benchmark_infos(names: Sequence[str],
                    chance: Mapping[str, float]) -> dict[str, BenchmarkInfo]:
    """Return chance levels and numbers of items of benchmarks.

    `chance` has levels of benchmarks that are not in `known_benchmarks`, or
    that replace those there. The number of items is 0 where it is unknown.
    """
    check_list('benchmarks', names)
    infos = known_benchmarks()
    for name, level in chance.items():
        where = f'chance level of {name!r}'
        check_choice(where, name, names, 'Correct the name.')
        if not 0 <= level < 1:
            raise InputError(where, 'a number in 0..1, below 1', f'{level:g}',
                             'With k choices the level is 1/k.')
        unknown = BenchmarkInfo(level, 0)
        infos[name] = replace(infos.get(name, unknown), chance=level)
    missing = [name for name in names if name not in infos]
    if missing:
        options = shlex.join(f'{name}=0.25' for name in missing)
        raise InputError(
            'chance levels', 'a level for every benchmark',
            f'none for {", ".join(missing)}',
            f'{did_you_mean(missing, infos)}Give the accuracy of guessing, '
            f'such as --chance {options}.')
    return {name: infos[name] for name in names}
