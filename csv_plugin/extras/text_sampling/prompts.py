"""Turn items of OpenCompass datasets into texts with their right answers.

The text of an item consists of the item's part of the prompt template, filled
in, and the reference answer. The text does not contain instructions, few-shot
examples, a final request to think step by step, or the calculator annotations
in solutions of GSM8K.
"""
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Optional

from datasets import Dataset
from opencompass.datasets import BaseDataset
from opencompass.models.base import LMTemplateParser
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.extras.text_sampling.host_datasets import load_dataset
from csv_plugin.oc.labels import check_output_column, label_texts

#: The part of a prompt template for one item: a string with the names of
#: columns in braces. If the benchmark is scored by perplexity, there is such a
#: string for each label.
Item = str | dict[Hashable, str]

#: Keys of the parts of a chat, in their order.
_SECTIONS = 'begin', 'round', 'end'
_STEP_BY_STEP = re.compile(r"\s*Let's think step by step\.?\s*\Z")
_ANNOTATION = re.compile('<<.*?>>')
_BRACES = re.compile(r'\{(\w+)\}')


@dataclass(frozen=True)
class Subtask:
    """A part of a benchmark, or a benchmark without parts.

    `items` are the indices of the items that have a reference answer, within
    their split. `render` takes such an index and returns the text of the item;
    the text's id is the index, and its `answer` is the range of the answer.
    `examples` is the text that prompts show before an item, in the form that
    `squeeze` returns.
    """
    name: str
    items: Sequence[int]
    render: Callable[[int], Text]
    examples: str = ''


def squeeze(text: str) -> str:
    """Return a text with each run of white space replaced by one space."""
    return ' '.join(text.split())


def question(text: Text) -> str:
    """Return the part before the answer; if it is empty, the whole text."""
    start, _ = text.answer or (0, 0)
    return text.text[:start] or text.text


def load_subtask(name: str, config: Any) -> Subtask:
    """Load a dataset, and return the items of its test split as a sub-task."""
    head, item, _ = _read_prompts(config)
    column = check_output_column(config['reader_cfg'].get('output_column'))
    data = load_dataset(config)
    render = _renderer(data, PromptTemplate(item))
    shown = [head]
    retriever = config['infer_cfg'].get('retriever', {})
    kind = retriever.get('type', ZeroRetriever)
    path = getattr(kind, '__name__', kind)
    _, _, class_name = path.rpartition('.')
    if class_name != 'ZeroRetriever':
        # Without a list, the retriever may choose any item as an example.
        chosen = retriever.get('fix_id_list')
        for index in _answered(data.train, column):
            if chosen is None or index in chosen:
                # An item that fails here fails in the test split as well.
                with suppress(Exception):
                    example = render(data.train[index])
                    shown.append(question(example))
    return Subtask(
        name,
        _answered(data.test, column),
        render=lambda index: render(data.test[index]),
        examples=squeeze(' '.join(shown)))


def load_worked_examples(name: str, config: Any) -> Subtask:
    """Return the worked examples in a dataset's prompt as a sub-task.

    The examples are in the config; the data of the dataset is not needed.
    """
    examples = worked_examples(*_read_prompts(config))

    def render(index: int) -> Text:
        prompt, answer = examples[index]
        return _marked(index, prompt, answer)

    return Subtask(name, range(len(examples)), render)


def _answered(split: Dataset, column: str) -> list[int]:
    """Return the indices of the items with a reference answer in `column`."""
    if column not in split.column_names:
        raise InputError('output_column', f'one of {split.column_names}',
                         repr(column), 'Repair the dataset config.')
    indices = []
    for index, answer in enumerate(split[column]):
        if answer not in (None, '', []):
            indices.append(index)
    return indices


def _renderer(data: BaseDataset,
              template: PromptTemplate) -> Callable[[Any], Text]:
    """Return a function that turns an entry of a dataset into a text."""
    retriever = ZeroRetriever(data)
    column = data.reader.output_column

    def render(entry: Any) -> Text:
        values: dict[str, Any] = {}
        for name, value in entry.items():
            if isinstance(value, str):
                value = value.strip()
            values[name] = value
        for name in _BRACES.findall(str(template.template)):
            if values.get(name) in (None, ''):
                raise InputError(f'{{{name}}} in the prompt template',
                                 'a value', 'none',
                                 'Repair the data or the template.')
        if isinstance(values[column], str):
            values[column] = _plain_solution(values[column])
        retriever.test_ds = [values]
        text, = label_texts(
            LMTemplateParser(),
            retriever,
            None,
            template,
            None,
            after_common_start=True)
        start, _ = text.answer or (0, 0)
        prompt = _STEP_BY_STEP.sub(' ', text.text[:start])
        answer = text.text[start:]
        return _marked(values['idx'], prompt, answer)

    return render


def _plain_solution(reference: str) -> str:
    """Return a reference answer without the annotations of GSM8K.

    A reference without GSM8K's final line '#### ...' is returned as it is.
    """
    solution, mark, final = reference.rpartition('\n#### ')
    if not mark:
        return reference
    solution = _ANNOTATION.sub('', solution)
    return f'{solution}\nThe answer is {final}'


