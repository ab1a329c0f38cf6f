"""A damaged sample, and what its reader makes of it."""
import functools
import shutil
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from csv_plugin.core.conventions import InputError
from tests.faults.bounded import CRASH, HANG
from tests.faults.mutations import damage, is_binary
from tests.faults.samples import SAMPLES, summary

REFUSED, SAME, CHANGED = 'refused', 'same', 'changed'
WRONG, INTERNAL, MEMORY = 'wrong', 'internal', 'memory'
#: The outcomes that may be, and those that may not.
GOOD, BAD = (REFUSED, SAME, CHANGED), (WRONG, INTERNAL, HANG, MEMORY, CRASH)
#: Most characters of an error.
LONGEST = 1000


@dataclass(frozen=True)
class Case:
    """One damage to one sample.

    Args:
        root (Path): Folder with the intact samples, and room for others.
        format (str): One of `SAMPLES`.
        seed (int): Of the whole run.
        number (int): Of the case among those of its format.
    """
    root: Path
    format: str
    seed: int
    number: int


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Args:
        kind (str): One of `GOOD` and `BAD`.
        damage (str): Name of the damage.
        detail (str): The error, in one line.
        trace (str): The error as Python prints it.
    """
    kind: str
    damage: str = ''
    detail: str = ''
    trace: str = ''


def write_samples(root: Path, formats: Iterable[str]) -> None:
    """Write the intact samples that cases need."""
    for name in formats:
        folder = root / 'intact' / name
        folder.mkdir(parents=True)
        SAMPLES[name].write(folder)


@functools.cache
def _expected(folder: Path, format: str) -> Any:
    return summary(SAMPLES[format].read(folder))


def try_case(case: Case) -> Outcome:
    """Damage a copy of a sample, and read it."""
    # The other allocators of pyarrow ask for a gigabyte of addresses at once.
    pa.set_memory_pool(pa.system_memory_pool())
    sample, intact = SAMPLES[case.format], case.root / 'intact' / case.format
    expected = _expected(intact, case.format)
    rng = Random(f'{case.seed} {case.format} {case.number}')
    folder = case.root / f'{case.format}-{case.number}'
    shutil.copytree(intact, folder)
    file = rng.choice(sorted(folder.glob(sample.target)))
    binary = is_binary(file)
    name = damage(rng, file)
    try:
        with warnings.catch_warnings():
            # Such as that an older format has no digest.
            warnings.simplefilter('ignore')
            result = summary(sample.read(folder))
    except InputError as error:
        return _refusal(name, error)
    except MemoryError as error:
        return _failure(MEMORY, name, error)
    except Exception as error:
        return _failure(INTERNAL, name, error)
    finally:
        shutil.rmtree(folder)
    if result == expected:
        return Outcome(SAME, name)
    is_forged = name.startswith('forge_')
    is_part = sample.in_place and name == 'cut_the_end'
    must_show = binary and not is_forged and not sample.foreign
    return Outcome(WRONG if is_part or must_show else CHANGED, name)


def _refusal(name: str, error: InputError) -> Outcome:
    """A refusal, if it is one clear line and the memory sufficed."""
    message = str(error)
    if any(isinstance(cause, MemoryError) for cause in _causes(error)):
        return _failure(MEMORY, name, error)
    if len(message) > LONGEST:
        return _failure(INTERNAL, name, error,
                        f'an error of {len(message)} characters: ')
    if not message.isprintable():
        return _failure(INTERNAL, name, error,
                        'an error with control characters: ')
    return Outcome(REFUSED, name, message)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _failure(kind: str,
             name: str,
             error: BaseException,
             text: str = '') -> Outcome:
    frames = traceback.extract_tb(error.__traceback__)
    place = f'{Path(frames[-1].filename).name}:{frames[-1].lineno}'
    detail = f'{text}{type(error).__name__} {str(error)[:200]!r} at {place}'
    return Outcome(kind, name, detail,
                   ''.join(traceback.format_exception(error))[-3000:])
