"""The exams of Tidewell as OpenCompass datasets."""
import re
from typing import Any

from datasets import Dataset
from opencompass.datasets import BaseDataset
from opencompass.registry import LOAD_DATASET, TEXT_POSTPROCESSORS

from csv_plugin.demo.world import N_ITEMS, Item, exam

_FINAL = re.compile(r'[Aa]nswer(?: is|:) ([^.\n]+)\.')


@LOAD_DATASET.register_module()
class TidewellExam(BaseDataset):
    """Questions of one kind, with a column for each option, if any."""

    @staticmethod
    def load(kind: str, n_items: int = N_ITEMS) -> Dataset:
        """Make the rows of an exam.

        Args:
            kind (str): One of `demo.world.KINDS`.
            n_items (int): Number of questions.

        Returns:
            Dataset: Columns `question` and `label`; also the options `A` to
            `D` if the exam is multiple choice.

        Raises:
            InputError: As in `demo.world.exam`.
        """
        return Dataset.from_list([_row(item) for item in exam(kind, n_items)])


def _row(item: Item) -> dict[str, Any]:
    return dict(
        zip('ABCD', item.options), question=item.question, label=item.label)


@TEXT_POSTPROCESSORS.register_module()
def tidewell_final_answer(text: str) -> str:
    """The final answer of a worked solution, or '' if it has none.

    Further questions and answers that a model adds do not count.

    Args:
        text (str): What a model generated after the question.

    >>> tidewell_final_answer(' 2 + 3 = 5. The answer is 5.\\nQuestion: ...')
    '5'
    """
    match = _FINAL.search(text.partition('\nQuestion')[0])
    return match[1] if match else ''
