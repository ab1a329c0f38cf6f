"""Real details of lighteval, and changed copies of them."""
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.lighteval_details import read_lighteval
from tests.extras.importers.outputs import LIGHTEVAL


def changed(tmp_path, change):
    """A folder with the first row of real details, changed."""
    source, = (LIGHTEVAL / 'c-l-80').rglob('*.parquet')
    rows = pq.read_table(source).to_pylist()
    change(rows[0])
    path = tmp_path / source.parent.name / source.name
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:1]), path)
    return tmp_path


def test_losses_of_a_real_run():
    losses = {
        loss.text_id: loss
        for loss in read_lighteval(LIGHTEVAL / 'c-l-80')
    }
    assert sorted(losses) == [f'who_lives_where|0/{n}' for n in range(4)]
    loss = losses['who_lives_where|0/2']
    assert loss.text.endswith('Sylvie Osgood keep?\nAnswer: quails')
    assert loss.text[loss.start:] == ' quails'
    assert loss.nats == 1.4268734455


def test_the_newest_run_counts(tmp_path):
    for name, model in (('2026-11-23T00-00-00', 'c-l-80'),
                        ('2026-11-22T00-00-00', 'd-s-100')):
        source, = (LIGHTEVAL / model).rglob('*.parquet')
        task = source.name.removeprefix('details_').split('_2026')[0]
        (tmp_path / name).mkdir()
        shutil.copy(source, tmp_path / name / f'details_{task}_{name}.parquet')
    assert ({loss.nats
             for loss in read_lighteval(tmp_path)
             } == {loss.nats
                   for loss in read_lighteval(LIGHTEVAL / 'c-l-80')})


def test_details_of_two_models_are_refused():
    """Of each task, those of the model that was run last would count."""
    with pytest.raises(
            InputError, match='one model, found [^,]*/c-l-80, '
            '[^,]*/d-s-100'):
        read_lighteval(LIGHTEVAL)


def test_examples_and_instructions_are_part_of_the_text(tmp_path):
    path = changed(
        tmp_path, lambda row: row['doc'].update(
            instruction='Answer.', fewshot_samples=[{
                'query': 'Q: who?'
            }]))
    loss = read_lighteval(path)[0]
    assert loss.text.startswith('Answer.\n\nQ: who?\n\nQuestion')
    assert loss.text[loss.start:] == ' quails'


def test_a_list_with_one_right_answer(tmp_path):
    """As some tasks write it."""
    same = read_lighteval(LIGHTEVAL / 'c-l-80')[0]
    path = changed(tmp_path, lambda row: row['doc'].update(gold_index=[2]))
    other = read_lighteval(path)[0]
    assert (other.text_id, other.start) == (same.text_id, same.start)
    choices = pq.read_table(next(
        path.rglob('*.parquet'))).to_pylist()[0]['doc']['choices']
    assert other.text.endswith(choices[2])


@pytest.mark.parametrize('part, fields, message', [
    ('doc', dict(gold_index=7), 'the index of a single answer'),
    ('model_response', dict(logprobs=[-1.0]), '4 log-likelihoods'),
    ('model_response', dict(logprobs=[1.0] * 4), 'change the sign'),
    ('model_response', dict(truncated_tokens_count=3), "0 as 'truncated"),
])
def test_items_that_cannot_be_used(tmp_path, part, fields, message):
    path = changed(tmp_path, lambda row: row[part].update(fields))
    with pytest.raises(InputError, match=message):
        read_lighteval(path)


def test_tasks_on_whole_texts_are_left_out(tmp_path):
    source, = (LIGHTEVAL / 'c-l-80').rglob('*.parquet')
    rows = pq.read_table(source).to_pylist()
    for row in rows:
        row['doc']['sampling_methods'] = ['PERPLEXITY']
    path = tmp_path / 'details_words_2026.parquet'
    pq.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(InputError, match='that score answers, found words'):
        read_lighteval(tmp_path)
