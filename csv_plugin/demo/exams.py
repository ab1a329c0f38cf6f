"""The exams on Tidewell, an invented world, as OpenCompass datasets."""
import re

from datasets import Dataset
from opencompass.datasets import BaseDataset
from opencompass.registry import LOAD_DATASET, TEXT_POSTPROCESSORS

from csv_plugin.demo.shipped import EXAMS

_FINAL = re.compile(r'[Aa]nswer(?: is|:) ([^.\n]+)\.')


@LOAD_DATASET.register_module()
class TidewellExam(BaseDataset):
    """Questions of one exam, with a column for each option, if any."""

    @staticmethod
    def load(kind: str) -> Dataset:
        """Read the columns `question`, `label` and perhaps `A` to `D`.

        `kind` is the name, without suffix, of a file in
        `csv_plugin.demo.shipped.EXAMS`.
        """
        return Dataset.from_json(str(EXAMS / f'{kind}.jsonl'))


@TEXT_POSTPROCESSORS.register_module()
def tidewell_final_answer(text: str) -> str:
    """Return the final answer of a worked solution, or '' if it has none.

    Further questions that a model generates after its solution are ignored.

    >>> tidewell_final_answer(' 2 + 3 = 5. The answer is 5.\\nQuestion: ...')
    '5'
    """
    match = _FINAL.search(text.partition('\nQuestion')[0])
    return match[1] if match else ''
