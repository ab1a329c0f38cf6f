"""Which process works on a model, where machines share a folder.

A claim is a small file beside the dump to be: `NAME.claim-1`, made in one step
of the file system (O_EXCL, on NFS too), in which one of several processes
succeeds. It holds JSON: `host`, `mark` of the host, `process`, the Slurm `job`
with its `restart`, and `since`. While the process lives, it renews the time of
the file. A claim whose process is known to be dead, or that was not renewed
for ten minutes, may be taken over: by whoever makes `NAME.claim-2`, and so on.
The last of them counts.
"""
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from secrets import token_hex
from socket import gethostname
from tempfile import TemporaryFile
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import one_line
from csv_plugin.io.files import host_mark, is_running

#: Seconds between two renewals of a claim.
RENEWAL = 30.
#: Seconds without a renewal after which the process counts as dead. NFS may
#: tell of a renewal a minute late.
STALE = 600.
#: So many processes may die of one model before it is left alone.
MOST = 5

_FILE = re.compile(r'(.+)\.claim-([0-9]{1,9})', re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """A claim as its file tells of it.

    Args:
        file (Path): The file.
        number (int): How many processes have claimed the model, this one
            included.
        content (bytes): Of the file.
        renewed (float): When it was last renewed, seconds since 1970, by
            the clock of the file system.
    """
    file: Path
    number: int
    content: bytes
    renewed: float

    @property
    def holder(self) -> dict[str, Any]:
        """What the file says; empty if its writer was killed meanwhile."""
        with suppress(ValueError):
            content = json.loads(self.content)
            if isinstance(content, dict):
                return content
        return {}

    def __str__(self) -> str:
        holder = self.holder
        job = f', job {holder["job"]}' if holder.get('job') else ''
        return one_line(f'process {holder.get("process", "?")} on '
                        f'{holder.get("host", "?")}{job}, since '
                        f'{holder.get("since", "?")}')

    def is_dead(self) -> bool:
        """Whether its process is known to have ended, or seems to have."""
        holder, own = self.holder, _own()
        if holder.get('mark') == own['mark']:
            process = holder.get('process')
            # A process has one claim at a time: an old one is of another
            # process, which had its number before.
            if (not isinstance(process, int) or process == own['process']
                    or not is_running(process)):
                return True
        # Slurm starts a job again after its processes have ended.
        if (own['job'] and holder.get('job') == own['job']
                and holder.get('restart') != own['restart']):
            return True
        return self.renewed < _now(self.file.parent) - STALE


def read_claims(folder: Path) -> dict[str, Claim]:
    """The claims in a folder that count, by the name of the model."""
    claims: dict[str, Claim] = {}
    for name, number, file in sorted(_files(folder)):
        # It may be released at this moment.
        with suppress(FileNotFoundError):
            claims[name] = _read(file, number)
    return claims


def _files(folder: Path) -> Iterator[tuple[str, int, Path]]:
    """Name of the model, number and path of all claims."""
    for file in folder.iterdir():
        if match := _FILE.fullmatch(file.name):
            yield match[1], int(match[2]), file


def _read(file: Path, number: int) -> Claim:
    return Claim(file, number, file.read_bytes(), file.stat().st_mtime)


def _last(folder: Path, name: str) -> Optional[Claim]:
    """The claim of a model that counts."""
    found = [(n, file) for other, n, file in _files(folder) if other == name]
    with suppress(FileNotFoundError):  # released at this moment
        if found:
            number, file = max(found)
            return _read(file, number)
    return None


class HeldClaim:
    """A claim of this process, which a thread renews.

    Args:
        claim (Claim): As it was made.
        name (str): Of the model.
    """

    def __init__(self, claim: Claim, name: str) -> None:
        self.claim, self.name = claim, name
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def _renew(self) -> None:
        while not self._ended.wait(RENEWAL):
            # A file system that is away may come back.
            with suppress(OSError):
                os.utime(self.claim.file)

    def check(self) -> None:
        """Refuse to go on after another process has taken the model over.

        Raises:
            InputError: One has, as this process seemed to be dead.
        """
        last = _last(self.claim.file.parent, self.name)
        if last is None or last.file != self.claim.file:
            raise InputError(f'claim of {self.name!r}',
                             'one that this process holds',
                             f'that of {last}' if last else 'none',
                             'Leave it to the other process, or call again.')

    def release(self) -> None:
        """Give the model free, unless another process has taken it over."""
        self._ended.set()
        self._thread.join()
        with suppress(InputError):
            self.check()
            remove_claims(self.claim.file.parent, self.name)


@contextmanager
def claimed(folder: Path, name: str) -> Iterator[Optional[HeldClaim]]:
    """Claim a model while the body of the `with` statement runs.

    Args:
        folder (Path): Where the dumps are to be; it exists.
        name (str): Of the model.

    Yields:
        Optional[HeldClaim]: None if another process works on the model.

    Raises:
        InputError: `MOST` processes were killed while they worked on it.
        OSError: The folder cannot be written to.
    """
    held = _take(folder, name)
    try:
        yield held
    finally:
        if held:
            held.release()


def remove_claims(folder: Path, name: str) -> None:
    """Remove all claims of a model, the one that counts last.

    So nobody finds an earlier one and takes it for the one that counts.
    """
    for other, _, file in sorted(_files(folder)):
        if other == name:
            with suppress(OSError):
                file.unlink()


def _take(folder: Path, name: str) -> Optional[HeldClaim]:
    before = _last(folder, name)
    if before and not before.is_dead():
        return None
    if before and before.number >= MOST:
        raise InputError(
            f'model {name!r}', 'a process that lives until it is scored',
            f'{MOST} that were killed',
            f'Give it more memory, remove {folder / name}.claim-*, and call '
            'again.')
    number = before.number + 1 if before else 1
    file = folder / f'{name}.claim-{number}'
    try:
        opened = open(file, 'xb')
    except FileExistsError:
        return None
    try:
        with opened:
            opened.write(json.dumps(_own()).encode())
        # Since the first look, others may have ended and begun.
        last = _last(folder, name)
        if (last is not None and last.file == file
                and (before is None or _is_unchanged(before))):
            return HeldClaim(last, name)
        file.unlink(missing_ok=True)
        return None
    # Such as on a full disk, or when asked to end.
    except BaseException:
        with suppress(OSError):
            file.unlink()
        raise


def _is_unchanged(claim: Claim) -> bool:
    try:
        return _read(claim.file, claim.number) == claim
    except FileNotFoundError:
        return False


def _own() -> dict[str, Any]:
    """What a claim of this process says."""
    array, task = (
        os.environ.get(f'SLURM_ARRAY_{part}_ID') for part in ('JOB', 'TASK'))
    return {
        'host': gethostname(),
        'mark': host_mark(),
        'process': os.getpid(),
        'job': f'{array}_{task}' if array else os.environ.get('SLURM_JOB_ID'),
        'restart': os.environ.get('SLURM_RESTART_COUNT', '0'),
        'since': datetime.now(timezone.utc).isoformat(timespec='seconds'),
        # Makes every claim another one.
        'token': token_hex(8)
    }


def _now(folder: Path) -> float:
    """The time by the clock that the times of files come from.

    Who may only look at the folder has no other clock than that of the host.
    """
    try:
        with TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:
        return time.time()
