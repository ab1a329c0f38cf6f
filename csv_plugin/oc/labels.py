"""Make texts of a benchmark's own prompts, each followed by its right answer.

The right answer is called the label. Where it begins in the text depends on
the kind of benchmark:

* A benchmark that compares perplexities has one template per option. The label
  is what follows the start that all templates share, in the template of the
  right option. For "Review: {text} It is good." and "Review: {text} It is
  bad.", the labels are "good." and "bad.". If the templates begin to differ
  inside a word, the label begins with that word.
* A benchmark whose answers the model writes has one template, and the label is
  the reference answer. A space is put before the label if the prompt ends in a
  visible ASCII character.
"""
import os.path
import re
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text

#: An item of a benchmark: the value of each column by its name.
Item = Mapping[str, Any]
#: Output columns that contain ids of items, code or rubrics, but no answers.
_NO_ANSWERS = frozenset(
    ('declaration', 'evaluation_sample', 'filename', 'id', 'id_ddm', 'idx',
     'judge', 'metadata', 'problem_id', 'prompt_id', 'q', 'question_id',
     'reference_data', 'rubrics_text', 'task_id', 'test', 'test_code',
     'test_column', 'test_list', 'test_list_2', 'tests'))


def check_output_column(column: Optional[str]) -> str:
    """Return the `output_column` of a dataset.

    An `InputError` if it contains no answers.
    """
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
    """Return prompts, each followed by its right answer as the `answer`.

    There is one text per item of the retriever's test split; its id is the
    index of the item. The model turns the templates into text. If
    `prompt_template` is None, items are filled into `ice_template`, the
    template of the in-context examples. Examples are dropped, the last one
    first, until a text has at most `max_seq_len` tokens.

    Some benchmarks compare whole sentences, so that no column of the item
    occurs in the start that all templates share. With `after_common_start`,
    the templates of such a benchmark are compared after their columns are
    filled in, and the answer begins where they first differ.

    Raises:
        InputError: The output column contains no right answers, an answer has
            no template of its own, or an answer is empty because another
            answer begins with all of its text.
    """
    column = check_output_column(retriever.dataset_reader.output_column)
    template = ice_template if prompt_template is None else prompt_template
    # A template of these kinds is the same for all labels: the model writes
    # the answer.
    is_text = isinstance(template.template, str)
    is_written = is_text or template.prompt_type == 'meta'

    def prompt_and_label(item: Item, examples: Any) -> tuple[str, str]:
        """Return the prompt of an item, with these examples, and its label."""
        shown_examples = retriever.generate_ice(
            examples, ice_template=ice_template)
        if is_written:
            return _by_reference(model, template, item, column, shown_examples)
        return _by_templates(model, template, item, column, shown_examples,
                             after_common_start)

    texts = []
    for index, examples in enumerate(retriever.retrieve()):
        item = dict(retriever.test_ds[index])
        prompt, label = prompt_and_label(item, examples)
        while examples and max_seq_len:
            n_tokens = model.get_token_len(prompt + label)
            if n_tokens <= max_seq_len:
                break
            examples = examples[:-1]
            prompt, label = prompt_and_label(item, examples)
        text = prompt + label
        answer = len(prompt), len(text)
        texts.append(Text(str(index), text, answer=answer))
    return texts


def _by_templates(model: Any, template: Any, item: Item, column: str,
                  shown_examples: Any,
                  after_common_start: bool) -> tuple[str, str]:
    """Return prompt and label for a benchmark that has a template per label.

    The prompt is the start that all templates share, with the columns of the
    item filled in. For `after_common_start`, see `label_texts`.
    """
    gold = str(item[column])
    templates, values = _marked_templates(model, template, item,
                                          shown_examples)
    shared = _common_start(templates.values())
    _check_template(gold, column, templates, shared)
    prompt = shared.translate(values)
    if after_common_start and prompt == shared:
        filled = [text.translate(values) for text in templates.values()]
        prompt = _common_start(filled)
    text = templates[gold].translate(values)
    label = text.removeprefix(prompt)
    if not label:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            'a right answer that no other answer begins with',
            f'an answer that another one begins with: ...{prompt[-40:]!r}',
            'Remove the item, or run the benchmark without its label loss.')
    return prompt, label


def _marked_templates(
        model: Any, template: Any, item: Item,
        shown_examples: Any) -> tuple[dict[str, str], dict[int, str]]:
    """Return templates by label, and a table that fills their columns in.

    In the templates, each column of the item is represented by one character
    from Unicode's private use area, which no template contains. Therefore
    templates can be compared before their columns are filled in: two columns
    differ even if their values begin alike. The table maps the code point of
    each such character to the column's value, for `str.translate`.
    """
    first_mark = 0xE000
    marks = {}
    values = {}
    for code_point, name in enumerate(item, first_mark):
        marks[name] = chr(code_point)
        values[code_point] = str(item[name])
    templates = {}
    for label in template.template:
        prompt = template.generate_label_prompt_item(marks, shown_examples,
                                                     label)
        templates[str(label)] = _parsed(model, prompt, 'ppl')
    return templates, values


def _check_template(gold: str, column: str, templates: Mapping[str, str],
                    shared: str) -> None:
    """Refuse a label without a template, or whose template adds nothing.

    A template adds nothing if it equals the start that all templates share.
    """
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
    """Return the common start of texts, cut before a word at its end.

    A word consists of ASCII letters and digits.
    """
    start = os.path.commonprefix(list(texts))
    return re.sub('[A-Za-z0-9]+$', '', start)


def _by_reference(model: Any, template: Any, item: Item, column: str,
                  shown_examples: Any) -> tuple[str, str]:
    """Return the prompt of an item, and its reference answer as the label."""
    filled = template.generate_item(
        item, output_field=column, ice_field_replace_token=shown_examples)
    prompt = _parsed(model, filled, 'gen')
    ends_visibly = re.search(r'[!-~]\Z', prompt)
    if ends_visibly:
        prompt += ' '
    return prompt, _reference(item[column], column)


def _reference(answer: Any, column: str) -> str:
    """Return the reference answer of an item as text.

    If `answer` is a list, its first element is the reference answer.
    """
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
    """Return the text that the model reads for a prompt or a chat.

    `mode` is 'ppl' if the model compares options, 'gen' if it writes answers.
    """
    parsed = model.parse_template(prompt, mode=mode)
    if isinstance(parsed, str):
        return parsed
    [messages] = _convert_chat_messages([parsed])
    chat = model.tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=mode == 'gen')
    # The BOS token is removed, because the scoring puts one in front itself.
    return chat.removeprefix(model.tokenizer.bos_token or '')
