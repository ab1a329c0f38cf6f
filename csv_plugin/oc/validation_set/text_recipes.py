"""Which benchmarks a validation set is made of."""
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import yaml

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.io.files import read_bytes
from csv_plugin.oc.validation_set.dataset_configs import benchmark_name


@dataclass(frozen=True)
class TextSource:
    """One benchmark, and how many of its items are drawn.

    Args:
        name (str): Source of the texts. The label-token loss of a benchmark
            is that of the source with its name.
        dataset (str): An OpenCompass dataset config, see
            `dataset_configs.find_config`.
        count (int): Number of texts.
        chain_of_thought (bool): Draw from the worked examples in the prompts
            and not from the test split.

    Raises:
        InputError: The name is empty or has a slash, or the count is no
            positive whole number, or another field has the wrong type.
    """
    name: str
    dataset: str
    count: int
    chain_of_thought: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(
                '[^/]+', self.name):
            raise InputError('name of a source', 'a text without slashes',
                             repr(self.name),
                             'Rename it, or put it in quotation marks.')
        where = f'source {self.name!r}'
        if not isinstance(self.dataset, str):
            raise InputError(f'dataset of {where}',
                             'the name of a dataset config',
                             repr(self.dataset), 'Put it in quotation marks.')
        if type(self.count) is not int or self.count < 1:
            raise InputError(f'count of {where}', 'a whole number above 0',
                             repr(self.count), 'Give the number of texts.')
        if type(self.chain_of_thought) is not bool:
            raise InputError(f'chain_of_thought of {where}', 'true or false',
                             repr(self.chain_of_thought), 'Write one.')


#: The paper's benchmarks, of which it takes either C-Eval or CMMLU.
KNOWN = {
    source.name: source
    for source in (
        TextSource('mmlu', 'mmlu_ppl_ac766d', 100),
        TextSource('bbh', 'bbh_gen_98fba6', 100),
        TextSource('gsm8k', 'gsm8k_gen_17d0dc', 100),
        TextSource('hellaswag', 'hellaswag_10shot_ppl_59c85e', 100),
        TextSource('cmmlu', 'cmmlu_ppl_041cbf', 100),
        TextSource('ceval', 'ceval_ppl_1cd8bf', 100),
        TextSource('bbh_cot', 'bbh_gen_98fba6', 50, chain_of_thought=True),
    )
}

#: The paper's 550 texts (section 4.1), with CMMLU, whose test split has
#: answers.
PAPER = tuple(s for s in KNOWN.values() if s.name != 'ceval')


def read_recipe(path: str | os.PathLike[str]) -> tuple[TextSource, ...]:
    """Read a recipe: a YAML list with the fields of each `TextSource`.

    Raises:
        InputError: The file cannot be read, or is no such list.
    """
    file = os.fspath(path)
    try:
        records = yaml.safe_load(read_bytes(file))
    except yaml.YAMLError as error:
        raise InputError(file, 'YAML',
                         str(error).replace('\n', ' '),
                         'Repair the file.') from error
    if not isinstance(records, list) or not records:
        raise InputError(file, 'a list of sources',
                         repr(records)[:80], "Begin each with '- name:'.")
    recipe = tuple(_source(file, record) for record in records)
    check_unique(f'sources of {file}', [source.name for source in recipe])
    return recipe


def _source(file: str, record: Any) -> TextSource:
    known = [field.name for field in fields(TextSource)]
    needed = known[:3]
    if not isinstance(record,
                      dict) or not (set(needed) <= set(record) <= set(known)):
        raise InputError(file,
                         f'sources with {needed} and perhaps {known[3:]}',
                         repr(record)[:200],
                         'Correct the names of the fields.')
    try:
        return TextSource(**record)
    except InputError as error:
        raise InputError(file, 'sources that can be drawn',
                         f'another ({error})',
                         'Correct that field.') from error


def recipe_of_samples(samples: Sequence[str]) -> tuple[TextSource, ...]:
    """Sources from the command line.

    Args:
        samples (Sequence[str]): `NAME=COUNT`; the name is one of `KNOWN`, or
            that of a dataset config, which names the source
            (`dataset_configs.benchmark_name`).

    Raises:
        InputError: There is no count, no such config, or two are of one
            source.

    >>> recipe_of_samples(['gsm8k=7'])[0].dataset
    'gsm8k_gen_17d0dc'
    """
    recipe: dict[str, TextSource] = {}
    for sample in samples:
        name, _, count = sample.rpartition('=')
        if not name or not re.fullmatch('[0-9]+', count):
            raise InputError(f'--sample {sample}', 'NAME=COUNT',
                             'another form', 'Write for example gsm8k=100.')
        known = KNOWN.get(name) or TextSource(benchmark_name(name), name, 1)
        if known.name in recipe:
            raise InputError(f'--sample {sample}', 'another source each time',
                             f'{known.name!r} twice',
                             'Give each a name in a file for --recipe.')
        recipe[known.name] = replace(known, count=int(count))
    return tuple(recipe.values())
