"""The right answers of a benchmark, each behind the benchmark's own prompt.

A benchmark that is scored by perplexity has a prompt template for each label.
An item's label is the text after the part that all templates share, from the
beginning of an ASCII word on. For a benchmark that is answered by generation,
it is the reference, with a space before it if the prompt ends in a visible
ASCII character.
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
    keys = {str(key): key for key in template.template}
    gold = str(entry[column])
    # From here on, code points stand for the columns of an item; they are for
    # private use, so no template contains them.
    first_mark = 0xE000
    # With a mark in place of each column, text that the templates share
    # differs from text that the values share.
    marks = dict(enumerate(entry, first_mark))
    marked_entry = {name: chr(mark) for mark, name in marks.items()}
    marked = {
        name:
        _parse(model,
               template.generate_label_prompt_item(marked_entry, ice, key),
               'ppl')
        for name, key in keys.items()
    }
    shared = _common_start(marked.values())
    if gold not in marked or shared == marked[gold]:
        raise InputError(
            f'label {gold!r} in column {column!r}',
            f'one of {list(keys)}, with a template of its own',
            'no such template' if gold not in marked else
            'a template whose text all labels share',
            'Give the benchmark a template for each of its labels.')
    values = {mark: str(entry[name]) for mark, name in marks.items()}
    filled = {name: text.translate(values) for name, text in marked.items()}
    start = shared.translate(values)
    if after_common_start and start == shared:
        start = _common_start(filled.values())
    return start, filled[gold][len(start):]


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
