"""Tasks of a run that keep benchmarks and texts apart."""
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from opencompass.partitioners import NaivePartitioner
from opencompass.registry import PARTITIONERS
from opencompass.utils import get_infer_output_path, model_abbr_from_cfg

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import read_model_dump
from csv_plugin.oc.accelerators import accelerate
from csv_plugin.oc.classes import class_name
from csv_plugin.oc.run_checks import check_run, is_texts


@PARTITIONERS.register_module()
class TextsApartPartitioner(NaivePartitioner):
    """Two tasks for each model: its benchmarks, and its texts.

    An error in one of the two does not end the other. Before any model runs,
    the config is checked, and texts whose dump is lost, damaged or of another
    model are scored again. `n` is the most datasets of a task.
    """

    def __init__(self, out_dir: str, n: int = 1000, **settings: Any) -> None:
        super().__init__(out_dir, n, **settings)
        self.before_models = Path(out_dir).name == 'predictions'

    def __call__(self, cfg: Any) -> list[Any]:
        """Return the tasks of a stage.

        Raises:
            SystemExit: The config is wrong; it has one line.
        """
        try:
            accelerate(cfg)
            if self.before_models:
                warnings = check_run(cfg)
                check_entries(cfg['models'])
                for warning in warnings:
                    self.logger.warning(warning)
        except InputError as error:
            raise SystemExit(f'error: {error}') from error
        return super().__call__(cfg)

    def partition(self,
                  model_dataset_combinations: list[dict[str, list[Any]]],
                  work_dir: str,
                  out_dir: str,
                  add_cfg: dict[str, Any] = {}) -> list[Any]:
        """As in `NaivePartitioner`."""
        halves = []
        for part in model_dataset_combinations:
            for model, texts in product(part['models'], (False, True)):
                datasets = [
                    dataset for dataset in part['datasets']
                    if is_texts(dataset) == texts
                ]
                halves.append(dict(models=[model], datasets=datasets))
        if self.before_models:
            for half in halves:
                for dataset in filter(is_texts, half['datasets']):
                    self._forget_a_lost_dump(half['models'][0], dataset)
        return super().partition(halves, work_dir, out_dir, add_cfg)

    def _forget_a_lost_dump(self, model: Any, dataset: Any) -> None:
        """Delete the mark of completion if the dump is missing or damaged."""
        done, evaluated = (
            Path(get_infer_output_path(model, dataset, folder))
            for folder in (self.out_dir,
                           Path(self.out_dir).parent / 'results'))
        if not done.exists():
            return
        dump = get_infer_output_path(model, dataset, self.out_dir,
                                     'safetensors')
        try:
            read_model_dump(Path(dump))
        except InputError as error:
            self.logger.warning(f'{error} The texts are scored again.')
            evaluated.unlink(missing_ok=True)
            done.unlink()


def check_entries(models: Sequence[Any]) -> None:
    """Refuse entries of models that cannot be made, without making them.

    An `InputError` for a wrong engine, or files that the installed
    transformers reads in part.
    """
    # It imports what runs models, which other stages do without.
    from csv_plugin.oc.models import check_engine, check_files_of
    for model in models:
        if class_name(model['type']) == 'TokenLossModel' and model.get(
                'engine') is not None:
            check_engine(f'engine of {model_abbr_from_cfg(model)}',
                         model['engine'])
        check_files_of(model)
