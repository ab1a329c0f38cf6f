"""Define tasks that go on with the next dataset after a dataset has failed.

A task of OpenCompass ends at its first error. OpenCompass therefore starts a
process for every dataset, and such a process spends most of its time importing
packages.
"""
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.registry import TASKS
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask
from opencompass.tasks.base import BaseTask
from opencompass.utils import (build_model_from_cfg, dataset_abbr_from_cfg,
                               get_infer_output_path, model_abbr_from_cfg,
                               task_abbr_from_cfg)

from csv_plugin.core.formatting import counted, shortened
from csv_plugin.io.runs.run_failures import failure_recorded


class _SteadyTask(BaseTask):
    """Give the tasks of both stages a name, a command and error records."""

    @property
    def name(self) -> str:
        """The name of the task, short enough for a line.

        It contains no blanks, as some runners put it into a command.
        """
        datasets: set[str] = set()
        for part in self.dataset_cfgs:
            datasets.update(map(dataset_abbr_from_cfg, part))
        # The largest number of models that the name lists.
        most = 3
        models = list(map(model_abbr_from_cfg, self.model_cfgs))
        if len(models) > most:
            models[most:] = [f'+{len(models) - most}']
        noun = 'dataset' if len(datasets) == 1 else 'datasets'
        return (f'{self.name_prefix}[{",".join(models)}:'
                f'{len(datasets)}_{noun}]')

    def get_command(self, cfg_path: str, template: str) -> str:
        """Return OpenCompass's command, but with the program of this task."""
        command = super().get_command(cfg_path, template)
        # The argument before the path of the config is OpenCompass's script.
        # The program of this task takes its place.
        script = command.removesuffix(f' {cfg_path}').rpartition(' ')[2]
        program = f'-m csv_plugin.oc.run_task {type(self).__name__}'
        return command.replace(f' {script} ', f' {program} ')

    def parts(self) -> Iterator[tuple[Any, list[Config]]]:
        """Yield each model, and the configs of its tasks, one per dataset."""
        for model, datasets in zip(self.model_cfgs, self.dataset_cfgs):
            configs = []
            for dataset in datasets:
                part = {'models': [model], 'datasets': [[dataset]]}
                configs.append(Config({**self.cfg, **part}))
            yield model, configs

    @contextmanager
    def failures_recorded(self, parts: Sequence[Config],
                          failed: list[str]) -> Iterator[None]:
        """Log an error in the `with` body, and record it for all `parts`.

        `parts` are configs from `parts()`. A file beside the results of each
        part records the error. The names of the parts are appended to
        `failed`, and the error is not raised.
        """
        log = Path(self.get_log_path('out')).relative_to(self.work_dir)
        folder = str(Path(self.work_dir, self.output_subdir))
        try:
            with ExitStack() as notes:
                for part in parts:
                    [model] = part['models']
                    [[dataset]] = part['datasets']
                    result = get_infer_output_path(model, dataset, folder)
                    note = failure_recorded(Path(result), str(log))
                    notes.enter_context(note)
                yield
        except Exception:
            self.logger.error(traceback.format_exc())
            failed += map(task_abbr_from_cfg, parts)


def _raise_if_failed(failed: Sequence[str]) -> None:
    """Raise a `RuntimeError` that names the datasets that failed, if any."""
    if failed:
        number = counted(len(failed), 'dataset')
        names = shortened(', '.join(failed), 500)
        raise RuntimeError(f'{number} failed: {names}')


@TASKS.register_module()
class SteadyInferTask(_SteadyTask, OpenICLInferTask):
    """Compute answers and losses on all datasets, one model after another.

    If a dataset fails or a model cannot be loaded, a file beside the
    predictions records the error. The task goes on with the other datasets and
    models, and fails at the end.
    """

    def __init__(self, cfg: Config) -> None:
        super().__init__(cfg)
        # OpenCompass would use the numbers of GPUs and processes of the first
        # model. The task needs the largest numbers of all its models.
        self.num_gpus = 0
        self.num_procs = 1
        for model in self.model_cfgs:
            run = model.get('run_cfg', {})
            self.num_gpus = max(self.num_gpus, run.get('num_gpus', 0))
            self.num_procs = max(self.num_procs, run.get('num_procs', 1))

    def run(self, cur_model: Any = None, cur_model_abbr: Any = None) -> None:
        """Run all datasets, then raise a `RuntimeError` if one failed."""
        failed: list[str] = []
        self.model = cur_model
        # Name of the model in memory; None if it could not be loaded.
        loaded = cur_model_abbr
        for model_cfg, parts in self.parts():
            # OpenCompass's methods read this attribute.
            self.model_cfg = model_cfg
            abbr = model_abbr_from_cfg(model_cfg)
            if abbr != loaded:
                # Free the memory of the previous model.
                self.model = None
                loaded = None
                with self.failures_recorded(parts, failed):
                    self.model = build_model_from_cfg(model_cfg)
                    loaded = abbr
            if loaded is None:
                continue
            for part in parts:
                with self.failures_recorded([part], failed):
                    OpenICLInferTask(part).run(self.model, abbr)
        _raise_if_failed(failed)


@TASKS.register_module()
class SteadyEvalTask(_SteadyTask, OpenICLEvalTask):
    """Evaluate all models of the task on all of its datasets.

    If an evaluation fails, a file beside the results records the error. The
    task goes on with the other evaluations, and fails at the end.
    """

    def run(self) -> None:
        """Run all datasets, then raise a `RuntimeError` if one failed."""
        failed: list[str] = []
        for _, parts in self.parts():
            for part in parts:
                with self.failures_recorded([part], failed):
                    OpenICLEvalTask(part).run()
        _raise_if_failed(failed)
