"""Items become natural texts whose answers are marked."""
import random
import re

import datasets
import numpy as np
import pytest
from datasets import Dataset, DatasetDict
from opencompass.datasets import BaseDataset
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.labels import label_texts
from csv_plugin.oc.text_sampling.benchmark_texts import (load_subtask,
                                                         load_worked_examples,
                                                         question, squeeze)
from csv_plugin.oc.text_sampling.dataset_configs import read_config
from csv_plugin.oc.text_sampling.dataset_loading import (DataMissingError,
                                                         LoaderError)
from tests.oc.text_sampling import invented


class Rows(BaseDataset):
    """What the config says, in both splits."""

    @staticmethod
    def load(rows, train=()):
        return DatasetDict(
            train=Dataset.from_list([*(train or rows)]),
            test=Dataset.from_list([*rows]))


def subtask(rows, template, columns='x', train=(), infer=None, **reader):
    return load_subtask(
        'mine',
        dict(
            abbr='mine',
            type=Rows,
            rows=rows,
            train=train,
            reader_cfg=dict(**dict(input_columns=columns, output_column='a')
                            | reader),
            infer_cfg=infer if infer is not None else dict(
                prompt_template=dict(type=PromptTemplate, template=template),
                retriever=dict(type=ZeroRetriever))))


def parts(text):
    start, end = text.answer
    return text.text[:start], text.text[start:end], text.text[end:]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path))
    return tmp_path


def test_a_worked_solution(data):
    invented.gsm8k(data, 'How many?\n', 'How few?')
    config, = read_config('gsm8k_gen_17d0dc').values()
    few = load_subtask('gsm8k', config).render(1)
    assert few.text_id == '1'
    assert parts(few) == (
        "Question: How few?\nLet's think step by step\nAnswer: ",
        'It is 2.\nThe answer is 2', '')
    many = load_subtask('gsm8k', config).render(0)
    assert many.text.startswith("Question: How many?\nLet's think")


def test_examples_written_into_the_prompt_are_known(data):
    config, = read_config('gsm8k_gen_17d0dc').values()
    messages = config['infer_cfg']['prompt_template']['template']['round']
    shown = messages[2]['prompt'].split('\n')[0].removeprefix('Question: ')
    invented.gsm8k(data, shown, 'How many?')
    task = load_subtask('gsm8k', config)
    assert squeeze(question(task.render(0))) in task.examples
    assert squeeze(question(task.render(1))) not in task.examples


def test_labels_and_examples_of_the_train_split(data):
    invented.hellaswag(data, 24)
    config, = read_config('hellaswag_10shot_ppl_59c85e').values()
    task = load_subtask('hellaswag', config)
    assert parts(task.render(2)) == (
        'Ferry 2 comes in and\nA) moors 2.\nB) sinks 2.\nC) sings 2.\n'
        'D) flies.\nWhat is the right option?\n', 'C', '')
    assert list(task.items) == list(range(24))
    # Ten examples are shown, though the train split has 14.
    shown = [
        i for i in task.items
        if squeeze(question(task.render(i))) in task.examples
    ]
    assert shown == list(range(10, 20))


def test_a_request_to_think_without_a_chain_is_left_out(data):
    invented.bbh(data, 2)
    config = read_config('bbh_gen_98fba6')['navigate']
    assert parts(load_subtask(
        'navigate',
        config).render(1)) == ('Q: Is navigate 1 even?\nA: ', '(1)', '')


def test_items_without_an_answer_are_left_out(data):
    invented.ceval(data, 3)
    configs = read_config('ceval_ppl_1cd8bf')
    task = load_subtask('law', configs['ceval-law'])
    prompt, answer, rest = parts(task.render(2))
    assert prompt == 'lawval第2题\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案: '
    assert (answer, rest) == ('C', '')
    task = load_subtask('law', configs['ceval-test-law'])
    assert len(task.items) == 0


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


def test_white_space_around_values_goes():
    task = subtask([dict(x=' what\n', a=' 4 ')], '\n Q {x}\nA:')
    assert parts(task.render(0)) == ('Q what\nA: ', '4', '')


def test_marks_in_values_stay():
    task = subtask([dict(x='{b} </E> <<1>>', a='<<2>> {b}')], 'Q {x}\nA:')
    assert parts(task.render(0)) == ('Q {b} </E> <<1>>\nA: ', '<<2>> {b}', '')


