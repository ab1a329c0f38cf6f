"""Look up chance levels and numbers of items of common benchmarks."""
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files

from csv_plugin.core.conventions import InputError, check_choice, check_list
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.io.tables import BenchmarkInfo, read_benchmarks


def known_benchmarks() -> dict[str, BenchmarkInfo]:
    """Return the table of benchmarks that comes with this package.

    The names are names of datasets or summary groups in OpenCompass 0.5.4. The
    chance level is 1/k if questions have k options, and 0 if answers are free
    text. For bbh, it is the mean over its 27 tasks; the chance level of a task
    is the mean of 1/k over its questions, or 1/2 if each question has two
    possible answers that are not listed as (A) and (B). `n_items` counts the
    items of the split on which OpenCompass evaluates; it is 0 where it is not
    certain.
    """
    with as_file(files('csv_plugin') / 'data' / 'benchmarks.csv') as path:
        return read_benchmarks(path)


def benchmark_infos(names: Sequence[str],
                    chance: Mapping[str, float]) -> dict[str, BenchmarkInfo]:
    """Return the chance level and number of items of each named benchmark.

    The values come from `known_benchmarks`. `chance` contains the levels of
    benchmarks that are unknown there, or levels that replace the known levels.
    The number of items is 0 where it is unknown.
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
