"""The exams of the small world as OpenCompass datasets."""
import re
from typing import Any

from datasets import Dataset
from opencompass.datasets import BaseDataset
from opencompass.registry import LOAD_DATASET, TEXT_POSTPROCESSORS

from csv_plugin.demo.world import N_ITEMS, Item, exam

_FINAL = re.compile(r'[Aa]nswer(?: is|:) ([^.\n]+)\.')


@LOAD_DATASET.register_module()
class TidewellExam(BaseDataset):
    """Questions of one kind, with a column per option where there are any.
    """

    @staticmethod
    def load(kind: str, n_items: int = N_ITEMS) -> Dataset:
        """Write the exam.

        Args:
            kind (str): One of `demo.world.KINDS`.
            n_items (int): Number of questions.

        Raises:
            InputError: As in `demo.world.exam`.
        """
        return Dataset.from_list([_row(item) for item in exam(kind, n_items)])


def _row(item: Item) -> dict[str, Any]:
    return dict(
        zip('ABCD', item.options), question=item.question, label=item.label)


@TEXT_POSTPROCESSORS.register_module()
def tidewell_final_answer(text: str) -> str:
    """The final answer of a worked solution, '' if it has none.

    What a model goes on to ask and answer does not count.

    >>> tidewell_final_answer(' 2 + 3 = 5. The answer is 5.\\nQuestion: ...')
    '5'
    """
    found = _FINAL.search(text.partition('\nQuestion')[0])
    return found[1] if found else ''
