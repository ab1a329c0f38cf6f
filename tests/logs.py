"""What is logged while a test runs.

It takes the place of pytest's `caplog`, which does not see the logger of
OpenCompass, and visits the hundreds of loggers of torch before each test.
"""
import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Messages(logging.Handler):
    """Keeps the messages of records."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def logged_by(logger: logging.Logger) -> Iterator[list[str]]:
    """Yield a list, which gets the messages that a logger passes on."""
    messages = _Messages()
    logger.addHandler(messages)
    yield messages.texts
    logger.removeHandler(messages)
