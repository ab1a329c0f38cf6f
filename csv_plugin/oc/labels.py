"""The right answers of a benchmark, each behind the benchmark's own prompt.

Where a benchmark is scored by perplexity it has a template per label, and
the label is what follows the part that all templates share (from the start
of an ASCII word, if the templates part within one). Where it is generated,
the label is the reference, with a space before it if the prompt ends in
other ASCII.
"""
import os.path
import re
from collections.abc import Mapping
from typing import Any, Optional

from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages

from csv_plugin.core.errors import InputError
from csv_plugin.core.texts import Text

#: Stand for the columns of an item: private characters, not in templates.
_MARKS = range(0xE000, 0xF8FF)


def label_texts(model: Any, retriever: Any, ice_template: Any,
                prompt_template: Any,
                max_seq_len: Optional[int]) -> list[Text]:
    """Prompts with the right answers, which are marked as such.

    Args:
        model (Any): The OpenCompass model that parses the templates.
        retriever (Any): Of the benchmark, with its test split.
        ice_template (Any): Of in-context examples, or None.
        prompt_template (Any): Of the prompt; the one of the examples serves
            if it is None.
        max_seq_len (Optional[int]): Tokens above which examples are dropped,
            the last first.

    Raises:
        InputError: An item's answer is empty or none of the labels, or all
            templates are the same.
    """
    template = ice_template if prompt_template is None else prompt_template
    make = _by_reference if _is_generative(template) else _by_label
    column = retriever.dataset_reader.output_column
    texts = []
    for index, examples in enumerate(retriever.retrieve()):
        entry = dict(retriever.test_ds[index])
        while True:
            ice = retriever.generate_ice(examples, ice_template=ice_template)
            prompt, label = make(model, template, entry, column, ice)
            if not examples or not max_seq_len or \
                    model.get_token_len(prompt + label) <= max_seq_len:
                break
            examples = examples[:-1]
        texts.append(
            Text(
                str(index),
                prompt + label,
                answer=(len(prompt), len(prompt + label))))
    return texts


def _is_generative(template: Any) -> bool:
    return isinstance(template.template, str) or template.prompt_type == 'meta'


def _by_label(model: Any, template: Any, entry: Mapping[str, Any], column: str,
              ice: Any) -> tuple[str, str]:
    """Prompt and label of an item with a template for each label."""
    keys = {str(key): key for key in template.template}
    gold = str(entry[column])
    marks = dict(zip(_MARKS, entry))
    marked_entry = {name: chr(mark) for mark, name in marks.items()}
    marked = {
        name:
        _parse(model,
               template.generate_label_prompt_item(marked_entry, ice, key),
               'ppl')
        for name, key in keys.items()
    }
    shared = os.path.commonprefix(list(marked.values()))
    shared = re.sub('[A-Za-z0-9]+$', '', shared)
    if gold not in marked or shared == marked[gold]:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            f'one of {list(keys)}, with a template of its own',
            'none' if gold not in marked else 'the template of another',
            'Give the benchmark a template for each of its labels.')
    values = {mark: str(entry[name]) for mark, name in marks.items()}
    return (shared.translate(values),
            marked[gold][len(shared):].translate(values))


def _by_reference(model: Any, template: Any, entry: Mapping[str, Any],
                  column: str, ice: Any) -> tuple[str, str]:
    """Prompt and reference of an item that is answered in free text."""
    prompt = _parse(
        model,
        template.generate_item(
            entry, output_field=column, ice_field_replace_token=ice), 'gen')
    reference = entry[column]
    if isinstance(reference, (list, tuple)):
        reference = reference[0]
    space = ' ' if re.search(r'[!-~]\Z', prompt) else ''
    return prompt + space, str(reference)


def _parse(model: Any, prompt: Any, mode: str) -> str:
    """What the model would read, chats by its tokenizer's template."""
    parsed = model.parse_template(prompt, mode=mode)
    if isinstance(parsed, str):
        return parsed
    # Without BOS, which scoring puts in front itself.
    chat = model.tokenizer.apply_chat_template(
        _convert_chat_messages([parsed])[0],
        tokenize=False,
        add_generation_prompt=mode == 'gen')
    return chat.removeprefix(model.tokenizer.bos_token or '')
