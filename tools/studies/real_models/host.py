"""What OpenCompass needs to run the models, their worse versions, the items.

Import it to register the classes; configs name them.
"""
import json
from pathlib import Path
from typing import Any, Optional

from datasets import Dataset
from opencompass.datasets import BaseDataset
from opencompass.models import HuggingFaceBaseModel
from opencompass.openicl.icl_inferencer import BaseInferencer
from opencompass.partitioners import NaivePartitioner
from opencompass.registry import (ICL_INFERENCERS, LOAD_DATASET, MODELS,
                                  PARTITIONERS)
from tqdm import tqdm

from csv_plugin.io.files import write_text
from tools.studies.real_models.choices import option_losses
from tools.studies.real_models.degradations import Degradation, degrade
from tools.studies.real_models.questions import read_questions, split_questions


@LOAD_DATASET.register_module()
class QuestionDataset(BaseDataset):
    """Questions of a request set, evenly spread over it."""

    @staticmethod
    def load(path: str, name: str, n_items: int) -> Dataset:
        """One row per question: contexts, options and the right one."""
        chosen, _ = split_questions(read_questions(Path(path), name), n_items)
        return Dataset.from_list([question._asdict() for question in chosen])


@MODELS.register_module()
class DegradedModel(HuggingFaceBaseModel):
    """A base model of transformers, degraded after it was loaded."""

    def __init__(self,
                 path: str,
                 degradation: Optional[tuple[str, float]] = None,
                 **settings: Any) -> None:
        super().__init__(path, **settings)
        if degradation is not None:
            degrade(self.model, Degradation(*degradation))


@PARTITIONERS.register_module()
class OneTaskPartitioner(NaivePartitioner):
    """All models in one task, as a process starts for longer than it judges.
    """

    def __call__(self, cfg: Any) -> list[Any]:
        """Return the tasks of a stage, joined."""
        tasks = super().__call__(cfg)
        for task in tasks[1:]:
            tasks[0].models += task.models
            tasks[0].datasets += task.datasets
        return tasks[:1]


@ICL_INFERENCERS.register_module()
class ChoiceInferencer(BaseInferencer):
    """Chooses the option of least loss, a character or in all.

    Its file has, for each question, the losses of the options (nats, summed
    over the tokens) and the prediction.
    """

    def __init__(self, model: Any, by_characters: bool, **unused: Any) -> None:
        self.model, self.by_characters = model, by_characters

    def inference(self,
                  retriever: Any,
                  prompt_template: Any = None,
                  output_json_filepath: str = '',
                  output_json_filename: str = '') -> list[dict[str, Any]]:
        """Write the predictions and return them."""
        questions = list(retriever.test_ds)
        asked = [(context, options) for question in questions
                 for context, options in _by_context(question)]
        found = iter(
            option_losses(
                self.model.model, self.model.tokenizer, asked, progress=tqdm))
        rows = [self._row(question, found) for question in questions]
        entries = {str(number): row for number, row in enumerate(rows)}
        write_text(
            Path(output_json_filepath, output_json_filename),
            json.dumps(entries))
        return rows

    def _row(self, question: dict[str, Any], found: Any) -> dict[str, Any]:
        losses = [
            float(loss) for _ in _by_context(question) for loss in next(found)
        ]
        lengths = [
            len(option) if self.by_characters else 1
            for option in question['options']
        ]
        scores = [loss / length for loss, length in zip(losses, lengths)]
        return dict(
            prediction=scores.index(min(scores)),
            gold=question['right'],
            losses=losses)


def _by_context(question: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The context with all options, or each option with a context its own."""
    contexts, options = question['contexts'], question['options']
    if len(set(contexts)) == 1:
        return [(contexts[0], options)]
    return [(context, [option]) for context, option in zip(contexts, options)]
