"""What a prompt template says of one item, apart from what stands before."""
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

from csv_plugin.core.conventions import InputError


@dataclass(frozen=True)
class ItemTemplate:
    """A prompt template in two parts.

    Args:
        head (str): What all prompts begin with: an instruction, examples.
        item (Union[str, dict[Hashable, str]]): The item itself, with
            columns in braces; for each label its own, where items are scored
            by perplexity.
    """
    head: str
    item: Union[str, dict[Hashable, str]]


def split_template(template: Any,
                   columns: Sequence[str],
                   ice_token: Optional[str] = None) -> ItemTemplate:
    r"""Cut a template where its item begins.

    That is at the first message that names a column, and within it behind
    the place of the in-context examples, if there is one, and behind the
    last blank line before the first column. Messages of a chat are joined by
    line feeds, as OpenCompass does for models without a chat template.

    Args:
        template (Any): Of OpenCompass's `PromptTemplate`.
        columns (Sequence[str]): Columns of an item.
        ice_token (Optional[str]): Marks the place of in-context examples.

    Raises:
        InputError: No column is named, or one is in front of the examples,
            or the template has another form.

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
    r"""The examples in a template's head that have the form of its item.

    Args:
        template (ItemTemplate): With examples behind blank lines.
        columns (Sequence[str]): Columns of an item.

    Returns:
        list[tuple[str, str]]: Prompt and answer, to be read without a gap.

    Raises:
        InputError: There is none.

    >>> worked_examples(
    ...     split_template('Add.\n\nQ: 1+1\nA: 2\n\nQ: {sum}\nA:', ['sum']),
    ...     ['sum'])
    [('Q: 1+1\nA: ', '2')]
    """
    if not isinstance(template.item, str):
        raise InputError('prompt template', 'one that is answered in free '
                         'text', 'one with a template for each label',
                         'Choose a generative dataset config.')
    literals = [
        re.escape(literal)
        for literal in _names(columns).split(template.item.rstrip())
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
    messages = _messages(template)
    names = _names(columns)
    first = next((i for i, m in enumerate(messages) if names.search(m)), None)
    if first is None:
        raise InputError('prompt template',
                         f'one of the columns {list(columns)}', 'none of them',
                         'Name the columns of an item in braces.')
    item = '\n'.join(messages[first:])
    before = item[:names.search(item).start()]
    if ice_token and ice_token in item[len(before):]:
        raise InputError('prompt template',
                         f'{ice_token!r} before all columns of the item',
                         f'it behind {item[len(before):][:40]!r}',
                         'Choose another dataset config.')
    start = max(_behind(mark, before) for mark in ('\n\n', ice_token) if mark)
    return '\n'.join([*messages[:first], item[:start]]), item[start:]


def _behind(mark: str, text: str) -> int:
    """Where the last `mark` of a text ends; 0 if there is none."""
    return len(text) - len(text.rpartition(mark)[2])


def _messages(template: Any) -> list[str]:
    """What is said in a template, by whomever."""
    if isinstance(template, str):
        return [template]
    if not isinstance(template, Mapping):
        raise InputError('prompt template', 'a text, rounds or labels',
                         f'a {type(template).__name__}',
                         'Choose another dataset config.')
    messages = []
    for section in ('begin', 'round', 'end'):
        said = template.get(section, [])
        for message in [said] if isinstance(said, (str, Mapping)) else said:
            text = message if isinstance(message,
                                         str) else message.get('prompt')
            if text:
                messages.append(text)
    return messages


def _names(columns: Sequence[str]) -> re.Pattern[str]:
    return re.compile(r'\{(?:' + '|'.join(map(re.escape, columns)) + r')\}')
