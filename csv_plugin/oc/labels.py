"""The right answers of a benchmark, each behind the benchmark's own prompt.

The right answer is called the label. How a benchmark asks decides where in the
text the label begins:

* A benchmark of perplexities has a template for each label, and the label is
  the part of the right template that differs from the other templates. Of
  "Review: {text} It is good." and "Review: {text} It is bad.", labels are
  "good." and "bad.". If the difference begins inside a word, the label begins
  with that word.
* A benchmark of written answers has one template, and the label is the
  reference. A space is put before it if the prompt ends in a visible ASCII
  character.
"""
import os.path
import re
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text

#: Output columns without answers: ids of items, code to run, or rubrics.
_NO_ANSWERS = frozenset(
    ('declaration', 'evaluation_sample', 'filename', 'id', 'id_ddm', 'idx',
     'judge', 'metadata', 'problem_id', 'prompt_id', 'q', 'question_id',
     'reference_data', 'rubrics_text', 'task_id', 'test', 'test_code',
     'test_column', 'test_list', 'test_list_2', 'tests'))


def check_output_column(column: Optional[str]) -> str:
    """Return the `output_column` of a dataset, if it can contain answers."""
    if not column or column in _NO_ANSWERS:
        raise InputError(
            'output_column', 'a column of right answers', repr(column),
            'Choose a dataset config whose references are right answers.')
    return column


def label_texts(model: Any,
                retriever: Any,
                ice_template: Any,
                prompt_template: Any,
                max_seq_len: Optional[int],
                after_common_start: bool = False) -> list[Text]:
    """Return prompts with the right answers behind them, marked as answers.

    There is one text per item of the retriever's test split; its id is the
    item's place. The model parses the templates; without a `prompt_template`,
    that of the examples is used. In-context examples are dropped, the last
    first, until a text has at most `max_seq_len` tokens.

    If the part that all templates share has no column of the item, as where
    whole sentences are compared, `after_common_start` lets the answer begin
    where the filled templates differ.

    Raises:
        InputError: The output column has no right answers, an answer has no
            template of its own, or nothing of it is left as it is the
            beginning of another one.
    """
    column = check_output_column(retriever.dataset_reader.output_column)
    template = ice_template if prompt_template is None else prompt_template
    # Such a template has one text for all labels, and the item its answer.
    is_written = (
        isinstance(template.template, str) or template.prompt_type == 'meta')

    def prompt_and_label(item: Mapping[str, Any],
                         examples: Any) -> tuple[str, str]:
        """Return the prompt of an item with some examples, and its label."""
        shown = retriever.generate_ice(examples, ice_template=ice_template)
        if is_written:
            return _by_reference(model, template, item, column, shown)
        return _by_templates(model, template, item, column, shown,
                             after_common_start)

    texts = []
    for index, examples in enumerate(retriever.retrieve()):
        item = dict(retriever.test_ds[index])
        prompt, label = prompt_and_label(item, examples)
        while examples and max_seq_len and \
                model.get_token_len(prompt + label) > max_seq_len:
            examples = examples[:-1]
            prompt, label = prompt_and_label(item, examples)
        text = prompt + label
        texts.append(Text(str(index), text, answer=(len(prompt), len(text))))
    return texts


def _by_templates(model: Any, template: Any, item: Mapping[str,
                                                           Any], column: str,
                  shown: Any, after_common_start: bool) -> tuple[str, str]:
    """Return the prompt and the label of an item with a template per label.

    The prompt is the start that all templates share, filled with the columns
    of the item.
    """
    gold = str(item[column])
    templates, values = _marked_templates(model, template, item, shown)
    shared = _common_start(templates.values())
    _check_template(gold, column, templates, shared)
    prompt = shared.translate(values)
    if after_common_start and prompt == shared:
        filled = [text.translate(values) for text in templates.values()]
        prompt = _common_start(filled)
    label = templates[gold].translate(values)[len(prompt):]
    if not label:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            'a right answer that differs from the others',
            f'one that another begins with: ...{prompt[-40:]!r}',
            'Remove the item, or run the benchmark without its label loss.')
    return prompt, label


def _marked_templates(model: Any, template: Any, item: Mapping[str, Any],
                      shown: Any) -> tuple[dict[str, str], dict[int, str]]:
    """Return templates by label, and the values of the marks in them.

    Templates have a mark in the place of each column. So a start that they
    share is a start of the templates, even where two columns of the item begin
    alike. A mark is a code point for private use, so no template contains it.
    `str.translate` puts the values, which are by code point, into a template.
    """
    first_mark = 0xE000
    marks = {}
    values = {}
    for code_point, name in enumerate(item, first_mark):
        marks[name] = chr(code_point)
        values[code_point] = str(item[name])
    templates = {}
    for label in template.template:
        prompt = template.generate_label_prompt_item(marks, shown, label)
        templates[str(label)] = _parsed(model, prompt, 'ppl')
    return templates, values


def _check_template(gold: str, column: str, templates: Mapping[str, str],
                    shared: str) -> None:
    """Refuse a label whose template says no more than all templates do."""
    found = ''
    if gold not in templates:
        found = 'no such template'
    elif shared == templates[gold]:
        found = 'a template whose text all labels share'
    if found:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            f'one of {list(templates)}, with a template of its own', found,
            'Give the benchmark a template for each of its labels.')


def _common_start(texts: Iterable[str]) -> str:
    """Return the common start of texts, without an ASCII word that it ends in.
    """
    start = os.path.commonprefix(list(texts))
    return re.sub('[A-Za-z0-9]+$', '', start)


def _by_reference(model: Any, template: Any, item: Mapping[str, Any],
                  column: str, shown: Any) -> tuple[str, str]:
    """Return the prompt of an item, and its reference as the label."""
    filled = template.generate_item(
        item, output_field=column, ice_field_replace_token=shown)
    prompt = _parsed(model, filled, 'gen')
    ends_visibly = re.search(r'[!-~]\Z', prompt)
    if ends_visibly:
        prompt += ' '
    return prompt, _reference(item[column], column)


def _reference(answer: Any, column: str) -> str:
    """Return the reference of an item, the first one of a list."""
    found = f'a {type(answer).__name__}'
    if isinstance(answer, (list, tuple)):
        if answer and all(isinstance(text, str) for text in answer):
            return answer[0]
        found += ' without texts'
    elif isinstance(answer, (str, int, float)):
        return str(answer)
    raise InputError(
        f'reference in column {column!r}',
        'a text, a number or a list of texts', found,
        'Choose a dataset config whose references are right answers.')


def _parsed(model: Any, prompt: Any, mode: str) -> str:
    """Return the text that the model would read of a prompt, or of a chat."""
    parsed = model.parse_template(prompt, mode=mode)
    if isinstance(parsed, str):
        return parsed
    [messages] = _convert_chat_messages([parsed])
    chat = model.tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=mode == 'gen')
    # The BOS token is removed: scoring puts it in front itself.
    return chat.removeprefix(model.tokenizer.bos_token or '')
