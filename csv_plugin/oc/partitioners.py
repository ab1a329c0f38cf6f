"""Divide a run into few tasks, after checking its config."""
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from mmengine.config import Config
from opencompass.partitioners import NaivePartitioner
from opencompass.registry import PARTITIONERS
from opencompass.utils import get_infer_output_path, model_abbr_from_cfg

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import read_model_dump
from csv_plugin.oc.accelerators import apply_accelerator
from csv_plugin.oc.classes import class_name
from csv_plugin.oc.models import check_engine, check_files_of
from csv_plugin.oc.run_checks import check_run, is_texts, one_line_errors

#: Modules that a task imports before it looks for classes by their names.
_IMPORTS = dict(imports=['csv_plugin.oc'], allow_failed_imports=False)


@PARTITIONERS.register_module()
class FewTasksPartitioner(NaivePartitioner):
    """Make one task for each model, or fewer tasks of several models.

    The tasks are meant for `tasks.SteadyInferTask` and `SteadyEvalTask`, which
    go on with the next dataset after an error. The texts of the validation set
    are the first dataset of a task, so that their losses are written before a
    benchmark can crash. Before any model runs, the config is checked. Texts
    whose dump is missing, damaged or of another model are scored again.

    The setting `n_tasks` in `infer` or `eval` of the config limits the number
    of tasks of that stage; a task may then have several models. Without
    `n_tasks`, every task has one model. `n_tasks` is not an argument of this
    class, because with `--slurm` OpenCompass passes the arguments to another
    partitioner, which would not know this one.

    Args:
        out_dir (str): Filled in by OpenCompass.
        n (int): The largest number of datasets of a model in one task.
        **settings (Any): As in `NaivePartitioner`.
    """

    def __init__(self, out_dir: str, n: int = 1000, **settings: Any) -> None:
        super().__init__(out_dir, n, **settings)
        self.n_tasks: Optional[int] = None
        self.is_inference = Path(out_dir).name == 'predictions'

    def __call__(self, cfg: Any) -> list[Any]:
        """Return the tasks of a stage.

        Raises:
            SystemExit: The config is wrong; the message is one line.
        """
        with one_line_errors():
            apply_accelerator(cfg)
            if self.is_inference:
                warnings = check_run(cfg)
                check_entries(cfg['models'])
                for warning in warnings:
                    self.logger.warning(warning)
        stage = 'infer' if self.is_inference else 'eval'
        self.n_tasks = cfg.get(stage, {}).get('n_tasks')
        return super().__call__(cfg)

    def partition(self,
                  model_dataset_combinations: list[dict[str, list[Any]]],
                  work_dir: str,
                  out_dir: str,
                  add_cfg: dict[str, Any] = {}) -> list[Any]:
        """Return tasks as `NaivePartitioner` does, but join them to `n_tasks`.

        The texts of the validation set become the first dataset of each task.
        """
        parts = []
        for part in model_dataset_combinations:
            models = part['models']
            # The sort is stable: the rest of the datasets keeps its order.
            texts_first = sorted(part['datasets'], key=is_texts, reverse=True)
            parts.append({'models': models, 'datasets': texts_first})
            if self.is_inference:
                texts = list(filter(is_texts, texts_first))
                for model in models:
                    for dataset in texts:
                        self._forget_a_lost_dump(model, dataset)
        # With these imports, tasks of any class find the classes of this
        # package by name.
        add_cfg = dict(add_cfg, custom_imports=_IMPORTS)
        tasks = super().partition(parts, work_dir, out_dir, add_cfg)
        if self.n_tasks is None or self.n_tasks < 1:
            return tasks
        joined = []
        for first in range(min(self.n_tasks, len(tasks))):
            group = tasks[first::self.n_tasks]
            joined.append(_joined(group))
        return joined

    def _forget_a_lost_dump(self, model: Any, dataset: Any) -> None:
        """Delete the files that mark texts as done, if their dump is unusable.

        The dump may be missing, damaged, or of another model. Without these
        files, OpenCompass scores the texts again.
        """
        predictions = Path(self.out_dir)
        results = predictions.with_name('results')
        done = get_infer_output_path(model, dataset, predictions)
        evaluated = get_infer_output_path(model, dataset, results)
        dump = get_infer_output_path(model, dataset, predictions,
                                     'safetensors')
        if not os.path.exists(done):
            return
        try:
            read_model_dump(Path(dump))
        except InputError as error:
            self.logger.warning(f'{error} The texts are scored again.')
            Path(evaluated).unlink(missing_ok=True)
            Path(done).unlink()


def _joined(tasks: Sequence[Config]) -> Config:
    """Return one task with the models and datasets of several tasks."""
    merged = {**tasks[0], 'models': [], 'datasets': []}
    for task in tasks:
        merged['models'] += task['models']
        merged['datasets'] += task['datasets']
    return Config(merged)


def check_entries(models: Sequence[Any]) -> None:
    """Check the config entries of models without loading the models.

    Raises:
        InputError: The entry of an engine is wrong, or the installed
            transformers would read the files of a model only in part.
    """
    for model in models:
        engine = model.get('engine')
        if class_name(model) == 'TokenLossModel' and engine is not None:
            name = model_abbr_from_cfg(model)
            check_engine(f'engine of {name}', engine)
        check_files_of(model)
