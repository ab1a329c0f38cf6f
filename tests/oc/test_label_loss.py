"""Loss of the right answers, by a benchmark's own templates."""
import json

import pytest
from opencompass.models import (HuggingFaceBaseModel, HuggingFaceCausalLM,
                                HuggingFacewithChatTemplate)
from opencompass.openicl.icl_inferencer import GenInferencer, PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever
from opencompass.registry import MODELS

from csv_plugin.configs.datasets.label_loss import label_loss
from csv_plugin.core.conventions import InputError
from csv_plugin.oc.labels import check_output_column, label_texts
from tests.lm.models import reference_losses
from tests.oc import tiny

ZERO = dict(type=ZeroRetriever)
META = dict(round=[
    dict(role='HUMAN', begin='Q: ', end='\n'),
    dict(role='BOT', begin='A: ', end='.', generate=True)
])
HUMAN = dict(role='HUMAN', prompt='{question}')


def benchmark(template, output_column='label', inferencer=PPLInferencer):
    return tiny.exam(
        'exam',
        output_column,
        prompt_template=dict(type=PromptTemplate, template=template),
        retriever=ZERO,
        inferencer=dict(type=inferencer, max_out_len=5))


def labels(model, entry, max_seq_len=None, **settings):
    """Prompt and label of every item, as the inferencer gets them."""
    cfg = entry['infer_cfg']
    dataset = tiny.Exam(path='', reader_cfg=entry['reader_cfg'])
    retriever = dict(cfg['retriever'])
    retriever = retriever.pop('type')(dataset=dataset, **retriever)
    templates = [
        PromptTemplate(**{
            k: v
            for k, v in cfg[name].items() if k != 'type'
        }) if name in cfg else None
        for name in ('ice_template', 'prompt_template')
    ]
    texts = label_texts(model, retriever, *templates, max_seq_len, **settings)
    assert all(text.answer[1] == len(text.text) for text in texts)
    return [(text.text[:text.answer[0]], text.text[slice(*text.answer)])
            for text in texts]


@pytest.fixture(scope='module')
def model(model_folder):
    return build(HuggingFaceBaseModel, model_folder)


def build(kind, folder, **settings):
    return MODELS.build(dict(type=kind, path=str(folder), **settings))


# The first item is right with A, whose text holds '{A}' in the question.
ASKED = 'Is the cat a {A}?'


@pytest.mark.parametrize('of_a, of_b, expected', [
    ('{question} {A}', '{question} {B}', (ASKED + ' ', 'the cat')),
    ('{question}\nIt is A', '{question}\nIt is B', (ASKED + '\nIt is ', 'A')),
    ('{question} all {A}.', '{question} also {B}.',
     (ASKED + ' ', 'all the cat.')),
    ('{A} is it', '{B} is it', ('', 'the cat is it')),
    (dict(round=[HUMAN, dict(role='BOT', prompt='{A}')]),
     dict(round=[HUMAN, dict(role='BOT', prompt='{B}')]),
     (ASKED + '\n', 'the cat')),
])
def test_a_label_begins_where_templates_part(of_a, of_b, expected, model):
    entry = benchmark(dict(A=of_a, B=of_b))
    items = labels(model, entry)
    assert items[0] == expected and len(items) == 7
    # Sentences may begin alike.
    items = labels(model, entry, after_common_start=True)
    assert items[0] == (expected if expected[0] else ('the ', 'cat is it'))


def test_an_answer_that_another_begins_with_has_no_label(model):
    """Of whole sentences that are compared."""
    entry = benchmark(dict(A='{A}.', B='{cont}. It sat.'))
    assert labels(model, entry)[0] == ('', 'the cat.')
    with pytest.raises(
            InputError, match="another one begins with: .*the cat.'"):
        labels(model, entry, after_common_start=True)


@pytest.mark.parametrize('template, expected', [
    ('{question}\nAnswer:', ('Is the cat a the cat?\nAnswer: ', 'the cat')),
    ('', ('', 'the cat')),
    ('{question} 答：', ('Is the cat a the cat? 答：', 'the cat')),
    (dict(round=[HUMAN]), ('Is the cat a the cat? ', 'the cat')),
])
def test_a_reference_follows_the_prompt(template, expected, model):
    items = labels(model, benchmark(template, 'cont', GenInferencer))
    assert items[0] == expected


def test_the_first_of_several_references_counts(model):
    items = labels(model, benchmark('{question}', 'choices', GenInferencer))
    assert items[0] == (f'{ASKED.format(A="the cat")} ', 'A')


def test_a_dataset_without_a_name():
    entry = label_loss({'path': 'a/b', 'name': None, 'infer_cfg': {}})
    assert entry['abbr'] == 'a_b-label_loss' and 'name' not in entry


