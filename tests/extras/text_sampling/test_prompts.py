"""Items become natural texts whose answers are marked."""
import re

import pytest
from datasets import Dataset, DatasetDict
from hypothesis import given
from hypothesis import strategies as st
from opencompass.datasets import BaseDataset
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.text_sampling.host_datasets import read_config
from csv_plugin.extras.text_sampling.prompts import (load_subtask,
                                                     load_worked_examples,
                                                     question, split_template,
                                                     squeeze, worked_examples)
from tests.extras.text_sampling import invented

# Where the item of a template begins

WORDS = st.text('ab {}:', min_size=1).filter(str.strip)
PARAGRAPHS = st.lists(WORDS).map(lambda words: '\n\n'.join([*words, '']))


@pytest.mark.slow
@given(PARAGRAPHS, WORDS, WORDS)
def test_the_paragraph_of_the_first_column_is_the_item(head, before, after):
    item = f'{before}{{x}}{after}\n\n{{y}}'
    assert split_template(head + item, ['x', 'y']) == (head, item)


def test_examples_go_before_the_item():
    assert split_template('Hint.\n</E>Q {x}', ['x'],
                          '</E>') == ('Hint.\n</E>', 'Q {x}')
    # The later of both places counts.
    for template in ('Hint.</E>\n\nQ {x}', '</E>Hint.\n\nQ {x}'):
        assert split_template(template, ['x'], '</E>')[1] == 'Q {x}'


def test_messages_are_read_as_lines():
    template = dict(
        begin=[dict(role='SYSTEM', prompt='Help.'), '</E>'],
        round=[
            dict(role='HUMAN', prompt='Q 1'),
            dict(role='BOT', prompt=''),
            dict(role='BOT', prompt='A 1'),
            dict(role='HUMAN', prompt='Think.\n\nQ {x}'),
            dict(role='BOT', prompt='A'),
        ],
        end='.')
    assert split_template(template, ['x'], '</E>') == (
        'Help.\n</E>\nQ 1\nA 1\nThink.\n\n', 'Q {x}\nA\n.')  # yapf: disable


def test_every_label_has_its_template():
    rounds = dict(round=[dict(role='HUMAN', prompt='Hint.\n\n{x} b')])
    head, item = split_template({0: 'Hint.\n\n{x} a', 1: rounds}, ['x'])
    assert (head, item) == ('Hint.\n\n', {0: '{x} a', 1: '{x} b'})
    with pytest.raises(InputError, match='answered in free text'):
        worked_examples(head, item, ['x'])


@pytest.mark.parametrize('template', ['Q {y}', {'A': 'Q {x}', 'B': 'Q'}])
def test_templates_without_an_item(template):
    with pytest.raises(InputError, match=r"one of the columns \['x'\]"):
        split_template(template, ['x'])


ITEM = 'Q: {x}\nUnit: {y}\nA: Think.'


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(*[st.text('ab?\n{', min_size=1).map(str.strip)] *
                  3).filter(lambda e: all(e) and '\n\n' not in ''.join(e)),
        min_size=1,
        max_size=4), st.sampled_from(['', 'Do sums.\n\n', 'A FAQ: sums.\n\n']))
def test_examples_are_found_in_the_form_of_the_item(examples, hint):
    shown = [(ITEM.format(x=x, y=y) + '\n', a) for x, y, a in examples]
    head = hint + '\n\n'.join(map(''.join, shown)) + '\n\n'
    assert worked_examples(head, ITEM, ['x', 'y']) == shown


# Texts of OpenCompass's configs


def parts(text):
    start, end = text.answer
    return text.text[:start], text.text[start:end], text.text[end:]


def shown(task):
    return [
        i for i in task.items
        if squeeze(question(task.render(i))) in task.examples
    ]


