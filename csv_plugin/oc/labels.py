"""The right answers of a benchmark, each behind the benchmark's own prompt.

For a benchmark with a prompt template per label, the label is the part of the
right template that differs from the other templates. If the difference begins
inside a word, the label begins with that word. For a benchmark answered by
generation, the label is the reference, with a space before it if the prompt
ends in a visible ASCII character.
"""
import os.path
import re
from collections.abc import Iterable, Mapping
from functools import partial
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
    prompt_and_label = _by_reference if _is_generative(template) else partial(
        _by_label, after_common_start=after_common_start)
    texts = []
    for index, examples in enumerate(retriever.retrieve()):
        entry = dict(retriever.test_ds[index])
        while True:
            ice = retriever.generate_ice(examples, ice_template=ice_template)
            prompt, label = prompt_and_label(model, template, entry, column,
                                             ice)
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
              ice: Any, after_common_start: bool) -> tuple[str, str]:
    """Prompt and label of an item by the templates of all labels."""
    gold = str(entry[column])
    marked, values = _marked_templates(model, template, entry, ice)
    shared = _common_start(marked.values())
    _check_label(gold, column, marked, shared)
    filled = {name: text.translate(values) for name, text in marked.items()}
    start = shared.translate(values)
    if after_common_start and start == shared:
        start = _common_start(filled.values())
    label = filled[gold][len(start):]
    if not label:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            'a right answer that differs from the others',
            f'one that another begins with: ...{start[-40:]!r}',
            'Remove the item, or run the benchmark without its label loss.')
    return start, label


def _marked_templates(model: Any, template: Any, entry: Mapping[str, Any],
                      ice: Any) -> tuple[dict[str, str], dict[int, str]]:
    """Templates by label with a mark for each column, and values of marks.

    With marks in the place of columns, text that the templates share differs
    from text that the values share. A mark is a code point for private use, so
    no template contains it.
    """
    first_mark = 0xE000
    marks = {}
    values = {}
    for mark, name in enumerate(entry, first_mark):
        marks[name] = chr(mark)
        values[mark] = str(entry[name])
    marked = {}
    for label in template.template:
        prompt = template.generate_label_prompt_item(marks, ice, label)
        marked[str(label)] = _parse(model, prompt, 'ppl')
    return marked, values


def _check_label(gold: str, column: str, marked: Mapping[str, str],
                 shared: str) -> None:
    """Refuse a label whose template says no more than all templates do."""
    found = ''
    if gold not in marked:
        found = 'no such template'
    elif shared == marked[gold]:
        found = 'a template whose text all labels share'
    if found:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            f'one of {list(marked)}, with a template of its own', found,
            'Give the benchmark a template for each of its labels.')


def _common_start(texts: Iterable[str]) -> str:
    """The common start of texts, cut before an ASCII word that it ends in."""
    return re.sub('[A-Za-z0-9]+$', '', os.path.commonprefix(list(texts)))


def _by_reference(model: Any, template: Any, entry: Mapping[str, Any],
                  column: str, ice: Any) -> tuple[str, str]:
    prompt = _parse(
        model,
        template.generate_item(
            entry, output_field=column, ice_field_replace_token=ice), 'gen')
    space = ' ' if re.search(r'[!-~]\Z', prompt) else ''
    return prompt + space, _reference(entry[column], column)


def _reference(answer: Any, column: str) -> str:
    is_list = isinstance(answer, (list, tuple))
    answers = answer if is_list else [answer]
    types = (str, ) if is_list else (str, int, float)
    if not answers or not all(isinstance(item, types) for item in answers):
        raise InputError(
            f'reference in column {column!r}',
            'a text, a number or a list of texts',
            f'a {type(answer).__name__}' + (' without texts' * is_list),
            'Choose a dataset config whose references are right answers.')
    return str(answers[0])


def _parse(model: Any, prompt: Any, mode: str) -> str:
    """The text that the model would read of a prompt, or of a chat."""
    parsed = model.parse_template(prompt, mode=mode)
    if isinstance(parsed, str):
        return parsed
    # The BOS token is removed: scoring puts it in front itself.
    chat = model.tokenizer.apply_chat_template(
        _convert_chat_messages([parsed])[0],
        tokenize=False,
        add_generation_prompt=mode == 'gen')
    return chat.removeprefix(model.tokenizer.bos_token or '')