def test_meta_templates_and_chats(model_folder):
    entry = benchmark(dict(round=[HUMAN]), 'cont', GenInferencer)
    asked = 'Is the cat a the cat?'
    base = build(
        HuggingFaceCausalLM,
        model_folder,
        meta_template=META,
        model_kwargs=dict(torch_dtype='torch.float'))
    assert labels(base, entry)[0] == (f'Q: {asked}\nA: ', 'the cat')
    chat = build(HuggingFacewithChatTemplate, model_folder)
    prompt, label = labels(chat, entry)[0]
    assert prompt.split('\n') == [f'<user>{asked}', '', '<assistant> ']
    assert label == 'the cat'


def test_examples_that_do_not_fit_are_dropped(model):
    by_label = {'A': '{question} {A}\n', 'B': '{question} {B}\n'}
    entry = benchmark({k: f'</E>{v}' for k, v in by_label.items()})
    entry['infer_cfg'] |= dict(
        ice_template=dict(type=PromptTemplate, template=by_label),
        retriever=dict(type=FixKRetriever, fix_id_list=[1, 2]))
    entry['infer_cfg']['prompt_template']['ice_token'] = '</E>'
    dog = 'Is the dog a the dog? the 天气\n'
    fox = 'Is the fox a the fox? the fox\n'
    both, _ = labels(model, entry)[0]
    assert both.startswith(dog + '\n' + fox) and both.endswith(ASKED + ' ')
    room = model.get_token_len(both + 'the cat\n')
    assert labels(model, entry, room)[0][0] == both
    only_first, _ = labels(model, entry, room - 1)[0]
    assert dog in only_first and fox not in only_first
    none, _ = labels(model, entry, 1)[0]
    assert none == f'\n{ASKED} '


@pytest.mark.parametrize('template, column, words', [
    (dict(C='c', D='d'), 'label', r"label 'A'.*\['C', 'D'\].*no such"),
    (dict.fromkeys('AB', '{question}'), 'label',
     "label 'A' in column 'label'.*a template whose text all labels"),
    ('{question}', 'gaps', "column 'gaps': .*found a list without texts"),
])
def test_labels_that_are_none_are_refused(template, column, words, model):
    with pytest.raises(InputError, match=words):
        labels(model, benchmark(template, column))


def test_losses_of_a_benchmark(model, model_folder, tmp_path):
    original = benchmark({'A': '{question} {A}', 'B': '{question} {B}'})
    entry = label_loss(dict(original, n=2, k=2))
    assert entry['abbr'] == 'exam-label_loss'
    assert original['infer_cfg']['inferencer']['type'] is PPLInferencer
    config = tiny.model_config(model_folder)
    bare = tiny.infer(tmp_path / 'bare', config, entry)
    wrapped = tiny.infer(tmp_path / 'wrapped', tiny.wrapped(config), entry)
    file = 'exam-label_loss.json'
    assert (bare / file).read_bytes() == (wrapped / file).read_bytes()
    rows = list(json.loads((bare / file).read_text()).values())
    for (prompt, label), row in zip(labels(model, original), rows):
        ids = model.tokenizer(
            prompt + label, add_special_tokens=False)['input_ids']
        losses = reference_losses(model.model,
                                  [model.tokenizer.bos_token_id, *ids])
        last = losses[-row['label_tokens']:].numpy()
        assert row['label_loss'] == pytest.approx(last.sum(), rel=1e-5)
        tail = model.tokenizer.decode(ids[-row['label_tokens']:])
        assert tail.strip() == label
        assert row['label_bytes'] == len(label.encode())
    result = tiny.evaluate(tmp_path / 'bare', config, entry)
    total, n_tokens, n_bytes = (
        sum(row[key] for row in rows)
        for key in ('label_loss', 'label_tokens', 'label_bytes'))
    assert result == pytest.approx(
        dict(
            label_loss=total / 7,
            label_token_loss=total / n_tokens,
            label_byte_loss=total / n_bytes))
    (bare / file).write_text(json.dumps({'0': rows[0]}))
    (tmp_path / 'bare/results/tiny' / file).unlink()
    with pytest.raises(InputError, match='7 items, found 1'):
        tiny.evaluate(tmp_path / 'bare', config, entry)


def test_a_label_with_nothing_in_front(model_folder, tmp_path):
    entry = label_loss(benchmark({'A': '{A}', 'B': '{B}'}))
    tokens = dict(bos_token=None, eos_token=None, pad_token='a')
    model = tiny.model_config(model_folder, tokenizer_kwargs=tokens)
    with pytest.raises(InputError, match='label of item 0'):
        tiny.infer(tmp_path, model, entry)


@pytest.mark.parametrize('column', [None, '', 'test_list'])
def test_columns_without_right_answers_are_refused(column):
    with pytest.raises(InputError, match='a column of right answers'):
        check_output_column(column)