def test_a_worked_solution(data):
    config, = read_config('gsm8k_gen_17d0dc').values()
    messages = config['infer_cfg']['prompt_template']['template']['round']
    example = messages[2]['prompt'].split('\n')[0].removeprefix('Question: ')
    invented.gsm8k(data, example, 'How few?\n')
    task = load_subtask('gsm8k', config)
    few = task.render(1)
    assert few.text_id == '1'
    assert parts(few) == (
        "Question: How few?\nLet's think step by step\nAnswer: ",
        'It is 2.\nThe answer is 2', '')
    # The other one is written into the prompt.
    assert shown(task) == [0]


def test_labels_and_examples_of_the_train_split(data):
    invented.hellaswag(data, 24)
    config, = read_config('hellaswag_10shot_ppl_59c85e').values()
    task = load_subtask('hellaswag', config)
    assert parts(task.render(2)) == (
        'Ferry 2 comes in and\nA) moors 2.\nB) sinks 2.\nC) sings 2.\n'
        'D) flies.\nWhat is the right option?\n', 'C', '')
    assert list(task.items) == list(range(24))
    # Ten examples are shown, though the train split has 14.
    assert shown(task) == list(range(10, 20))


def test_a_request_to_think_without_a_chain_is_left_out(data):
    invented.bbh(data, 2)
    config = read_config('bbh_gen_98fba6')['navigate']
    assert parts(load_subtask(
        'navigate',
        config).render(1)) == ('Q: Is navigate 1 even?\nA: ', '(1)', '')


def test_worked_examples_need_no_data():
    """BBH's prompts have three for each of 27 tasks."""
    texts = []
    for name, config in read_config('bbh_gen_98fba6').items():
        task = load_worked_examples(name, config)
        assert list(task.items) == [0, 1, 2]
        texts += [task.render(place) for place in task.items]
    for text in texts:
        prompt, chain, rest = parts(text)
        assert re.match(r'Q: \S', prompt) and not rest
        assert prompt.count('Q: ') == 1
        assert prompt.rstrip().endswith("A: Let's think step by step.")
        assert re.search(r'the answer is .*\.?\Z', chain), chain
        assert '\n\n' not in chain and "Let's" not in chain.split('.')[0]
    assert len(texts) == 81


# Texts of other datasets


class Rows(BaseDataset):

    @staticmethod
    def load(rows, train=()):
        return DatasetDict(
            train=Dataset.from_list([*(train or rows)]),
            test=Dataset.from_list([*rows]))


def prompt_of(template, retriever=dict(type=ZeroRetriever), **more):
    return dict(
        prompt_template=dict(type=PromptTemplate, template=template, **more),
        retriever=retriever)


def subtask(rows, infer, columns='x', train=(), **reader):
    """Of rows and the `infer_cfg` of a dataset."""
    reader = dict(input_columns=columns, output_column='a') | reader
    return load_subtask(
        'mine',
        dict(
            abbr='mine',
            type=Rows,
            rows=rows,
            train=train,
            reader_cfg=reader,
            infer_cfg=infer))


@pytest.mark.parametrize(
    'row, template, expected',
    [
        # White space around values is left out, marks in them stay.
        (dict(x=' what\n', a=' 4 '), '\n Q {x}\nA:', ('Q what\nA: ', '4')),
        (dict(x='{b} </E> <<1>>', a='<<2>> {b}'), 'Q {x}\nA:',
         ('Q {b} </E> <<1>>\nA: ', '<<2>> {b}')),
        (dict(x='1', a=3), 'Q {x}', ('Q 1 ', '3')),
        (dict(x='1', a=2.5), 'Q {x}', ('Q 1 ', '2.5')),
        (dict(x='1', a=['b', 'c']), 'Q {x}', ('Q 1 ', 'b')),
    ])
def test_values_and_references(row, template, expected):
    assert parts(subtask([row],
                         prompt_of(template)).render(0)) == (*expected, '')