def test_places_are_those_of_the_split():
    rows = [dict(x=str(i), a='b') for i in range(9)]
    task = subtask(rows, 'Q {x}', test_range='[4:7]')
    assert len(task.items) == 3
    text = task.render(2)
    assert (text.text_id, text.text) == ('6', 'Q 6 b')


def test_repetitions_are_ignored(data):
    invented.gsm8k(data, 'How many?', 'How few?')
    config, = read_config('gsm8k_gen_17d0dc').values()
    assert len(load_subtask('gsm8k', {**config, 'n': 4, 'k': 2}).items) == 2


@pytest.mark.parametrize('row, template, message', [
    (dict(x='', a='b'), 'Q {x}', '{x}'),
    (dict(x=None, a='b'), 'Q {x}', '{x}'),
    (dict(x='w', a='b'), 'Q {x} {other}', '{other}'),
    (dict(x='w', a='C'), {'A': '{x} A', 'B': '{x} B'}, "label 'C'"),
    (dict(x='w', a=' '), 'Q {x}', 'answer'),
])  # yapf: disable
def test_items_that_make_no_text(row, template, message):
    whole = dict(x='w', a='A')
    task = subtask([row, whole], template)
    with pytest.raises(InputError, match=re.escape(message)):
        task.render(0)
    if '{other}' not in str(template):
        assert parts(task.render(1))[1] == 'A'


def test_columns_may_be_one_text():
    row = dict(left='1', right='2', a='3')
    task = subtask([row], '{right} {left}', 'left right')
    assert task.render(0).text == '2 1 3'


@pytest.mark.parametrize('infer', [
    {},
    dict(prompt_template=dict(messages=[dict(role='user', content='{x}')])),
    dict(prompt_template=('template', '{x}')),
])
def test_configs_with_other_prompts(infer):
    with pytest.raises(InputError, match="infer_cfg: expected .*Template'"):
        subtask([dict(x='1', a='b')], None, infer=infer)


@pytest.mark.parametrize('column', [None, 'task_id', 'tests'])
def test_columns_that_hold_no_answers(column):
    rows = [dict(x='1', a='b', **{column: 'c'} if column else {})]
    with pytest.raises(InputError, match=f'right answers, found {column!r}'):
        subtask(rows, '{x}', output_column=column)


def test_a_column_that_is_not_there():
    with pytest.raises(InputError, match=r"one of \['x', .*found 'b'"):
        subtask([dict(x='1', a='b')], '{x}', output_column='b')


@pytest.mark.parametrize('answer, text', [(3, '3'), (2.5, '2.5'),
                                          (True, 'True'), (['b', 'c'], 'b')])
def test_references_that_are_answers(answer, text):
    task = subtask([dict(x='1', a=answer)], 'Q {x}')
    assert parts(task.render(0)) == ('Q 1 ', text, '')


@pytest.mark.parametrize('answer, kind', [
    (dict(inputs='1', outputs='2'), 'a dict'),
    ([dict(text='1')], 'a list without texts'),
])
def test_references_that_are_no_answers(answer, kind):
    task = subtask([dict(x='1', a=answer)], 'Q {x}')
    with pytest.raises(
            InputError, match=f'list of texts, found {kind}. Choose'):
        task.render(0)


def sentences(template, *options, **more):
    rows = [dict(x=first, y=second, a=1) for first, second in options]
    return subtask(rows, template, 'x y', **more)


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
    # These say what is asked.
    ({1: '{y}: {x}', 2: '{y}: {y}'}, ('the oar', 'the boat'),
     ('the boat: ', 'the oar')),
])  # yapf: disable
def test_sentences_part_where_they_differ(template, options, expected):
    assert parts(sentences(template, options).render(0))[:2] == expected


def test_whole_sentences_are_known_as_examples():
    prompt = dict(
        type=PromptTemplate,
        template={
            1: '</E>{x}',
            2: '</E>{y}'
        },
        ice_token='</E>')
    options = [('Oars float.', 'Boats float.'), ('Rain falls.', 'Snow falls.')]
    task = sentences(
        None,
        *options,
        train=[dict(x='Rain falls.', y='Snow falls.', a=1)],
        infer=dict(ice_template=prompt, retriever=dict(type='BM25Retriever')))
    shown = [squeeze(question(task.render(i))) for i in range(2)]
    assert [text in task.examples for text in shown] == [False, True]


