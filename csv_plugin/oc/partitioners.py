"""Tasks of a run that keep benchmarks and texts apart."""
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from opencompass.partitioners import NaivePartitioner
from opencompass.registry import PARTITIONERS
from opencompass.utils import get_infer_output_path

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import read_model_dump
from csv_plugin.oc.run_checks import check_run, is_texts


@PARTITIONERS.register_module()
class TextsApartPartitioner(NaivePartitioner):
    """Two tasks for each model: its benchmarks, and its texts.

    What fails in one of the two does not end the other. The model is loaded
    once more for that. Evaluation, which loads no model, is one task, the
    texts last. Before any model runs, the config is checked, and texts whose
    dump is lost, damaged or of another model are scored again.

    Args:
        out_dir (str): Filled in by OpenCompass.
        n (int): Most datasets of a task.
        keep_keys (Optional[list[str]]): As in `NaivePartitioner`.
    """

    def __init__(self,
                 out_dir: str,
                 n: int = 1000,
                 keep_keys: Optional[list[str]] = None) -> None:
        super().__init__(out_dir, n, keep_keys)
        self.before_models = Path(out_dir).name == 'predictions'

    def __call__(self, cfg: Any) -> list[Any]:
        """The tasks of a stage.

        Raises:
            SystemExit: With one line, if the config is wrong.
        """
        if self.before_models:
            try:
                warnings = check_run(cfg)
            except InputError as error:
                raise SystemExit(f'error: {error}') from error
            for warning in warnings:
                self.logger.warning(warning)
        return super().__call__(cfg)

    def partition(self,
                  model_dataset_combinations: list[dict[str, list[Any]]],
                  work_dir: str,
                  out_dir: str,
                  add_cfg: dict[str, Any] = {}) -> list[Any]:
        """As in `NaivePartitioner`."""
        parts = [
            dict(models=[model], datasets=datasets)
            for part in model_dataset_combinations for model in part['models']
            for datasets in self._groups(part['datasets'])
        ]
        if self.before_models:
            for part in parts:
                for dataset in filter(is_texts, part['datasets']):
                    self._forget_a_lost_dump(part['models'][0], dataset)
        return super().partition(parts, work_dir, out_dir, add_cfg)

    def _groups(self, datasets: Sequence[Any]) -> list[list[Any]]:
        """The datasets of each task of a model."""
        texts = [dataset for dataset in datasets if is_texts(dataset)]
        others = [dataset for dataset in datasets if not is_texts(dataset)]
        return [others, texts] if self.before_models else [others + texts]

    def _forget_a_lost_dump(self, model: Any, dataset: Any) -> None:
        """Remove the JSON that calls texts done whose losses are not there."""
        done = Path(get_infer_output_path(model, dataset, self.out_dir))
        if not done.exists():
            return
        dump = get_infer_output_path(model, dataset, self.out_dir, 'parquet')
        try:
            read_model_dump(Path(dump))
        except InputError as error:
            self.logger.warning(f'{error} The texts are scored again.')
            done.unlink()
