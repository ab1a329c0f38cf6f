"""Calls in processes of their own, within bounds of time and memory."""
import math
import multiprocessing
import resource
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

#: What a call may take: CPU seconds, and bytes beyond those of the process
#: before the first call.
SECONDS, MEMORY = 5, 2**30
#: A busy machine may need so many seconds for a CPU second.
_PATIENCE = 12

_Call = Callable[[Any], Any]
_Results = Iterator[tuple[Any, Any]]
HANG, CRASH = 'hang', 'crash'
#: How a process ends that took too long.
_OUT_OF_TIME = -signal.SIGXCPU, -signal.SIGKILL


class Worker:
    """A process that makes one call at a time, and is started anew if it dies.

    Args:
        function (Callable): A function of a module, with one argument.
        needs (Sequence[str]): Modules to import once, for all workers.
    """

    def __init__(
        self, function: Callable[[Any],
                                 Any], needs: Sequence[str] = ()) -> None:
        self.function, self.needs = function, needs
        # A fork of a process that did nothing but import starts at once.
        self.context = multiprocessing.get_context('forkserver')
        self.context.set_forkserver_preload([function.__module__, *needs])
        self._start()

    def _start(self) -> None:
        self.connection, theirs = self.context.Pipe()
        self.process = self.context.Process(
            target=_serve,
            args=(theirs, self.function, self.needs),
            daemon=True)
        self.process.start()
        theirs.close()

    def call(self, argument: Any) -> Any:
        """What the function returns; `HANG` or `CRASH` if it does not."""
        self.connection.send(argument)
        try:
            if self.connection.poll(SECONDS * _PATIENCE):
                return self.connection.recv()
            self.process.kill()
        except (EOFError, ConnectionError):
            pass
        self.process.join()
        ended = self.process.exitcode
        self._start()
        return HANG if ended in _OUT_OF_TIME else CRASH

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection, call: _Call, needs: Sequence[str]) -> None:
    for module in needs:
        import_module(module)
    with open('/proc/self/statm', encoding='ascii') as file:
        pages = int(file.read().split()[0])
    bound = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        argument = pipe.recv()
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = math.ceil(used.ru_utime + used.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU,
                           (seconds, resource.RLIM_INFINITY))
        pipe.send(call(argument))


def call_all(function: _Call,
             arguments: Iterable[Any],
             jobs: int = 1,
             needs: Sequence[str] = ()) -> _Results:
    """Arguments and what a function returns for them, as they come.

    Args:
        function (Callable): As in `Worker`.
        arguments (Iterable): What to call it with.
        jobs (int): Number of processes.
        needs (Sequence[str]): As in `Worker`.
    """
    todo: SimpleQueue[Any] = SimpleQueue()
    done: SimpleQueue[Any] = SimpleQueue()
    count = 0
    for argument in arguments:
        todo.put((argument, ))
        count += 1

    def work() -> None:
        worker = Worker(function, needs)
        while not todo.empty():
            argument, = todo.get()
            done.put((argument, worker.call(argument)))
        worker.stop()

    # The last of the arguments goes to one thread, the queue is then empty.
    threads = [threading.Thread(target=work, daemon=True)
               for _ in range(jobs)]  # yapf: disable
    for thread in threads:
        thread.start()
    for _ in range(count):
        yield done.get()
    for thread in threads:
        thread.join()
