"""The prompts of a benchmark, from OpenCompass's dataset config.

A template is separated into the item and what stands before it.
"""
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

from csv_plugin.core.conventions import InputError


@dataclass(frozen=True)
class ItemTemplate:
    """A prompt template in two parts.

    Args:
        head (str): The beginning of all prompts: an instruction, examples.
        item (Union[str, dict[Hashable, str]]): The item itself, with columns
            in braces; a dict from each label to its item, if the benchmark
            is scored by perplexity.
    """
    head: str
    item: Union[str, dict[Hashable, str]]


@dataclass(frozen=True)
class DatasetPrompts:
    """How a dataset becomes prompts.

    Args:
        template (ItemTemplate): The prompt template.
        input_columns (Sequence[str]): Columns of an item that the template
            may name.
        output_column (Optional[str]): Column of the references, if any.
        retriever (str): Name of the class that chooses the in-context
            examples.
        example_places (Optional[Collection[int]]): Places in the train split
            among which the retriever chooses, or None for all places.
    """
    template: ItemTemplate
    input_columns: Sequence[str]
    output_column: Optional[str]
    retriever: str
    example_places: Optional[Collection[int]]


def read_prompts(config: Any) -> DatasetPrompts:
    """Read the parts of a dataset config that shape its prompts.

    Args:
        config (Any): Config of an OpenCompass dataset.

    Raises:
        InputError: If a part is missing, or as in
            `split_template`.
    """
    try:
        reader, infer = config['reader_cfg'], config['infer_cfg']
        columns = reader['input_columns']
        columns = columns.split() if isinstance(columns, str) else [*columns]
        prompt = infer.get('prompt_template') or infer['ice_template']
        template, ice_token = prompt['template'], prompt.get('ice_token')
        kind = infer['retriever']['type']
        name = kind if isinstance(kind, str) else kind.__name__
        places = infer['retriever'].get('fix_id_list')
        output_column = reader['output_column']
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(
            'reader_cfg and infer_cfg',
            "columns, a 'PromptTemplate' and a retriever with its type",
            f'{type(error).__name__}: {error}',
            'Choose another dataset config.') from error
    return DatasetPrompts(
        split_template(template, columns, ice_token), columns, output_column,
        name.rpartition('.')[2], places)


def split_template(template: Any,
                   columns: Sequence[str],
                   ice_token: Optional[str] = None) -> ItemTemplate:
    r"""Cut a template where its item begins.

    The item begins in the first message that names a column: behind the
    place of the in-context examples, if there is one, and behind the last
    blank line before the first column. Messages of a chat are joined by line
    feeds, as OpenCompass does for models without a chat template.

    Args:
        template (Any): The template of an OpenCompass `PromptTemplate`.
        columns (Sequence[str]): Columns of an item.
        ice_token (Optional[str]): Marks the place of in-context examples.

    Raises:
        InputError: If no column is named, if a column is in front of the
            examples, or if the template is of an unknown form.

    >>> split_template('Add.\n\nQ: 1+1\nA: 2\n\nQ: {sum}\nA:', ['sum'])
    ItemTemplate(head='Add.\n\nQ: 1+1\nA: 2\n\n', item='Q: {sum}\nA:')
    """
    if isinstance(template,
                  Mapping) and not set(template) <= {'begin', 'round', 'end'}:
        parts = {
            label: _split(value, columns, ice_token)
            for label, value in template.items()
        }
        return ItemTemplate(
            next(iter(parts.values()))[0], {
                label: item
                for label, (_, item) in parts.items()
            })
    return ItemTemplate(*_split(template, columns, ice_token))


def worked_examples(template: ItemTemplate,
                    columns: Sequence[str]) -> list[tuple[str, str]]:
    r"""Find the examples in a template's head that have the form of its item.

    Args:
        template (ItemTemplate): Template with examples behind blank lines.
        columns (Sequence[str]): Columns of an item.

    Returns:
        list[tuple[str, str]]: Prompt and answer of each example. The answer
        follows the prompt directly.

    Raises:
        InputError: If there is no such example, or if the template has an
            item for each label.

    >>> worked_examples(
    ...     split_template('Add.\n\nQ: 1+1\nA: 2\n\nQ: {sum}\nA:', ['sum']),
    ...     ['sum'])
    [('Q: 1+1\nA: ', '2')]
    """
    if not isinstance(template.item, str):
        raise InputError('prompt template', 'a template that is answered in '
                         'free text', 'a template for each label',
                         'Choose a generative dataset config.')
    literals = [
        re.escape(literal)
        for literal in _column_fields(columns).split(template.item.rstrip())
    ]
    prompt = '.+?'.join(literals) + r'\s*'
    next_item = rf'\s*(?:\n\n{literals[0]}|\Z)'
    examples = re.findall(rf'(?:(?<=\n\n)|\A)({prompt})(.+?)(?={next_item})',
                          template.head, re.DOTALL)
    if not examples:
        raise InputError('prompt template', 'worked examples in it',
                         f'none of the form {template.item!r}',
                         'Choose a dataset config with examples.')
    return examples


def _split(template: Any, columns: Sequence[str],
           ice_token: Optional[str]) -> tuple[str, str]:
    """Head and item of a template, or of a label's template."""
    messages = _messages(template)
    field = _column_fields(columns)
    for n_before, message in enumerate(messages):
        first_field = field.search(message)
        if first_field:
            break
    else:
        raise InputError('prompt template',
                         f'one of the columns {list(columns)}', 'none of them',
                         'Name the columns of an item in braces.')
    item = '\n'.join(messages[n_before:])
    before = item[:first_field.start()]
    if ice_token and ice_token in item[len(before):]:
        raise InputError('prompt template',
                         f'{ice_token!r} before all columns of the item',
                         f'it behind {item[len(before):][:40]!r}',
                         'Choose another dataset config.')
    start = max(
        _end_of_last(mark, before) for mark in ('\n\n', ice_token) if mark)
    return '\n'.join([*messages[:n_before], item[:start]]), item[start:]


def _end_of_last(mark: str, text: str) -> int:
    """Where the last `mark` in a text ends, or 0 if there is none."""
    return len(text) - len(text.rpartition(mark)[2])


def _messages(template: Any) -> list[str]:
    """The texts of all messages in a template, whoever speaks."""
    if isinstance(template, str):
        return [template]
    if not isinstance(template, Mapping):
        raise InputError('prompt template', 'a text, rounds or labels',
                         f'a {type(template).__name__}',
                         'Choose another dataset config.')
    texts = []
    for section in ('begin', 'round', 'end'):
        content = template.get(section, [])
        messages = [content] if isinstance(content,
                                           (str, Mapping)) else content
        for message in messages:
            text = message if isinstance(message,
                                         str) else message.get('prompt')
            if text:
                texts.append(text)
    return texts


def _column_fields(columns: Sequence[str]) -> re.Pattern[str]:
    """Pattern of the names of columns in braces."""
    return re.compile(r'\{(?:' + '|'.join(map(re.escape, columns)) + r')\}')