def test_places_are_those_of_the_split():
    rows = [dict(x=str(i), y=0, a='b' * (i != 5)) for i in range(9)]
    task = subtask(rows, prompt_of('{y} {x}'), 'x y', test_range='[4:7]')
    assert [*task.items] == [0, 2]  # one without an answer
    text = task.render(2)
    assert (text.text_id, text.text) == ('6', '0 6 b')


@pytest.mark.parametrize('row, template, message', [
    (dict(x='', a='b'), 'Q {x}', '{x}'),
    (dict(x=None, a='b'), 'Q {x}', '{x}'),
    (dict(x='w', a='b'), 'Q {x} {other}', '{other}'),
    (dict(x='w', a='C'), {'A': '{x} A', 'B': '{x} B'}, "label 'C'"),
    (dict(x='w', a=' '), 'Q {x}', 'answer'),
    (dict(x='w', a=dict(inputs='1')), 'Q {x}', 'of texts, found a dict.'),
    (dict(x='w', a=[dict(text='1')]), 'Q {x}', 'found a list without texts.'),
])  # yapf: disable
def test_items_that_make_no_text(row, template, message):
    with pytest.raises(InputError, match=re.escape(message)):
        subtask([row], prompt_of(template)).render(0)


@pytest.mark.parametrize('infer, reader, message', [
    ({}, {}, "infer_cfg: expected .*Template'"),
    (dict(prompt_template=('template', '{x}')), {}, "expected .*Template'"),
    *[(prompt_of(template), {}, 'prompt template: expected a text, rounds')
      for template in ([dict(role='user', prompt='{x}')], 5, dict(round=[5]))],
    (prompt_of('{y}'), {}, r"prompt template: expected one of .*\['x'\]"),
    (prompt_of('{x}'), dict(output_column=None), 'right answers, found None'),
    (prompt_of('{x}'), dict(output_column='task_id'),
     "right answers, found 'task_id'"),
    (prompt_of('{x}'), dict(output_column='b'), r"one of \['x', .*found 'b'"),
])
def test_configs_that_cannot_be_used(infer, reader, message):
    rows = [dict(x='1', a='b', task_id='c')]
    with pytest.raises(InputError, match=message):
        subtask(rows, infer, **reader)


SENTENCES = {1: 'Good: {x}', 2: 'Good: {y}'}


@pytest.mark.parametrize('template, options, expected', [
    (SENTENCES, ('The oar fits the boat as the oar is small.',
                 'The oar fits the boat as the boat is small.'),
     ('Good: The oar fits the boat as the ', 'oar is small.')),
    ({1: '{x}', 2: '{y}'}, ('Oars float.', 'Oars flow.'),
     ('Oars ', 'float.')),
    (SENTENCES, ('Oars float.', 'Boats float.'), ('Good: ', 'Oars float.')),
    ({1: '{x}', 2: '{y}'}, ('Oars float.', 'Boats float.'),
     ('', 'Oars float.')),
    # Both contain the question.
    ({1: '{y}: {x}', 2: '{y}: {y}'}, ('the oar', 'the boat'),
     ('the boat: ', 'the oar')),
])  # yapf: disable
def test_sentences_part_where_they_differ(template, options, expected):
    x, y = options
    task = subtask([dict(x=x, y=y, a=1)], prompt_of(template), 'x y')
    assert parts(task.render(0))[:2] == expected


@pytest.mark.parametrize('retriever, expected', [
    (dict(type='TopkRetriever'), [1, 2]),
    (dict(type=FixKRetriever, fix_id_list=[2]), [2]),
    (dict(type='some.where.ZeroRetriever'), []),
])
def test_any_item_of_the_train_split_may_be_shown(retriever, expected):
    """But for those without an answer or a value."""
    train = [dict(x=f'w{i}', a='b' if i else '') for i in range(3)]
    train.append(dict(x='', a='b'))
    rows = [dict(x=f'w{i}', a='b') for i in range(4)]
    infer = prompt_of('</E>{x}:', retriever, ice_token='</E>')
    assert shown(subtask(rows, infer, train=train)) == expected
