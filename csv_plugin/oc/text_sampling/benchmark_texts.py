"""Items of OpenCompass datasets as texts, each with its right answer.

The text of an item is the item's part of the prompt template, filled in, with
the reference behind it. Left out are instructions, few-shot examples, a
closing request to think step by step, and the calculator annotations in
solutions of GSM8K.
"""
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from opencompass.datasets import BaseDataset
from opencompass.models.base import LMTemplateParser
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import BaseRetriever, ZeroRetriever

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.oc.labels import check_output_column, label_texts
from csv_plugin.oc.text_sampling.dataset_loading import load_dataset
from csv_plugin.oc.text_sampling.prompts import (DatasetPrompts, read_prompts,
                                                 worked_examples)

_STEP_BY_STEP = re.compile(r"\s*Let's think step by step\.?\s*\Z")
_ANNOTATION = re.compile('<<.*?>>')
_BRACES = re.compile(r'\{(\w+)\}')


@dataclass(frozen=True)
class Subtask:
    """Part of a benchmark.

    Args:
        name (str): Unique in the benchmark.
        items (Sequence[int]): Places in the split of the items that have a
            reference.
        render (Callable[[int], Text]): Gives the text of the item at a place,
            with its answer marked and the place as its id.
        examples (str): What prompts show before an item, `squeeze`d.
    """
    name: str
    items: Sequence[int]
    render: Callable[[int], Text]
    examples: str = ''


def squeeze(text: str) -> str:
    r"""A text with all white space as single spaces, for comparisons.

    >>> squeeze(' a  b\nc ')
    'a b c'
    """
    return ' '.join(text.split())


def question(text: Text) -> str:
    """What comes before the answer of a text, or the text if nothing does."""
    start, _ = text.answer or (0, 0)
    return text.text[:start] or text.text


def load_subtask(name: str, config: Any) -> Subtask:
    """Load the items of a dataset's test split.

    Args:
        name (str): What to call the sub-task.
        config (Any): Config of an OpenCompass dataset.

    Raises:
        DataMissingError: As in `dataset_loading.load_dataset`.
        LoaderError: As in `dataset_loading.load_dataset`.
        InputError: If the prompt template, the retriever or the references
            cannot be used.
    """
    prompts = read_prompts(config)
    output_column = check_output_column(prompts.output_column)
    data = load_dataset(config)
    template = prompts.template
    render = _renderer(data, PromptTemplate(template.item))
    shown = _shown_questions(data, prompts, render)
    return Subtask(
        name,
        _answered(data.test, output_column),
        render=lambda place: render(data.test[place]),
        examples=squeeze(' '.join([template.head, *shown])))


def load_worked_examples(name: str, config: Any) -> Subtask:
    """Read the worked examples in a dataset's prompt, which need no data.

    Args:
        name (str): What to call the sub-task.
        config (Any): Config of an OpenCompass dataset.

    Raises:
        InputError: As in `prompts.worked_examples`.
    """
    prompts = read_prompts(config)
    examples = worked_examples(prompts.template, prompts.input_columns)
    return Subtask(
        name,
        range(len(examples)),
        render=lambda place: _marked(place, *examples[place]))


def _answered(split: Any, column: str) -> list[int]:
    """Places of the items that have a reference."""
    if column not in split.column_names:
        raise InputError('output_column', f'one of {split.column_names}',
                         repr(column), 'Repair the dataset config.')
    return [
        place for place, answer in enumerate(split[column])
        if answer not in (None, '', [])
    ]


def _shown_questions(data: BaseDataset, prompts: DatasetPrompts,
                     render: Callable[[Any], Text]) -> Iterator[str]:
    """Questions of the items that prompts may show as examples."""
    if prompts.retriever == ZeroRetriever.__name__:
        return
    places = prompts.example_places
    for place in _answered(data.train, data.reader.output_column):
        if places is None or place in places:
            # An item that fails here fails in the test split as well.
            with suppress(Exception):
                yield question(render(data.train[place]))


def _renderer(data: BaseDataset,
              template: PromptTemplate) -> Callable[[Any], Text]:
    """The function that makes a text of a row of the dataset."""
    retriever = ZeroRetriever(data)
    column = data.reader.output_column

    def render(entry: Any) -> Text:
        values = {
            name: value.strip() if isinstance(value, str) else value
            for name, value in entry.items()
        }
        for name in _BRACES.findall(str(template.template)):
            if values.get(name) in (None, ''):
                raise InputError(f'{{{name}}} in the prompt template',
                                 'a value', 'none',
                                 'Repair the data or the template.')
        if isinstance(values[column], str):
            values[column] = _plain_solution(values[column])
        return _rendered(retriever, template, values)

    return render


def _rendered(retriever: BaseRetriever, template: PromptTemplate,
              values: dict[str, Any]) -> Text:
    """The text of an item, without a closing request to think."""
    retriever.test_ds = [values]
    text, = label_texts(
        LMTemplateParser(),
        retriever,
        None,
        template,
        None,
        after_common_start=True)
    start, _ = text.answer or (0, 0)
    return _marked(values['idx'], _STEP_BY_STEP.sub(' ', text.text[:start]),
                   text.text[start:])


def _plain_solution(reference: str) -> str:
    r"""A reference without the marks of GSM8K, if it has them.

    >>> print(_plain_solution('2 + 3 is <<2+3=5>>5.\n#### 5'))
    2 + 3 is 5.
    The answer is 5
    """
    solution, mark, final = reference.rpartition('\n#### ')
    if not mark:
        return reference
    return _ANNOTATION.sub('', solution) + f'\nThe answer is {final}'


def _marked(place: int, prompt: str, answer: str) -> Text:
    """A text of a prompt and its answer, without white space around it."""
    prompt, answer = prompt.lstrip(), answer.rstrip()
    text = prompt + answer
    return Text(str(place), text, answer=(len(prompt), len(text)))
