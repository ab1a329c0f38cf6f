"""The command `opencompass`, with its tasks, in the process of a test.

A process takes ten seconds to load OpenCompass. `make demo` starts the command
and its tasks as processes.
"""
import contextlib
import io
import logging
import sys
import traceback
from pathlib import Path
from typing import Any
from unittest import mock

from mmengine.config import Config, ConfigDict
from opencompass.cli.main import main
from opencompass.registry import TASKS
from opencompass.runners import LocalRunner
from opencompass.utils import get_logger
from yapf.yapflib import yapf_api


def opencompass(*arguments: str) -> str:
    """Run the command; what it prints and logs, that of its tasks too."""
    output = io.StringIO()
    log = logging.StreamHandler(output)
    get_logger().addHandler(log)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(output))
            for target, name, value in (
                (sys, 'argv', ['opencompass', *arguments]),
                (LocalRunner, 'launch', _launch),
                (yapf_api, 'FormatCode', _as_it_is),
            ):
                stack.enter_context(mock.patch.object(target, name, value))
            main()
    finally:
        get_logger().removeHandler(log)
    return output.getvalue()


def _as_it_is(text: str, **options: Any) -> tuple[str, bool]:
    """Leave copies of configs unformatted: yapf takes most of a run's time."""
    return text, False


def _launch(runner: LocalRunner,
            tasks: list[ConfigDict]) -> list[tuple[str, int]]:
    """Run tasks one by one; as with processes, others outlive an error."""
    status = []
    for config in tasks:
        task = TASKS.build(dict(cfg=config, type=runner.task_cfg['type']))
        file = Path('task.py')
        task.cfg.dump(str(file))
        try:
            type(task)(Config.fromfile(str(file),
                                       format_python_code=False)).run()
            code = 0
        except Exception:
            print(traceback.format_exc())
            code = 1
        status.append((task.name, code))
    return status