def _marked(index: int, prompt: str, answer: str) -> Text:
    """Join a prompt and its answer to a text whose id is `index`.

    White space at the beginning and the end is removed.
    """
    prompt = prompt.lstrip()
    answer = answer.rstrip()
    text = prompt + answer
    answer_range = len(prompt), len(text)
    return Text(str(index), text, answer=answer_range)


def _read_prompts(config: Any) -> tuple[str, Item, Sequence[str]]:
    """Return head and item of a config's prompt template, and its columns.

    The docstring of `split_template` says what head and item are.
    """
    try:
        columns = config['reader_cfg']['input_columns']
        infer = config['infer_cfg']
        if isinstance(columns, str):
            columns = columns.split()
        columns = list(columns)
        prompt = infer.get('prompt_template') or infer['ice_template']
        template = prompt['template']
        ice_token = prompt.get('ice_token')
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError('reader_cfg and infer_cfg',
                         "columns and a 'PromptTemplate'",
                         f'{type(error).__name__}: {error}',
                         'Choose another dataset config.') from error
    head, item = split_template(template, columns, ice_token)
    return head, item, columns


def split_template(template: Any,
                   columns: Sequence[str],
                   ice_token: Optional[str] = None) -> tuple[str, Item]:
    r"""Cut a prompt template into its head and its item.

    The head is the beginning that all prompts share; the item is the part
    that is filled in for each item. The item begins in the first message that
    names a column. In this message, it begins after the last blank line and
    the last `ice_token` (which stands for the in-context examples) before the
    first column. Messages of a chat are joined by line feeds, as OpenCompass
    does for models without a chat template.

    >>> split_template('Add.\n\nQ: 1+1\nA: 2\n\nQ: {sum}\nA:', ['sum'])
    ('Add.\n\nQ: 1+1\nA: 2\n\n', 'Q: {sum}\nA:')
    """
    if not isinstance(template, Mapping):
        return _split(template, columns, ice_token)
    if set(template).issubset(_SECTIONS):
        return _split(template, columns, ice_token)
    heads: list[str] = []
    items: dict[Hashable, str] = {}
    for label, value in template.items():
        head, items[label] = _split(value, columns, ice_token)
        heads.append(head)
    return heads[0], items


def _split(template: Any, columns: Sequence[str],
           ice_token: Optional[str]) -> tuple[str, str]:
    """Return head and item of a whole template, or of one label's template."""
    messages = _messages(template)
    field = _column_fields(columns)
    for n_before, message in enumerate(messages):
        first_field = field.search(message)
        if first_field:
            break
    else:
        raise InputError('prompt template',
                         f'one of the columns {list(columns)} in braces',
                         'none of them', 'Name a column in braces.')
    last_messages = '\n'.join(messages[n_before:])
    before_field = last_messages[:first_field.start()]
    start = 0
    for mark in ('\n\n', ice_token):
        if mark and mark in before_field:
            behind_mark = before_field.rindex(mark) + len(mark)
            start = max(start, behind_mark)
    item = last_messages[start:]
    head_messages = [*messages[:n_before], last_messages[:start]]
    head = '\n'.join(head_messages)
    return head, item


def _messages(template: Any) -> list[str]:
    """Return the texts of the messages that a template consists of."""
    messages: list[Any] = []
    if isinstance(template, Mapping):
        for section in _SECTIONS:
            content = template.get(section, [])
            if isinstance(content, (list, tuple)):
                messages += content
            else:
                messages.append(content)
    else:
        messages.append(template)
    texts = []
    for message in messages:
        text = message
        if isinstance(message, Mapping):
            text = message.get('prompt')
        if not isinstance(text, (str, type(None))):
            raise InputError('prompt template', 'a text, rounds or labels',
                             repr(text)[:80], 'Choose another dataset config.')
        if text:
            texts.append(text)
    return texts


def worked_examples(head: str, item: Item,
                    columns: Sequence[str]) -> list[tuple[str, str]]:
    """Find the examples in a template's head that have the form of its item.

    Return the prompt and the answer of each example.
    """
    if not isinstance(item, str):
        raise InputError('prompt template', 'a template that is answered in '
                         'free text', 'a template for each label',
                         'Choose a generative dataset config.')
    parts = _column_fields(columns).split(item.rstrip())
    literals = [re.escape(part) for part in parts]
    prompt = '.+?'.join(literals) + r'\s*'
    next_item = rf'\s*(?:\n\n{literals[0]}|\Z)'
    example = rf'(?:(?<=\n\n)|\A)({prompt})(.+?)(?={next_item})'
    examples = re.findall(example, head, re.DOTALL)
    if not examples:
        raise InputError('prompt template', 'worked examples in the template',
                         f'none of the form {item!r}',
                         'Choose a dataset config with examples.')
    return examples


def _column_fields(columns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches a column's name in braces."""
    names = '|'.join(map(re.escape, columns))
    return re.compile(rf'\{{(?:{names})\}}')
