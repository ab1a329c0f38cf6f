"""Real details of lighteval, and changed copies of them."""
import json
import shutil
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.importing import import_losses
from csv_plugin.extras.importers.lighteval_details import read_lighteval
from tests.extras.importers.outputs import LIGHTEVAL, read_items_by

read = partial(read_items_by, read_lighteval)


def changed(tmp_path, change, task='who_lives_where|0'):
    """A folder with the first row of real details, changed."""
    source, = (LIGHTEVAL / 'c-l-80').rglob('*.parquet')
    rows = pq.read_table(source).to_pylist()
    change(rows[0])
    date = source.parent.name
    path = tmp_path / date / f'details_{task}_{date}.parquet'
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows[:1]), path)
    return tmp_path


def test_losses_of_a_real_run():
    losses = {loss.text_id: loss for loss in read(LIGHTEVAL / 'c-l-80')[0]}
    assert sorted(losses) == [f'who_lives_where|0/{n}' for n in range(4)]
    loss = losses['who_lives_where|0/2']
    assert loss.text.endswith('Sylvie Osgood keep?\nAnswer: quails')
    assert loss.text[loss.start:] == ' quails'
    assert loss.nats == 1.4268734455


def test_ids_that_begin_again_are_told_apart_by_content(tmp_path):
    """As those of a task with two evaluation splits, in any order."""
    folders = []
    for model, step in (('m', 1), ('n', -1)):
        source, = (LIGHTEVAL / 'c-l-80').rglob('*.parquet')
        rows = pq.read_table(source).to_pylist()
        for number, row in enumerate(rows):
            row['doc']['id'] = str(number % 2)
        # The same item may be in both splits.
        rows.append(rows[0])
        date = '2026-11-22'
        path = tmp_path / model / f'{date}/details_quays|0_{date}.parquet'
        path.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows[::step]), path)
        folders.append(tmp_path / model)
    table = import_losses('lighteval', folders)
    assert len(table.columns.units) == 5
    assert len({*table.values[0]}) == 4
    assert table.values[0].tolist() == table.values[1].tolist()


def test_details_of_two_models_are_refused():
    """Of each task, those of the model that was run last would count."""
    with pytest.raises(
            InputError, match='one model, found [^,]*/c-l-80, '
            '[^,]*/d-s-100'):
        read(LIGHTEVAL)


def test_examples_and_instructions_are_part_of_the_text(tmp_path):
    path = changed(
        tmp_path, lambda row: row['doc'].update(
            instruction='Answer.', gold_index=[2],
            choices=[' a', ' b', ' owls', ' d'],
            fewshot_samples=[{'query': 'Q: who?'}]))  # yapf: disable
    loss = read(path)[0][0]
    assert loss.text.startswith('Answer.\n\nQ: who?\n\nQuestion')
    assert loss.text[loss.start:] == ' owls'


def test_a_trial_on_a_few_items_does_not_replace_a_whole_run(tmp_path):
    whole, = (LIGHTEVAL / 'c-l-80').rglob('*.parquet')
    shutil.copytree(whole.parent, tmp_path / whole.parent.name)
    trial = tmp_path / '2027-01-01T00-00-00'
    trial.mkdir()
    rows = pq.read_table(whole).slice(0, 1)
    pq.write_table(rows, trial / f'details_who_lives_where|0_{trial.name}'
                   '.parquet')  # yapf: disable
    losses, lines = read(tmp_path)
    assert len(losses) == 4
    assert lines == ['left out 1 run (1 item of who_lives_where|0): another '
                     'run has more items or is newer']  # yapf: disable
    other, = (LIGHTEVAL / 'd-s-100').rglob('*.parquet')
    (tmp_path / '2026-12-01').mkdir()
    shutil.copy(
        other, tmp_path / '2026-12-01' /
        'details_who_lives_where|0_2026-12-01.parquet')
    assert read(tmp_path)[0][0].nats == read(LIGHTEVAL / 'd-s-100')[0][0].nats


@pytest.mark.parametrize('part, fields, reason', [
    ('doc', dict(gold_index=7), 'no right answer'),
    ('doc', dict(gold_index=[]), 'no right answer'),
    ('doc', dict(gold_index=[0, 2]), 'several right answers'),
    ('doc', dict(sampling_methods=['GENERATIVE']), 'generated'),
    ('doc', dict(sampling_methods=['PERPLEXITY']), 'one token off'),
    ('model_response', dict(logprobs=[-1.0]), '4 log-likelihoods'),
    ('model_response', dict(logprobs=[float('nan')] * 4), '4 log-likelihoods'),
    ('model_response', dict(logprobs=[1.0] * 4), 'change the sign'),
    ('model_response', dict(truncated_tokens_count=3), "0 as 'truncated"),
    ('doc', dict(choices=[None] * 4), "texts as 'choices'"),
])
def test_a_task_that_cannot_be_used(tmp_path, part, fields, reason):
    path = changed(tmp_path, lambda row: row[part].update(fields), 'other|5')
    with pytest.raises(InputError, match=reason):
        read(path)
    changed(path, lambda row: None)
    losses, lines = read(path)
    assert len(losses) == 1
    assert reason in lines[0] and 'other|5' in lines[0]
    assert read(path, 'who*') == (losses, [])


def test_other_backends(tmp_path):
    """SGLang has a number a token; servers count no truncated tokens."""

    def change(row):
        row['model_response'].update(
            logprobs=[[-1.0, -0.5], [-3.0]] * 2, truncated_tokens_count=-1)

    assert read(changed(tmp_path, change))[0][0].nats == 1.5


def settings(folder, model, date, **config):
    """Details and results of a model, as the program places them."""
    source, = (LIGHTEVAL / 'c-l-80').rglob('*.parquet')
    run = folder / 'details/lab' / model / date
    run.mkdir(parents=True)
    shutil.copy(source, run / f'details_who_lives_where|0_{date}.parquet')
    results = folder / f'results/lab/{model}/results_{date}.json'
    results.parent.mkdir(parents=True, exist_ok=True)
    config = dict(model_name=f'lab/{model}', revision='main') | config
    results.write_text(
        json.dumps(
            dict(
                config_general=dict(model_config=config),
                results=dict(all=dict(acc=float('nan'))),
                versions={'who_lives_where|0': 0})))
    return run.parent


def test_settings_in_the_results_beside(tmp_path):
    """A chat template changes losses, and is not in the details."""
    folders = [
        settings(
            tmp_path,
            model,
            '2026-11-22',
            load_in_8bit=template,
            override_chat_template=template)
        for model, template in (('one', False), ('two', True))
    ]
    with pytest.warns(UserWarning) as warnings:
        import_losses('lighteval', folders)
    lines = [str(warning.message) for warning in warnings]
    assert 'chat template: none of one, some of two' in lines[0]
    assert 'quantization: none of one, load_in_8bit=True of two' in lines[1]
    assert read(folders[0])[0][0].measured.facts['revision'] == 'main'


def test_runs_of_other_weights_are_not_joined(tmp_path):
    folder = settings(tmp_path, 'm', '2026-11-22')
    settings(tmp_path, 'm', '2026-11-23')
    assert 'another run has more items or is newer' in read(folder)[1][0]
    settings(tmp_path, 'm', '2026-11-24', revision='step10')
    with pytest.raises(InputError, match='main of .* step10 of who_lives'):
        read(folder)