def test_examples_that_cannot_be_put_are_no_fault(monkeypatch):
    prompt = dict(type=PromptTemplate, template='{x}:')
    infer = dict(prompt_template=prompt, retriever=dict(type='BM25Retriever'))

    def failing(model, retriever, *args, **kwargs):
        if retriever.test_ds[0]['x'] == '2':
            raise RuntimeError
        return label_texts(model, retriever, *args, **kwargs)

    monkeypatch.setattr(
        'csv_plugin.oc.text_sampling.benchmark_texts.label_texts', failing)
    train = [dict(x=x, a='b') for x in '123']
    task = subtask(train, None, infer=infer, train=train)
    assert task.examples == '1: 3:'


def test_any_item_of_the_train_split_may_be_shown():
    train = [dict(x=f'w{i}', a='b' if i else '') for i in range(3)]
    train.append(dict(x='', a='b'))
    rows = [dict(x=f'w{i}', a='b') for i in range(4)]
    prompt = dict(type=PromptTemplate, template='</E>{x}:', ice_token='</E>')
    for retriever, shown in ((dict(type='TopkRetriever'), [1, 2]),
                             (dict(type=FixKRetriever, fix_id_list=[2]),
                              [2]), (dict(type='ZeroRetriever'), []),
                             (dict(type='some.where.ZeroRetriever'), [])):
        task = subtask(
            rows,
            None,
            train=train,
            infer=dict(ice_template=prompt, retriever=retriever))
        assert [
            i for i in range(4)
            if squeeze(question(task.render(i))) in task.examples
        ] == shown


def test_missing_data_is_not_downloaded(data, monkeypatch):
    monkeypatch.setattr('opencompass.utils.datasets.DEFAULT_DATA_FOLDER',
                        str(data / 'default'))
    config, = read_config('gsm8k_gen_17d0dc').values()
    with pytest.raises(DataMissingError, match='opencompass/gsm8k is neither'):
        load_subtask('gsm8k', config)
    assert not list(data.iterdir())


def test_loaders_do_not_reach_the_network():

    class Remote(BaseDataset):

        @staticmethod
        def load(path):
            return datasets.load_dataset('example/nothing')

    config = dict(
        type=Remote,
        path='remote',
        reader_cfg=dict(input_columns=['x'], output_column='a'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template='{x}'),
            retriever=dict(type=ZeroRetriever)))
    with pytest.raises(
            DataMissingError,
            match=r'remote is not on this machine, .* from .*\.[a-z]+$'):
        load_subtask('remote', config)


def loaded_by(load):

    class Made(BaseDataset):

        @staticmethod
        def load():
            return DatasetDict(
                train=Dataset.from_list([dict(x='t', a='b')]),
                test=Dataset.from_list(load()))

    return load_subtask(
        'made',
        dict(
            type=Made,
            reader_cfg=dict(input_columns=['x'], output_column='a'),
            infer_cfg=dict(
                prompt_template=dict(type=PromptTemplate, template='{x}'),
                retriever=dict(type=ZeroRetriever))))


@pytest.mark.parametrize('error, kind', [
    (FileNotFoundError('no rows.csv'), DataMissingError),
    (ImportError('no parser'), LoaderError),
])
def test_missing_data_and_failing_loaders_are_told_apart(error, kind):

    def load():
        raise error

    with pytest.raises(kind, match=f'{type(error).__name__}: {error}$'):
        loaded_by(load)


def test_loaders_draw_alike():

    def load():
        rows = [dict(x=str(i), a='b') for i in range(100)]
        random.shuffle(rows)
        return [rows[i] for i in np.random.permutation(len(rows))]

    def texts():
        task = loaded_by(load)
        return [task.render(place).text for place in task.items]

    random.seed(5)
    np.random.seed(5)
    expected = random.random(), np.random.random()
    first = texts()
    random.seed(5)
    np.random.seed(5)
    assert texts() == first != sorted(first, key=lambda t: int(t[:-2]))
    assert (random.random(), np.random.random()) == expected
