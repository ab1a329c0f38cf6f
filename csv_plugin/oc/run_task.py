"""Run a `SteadyInferTask` or a `SteadyEvalTask` in a process of its own.

    python -m csv_plugin.oc.run_task CLASS CONFIG
"""
import sys

from mmengine.config import Config
from opencompass.registry import TASKS


def main() -> None:
    class_name, path = sys.argv[1:]
    config = Config.fromfile(path, format_python_code=False)
    TASKS.get(class_name)(config).run()


if __name__ == '__main__':
    main()
