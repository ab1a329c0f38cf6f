"""Shared contexts, degradations, request sets, and the figures of the page."""
import gzip
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config

import csv_plugin as cp
from tests.lm.models import make, tokenizer
from tools.studies.real_models import RUN
from tools.studies.real_models.analysis import (compare, own_answers,
                                                text_methods)
from tools.studies.real_models.check import harness_task
from tools.studies.real_models.choices import option_losses
from tools.studies.real_models.collection import State, keep_texts, note_stages
from tools.studies.real_models.degradations import (DEGRADATIONS, STRENGTHS,
                                                    Degradation, degrade)
from tools.studies.real_models.host import OneTaskPartitioner
from tools.studies.real_models.models import check_digest
from tools.studies.real_models.questions import (BENCHMARKS, REQUESTS,
                                                 Question, read_questions,
                                                 split_questions)
from tools.studies.real_models.report import protocols, table
from tools.studies.real_models.tables import RealModels, numbers_of

PAGE = Path(__file__).parents[3] / 'docs' / 'appendix' / 'real_models.md'

QUESTIONS = [('the cat sat on', [' the mat', ' a']),
             ('a dog', [' ran away from the cat', ' sat', ' on the mat']),
             ('cat', [' a'])]  # yapf: disable


def plain_losses(model, words, context, option):
    """One option at a time, from the logits of the whole text."""
    before = words(context, add_special_tokens=False)['input_ids']
    ids = words(context + option, add_special_tokens=False)['input_ids']
    row = torch.tensor([[words.bos_token_id, *ids]])
    with torch.no_grad():
        logits = model(row).logits[0, :-1].double()
    losses = torch.nn.functional.cross_entropy(
        logits, row[0, 1:], reduction='none')
    return losses[len(before):].sum().item()


@pytest.mark.parametrize('name', ['llama', 'qwen2'])
@pytest.mark.parametrize('max_tokens', [8, 1024])
def test_shared_contexts_change_no_loss(name, max_tokens):
    model, words = make(name).eval(), tokenizer()
    found = option_losses(model, words, QUESTIONS, max_tokens)
    for (context, options), losses in zip(QUESTIONS, found):
        expected = [
            plain_losses(model, words, context, option) for option in options
        ]
        np.testing.assert_allclose(losses, expected, rtol=1e-5)


@pytest.mark.parametrize('degradation', DEGRADATIONS, ids=lambda d: d.name)
def test_degraded_models_run_and_are_the_same_each_time(degradation):
    models = [make('llama') for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    before = option_losses(models[0], tokenizer(), QUESTIONS)[0]
    after = []
    for model in models:
        degrade(model, degradation)
        after.append(option_losses(model, tokenizer(), QUESTIONS)[0])
    np.testing.assert_array_equal(*after)
    assert not np.array_equal(before, after[0])


def test_degradations_do_what_their_strength_says():
    weight = 'model.layers.0.mlp.up_proj.weight'
    model = make('llama')
    degrade(model, Degradation('pruned', 0.4))
    zeros = (model.state_dict()[weight] == 0).float().mean().item()
    assert zeros == pytest.approx(0.4, abs=0.01)
    model = make('llama')
    degrade(model, Degradation('bits', 3))
    assert all(len(row.unique()) <= 7 for row in model.state_dict()[weight])
    before = make('llama').state_dict()[weight]
    model = make('llama')
    degrade(model, Degradation('noise', 0.1))
    moved = model.state_dict()[weight] - before
    assert (moved.std() / before.std()).item() == pytest.approx(0.1, rel=0.1)
    assert {len(strengths) for strengths in STRENGTHS.values()} == {4}


def requests(package, name, rows):
    folder = package / REQUESTS / name / BENCHMARKS[name].variant
    folder.mkdir(parents=True)
    with gzip.open(folder / 'requests.jsonl.gz', 'wt') as file:
        for doc_id, context, continuation, label in rows:
            row = dict(
                doc_id=doc_id,
                label=label,
                request=dict(context=context, continuation=continuation))
            file.write(f'{json.dumps(row)}\n')


def test_answers_without_questions_are_no_questions(tmp_path):
    requests(tmp_path, 'arc_easy', [(0, 'Q', ' a', 1), (0, 'Q', ' b', 1),
                                    (1_000_000, '', ' a', 1)])
    (question, ) = read_questions(tmp_path, 'arc_easy')
    assert question.text == ('Q', ' b')


def test_questions_are_either_evaluated_or_texts():
    evaluated, others = split_questions(range(10), 400)
    assert len(evaluated) == 8
    assert sorted(evaluated + others) == list(range(10))


def test_answers_behind_letters_of_several_bytes_are_found():
    text = cp.Text('t', 'é é ok', answer=(4, 6))
    found = cp.TokenLosses('t', np.array([1., 2., 4.]),
                           cp.TokenSpans([0, 3, 6], [3, 6, 8], 8),
                           len(text.text), text.sha256)
    whole, answer = numbers_of(text, found)
    assert (whole, answer) == (7 / 8, 4 / 2)


def test_packages_are_listed_with_digest_and_licence(tmp_path, capsys):
    file = tmp_path / 'some.whl'
    file.write_bytes(b'abc')
    digest = hashlib.sha256(b'abc').hexdigest()
    check_digest('some', file, digest, 'MIT')
    printed = capsys.readouterr().out
    assert printed == f'some: 3 bytes, SHA-256 {digest}, licence: MIT\n'
    file.write_bytes(b'abd')
    with pytest.raises(cp.InputError, match=digest):
        check_digest('some', file, digest, 'MIT')


def test_a_run_keeps_its_texts(tmp_path):
    file = tmp_path / 'texts.jsonl'
    texts = [cp.Text('a', 'One.', answer=(0, 3)), cp.Text('b', 'Two.')]
    for _ in range(2):
        keep_texts(file, texts)
        assert list(cp.read_texts(file)) == texts
    with pytest.raises(cp.InputError, match='another folder'):
        keep_texts(file, texts[:1])


def test_stages_end_when_every_model_has_all_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for model in ('smollm2-135m', 'smollm2-135m-bits-3'):
        folder = RUN / 'predictions' / model
        folder.mkdir(parents=True)
        for name in (*BENCHMARKS, 'salience_texts-0123'):
            (folder / f'{name}.json').touch()
    (folder / 'piqa.json').unlink()
    state = State(tmp_path / 'state.json')
    with pytest.raises(cp.InputError, match='bits-3'):
        note_stages(state, ['smollm2-135m', 'smollm2-135m-bits-3'], 'infer')
    assert [*json.loads(state.path.read_text())] == ['infer smollm2-135m']
    note_stages(state, ['smollm2-135m'], 'infer')
    with pytest.raises(cp.InputError, match='results'):
        note_stages(state, ['smollm2-135m'], 'all')


def test_all_models_are_judged_in_one_task(tmp_path):
    names = ['smollm2-135m', 'gemma3-270m']
    (task, ) = OneTaskPartitioner(
        str(tmp_path), n=1000)(
            Config(
                dict(
                    models=[dict(abbr=name) for name in names],
                    datasets=[dict(abbr='piqa'),
                              dict(abbr='boolq')],
                    work_dir=str(tmp_path))))
    assert [model['abbr'] for model in task['models']] == names
    assert [len(part) for part in task['datasets']] == [2, 2]


@pytest.mark.parametrize(
    ('contexts', 'row'),
    [(['Q', 'Q'], dict(text='Q', choices=[' a', ' b'], target=1)),
     (['Q1', 'Q2'], dict(text=1, choices=['Q1', 'Q2'], target=' a'))])
def test_the_harness_chooses_among_options_or_contexts(contexts, row):
    task = harness_task('piqa', [Question(contexts, [' a', ' b'], 1)])
    assert task['custom_dataset']()['test'].to_list() == [row]
    assert task['metric_list'] == [dict(metric='acc_norm')]


def rows_of(names):
    """Rows of the page's table, made anew from the tables that are kept."""
    models = RealModels.read()
    methods = {name: text_methods(models)[name] for name in names}
    found = {
        name: compare(models, methods, groups)
        for name, groups in protocols(models).items()
    }
    return table(found).splitlines()[2:]


@pytest.mark.slow
def test_the_page_has_these_figures():
    lines = PAGE.read_text('utf-8').splitlines()
    for row in rows_of(['constant', 'mean loss', 'label-token loss', 'texts']):
        assert row in lines


def test_own_answers_are_columns_of_their_benchmark():
    models = RealModels.read()
    units = own_answers(models)
    names = np.array(models.losses.columns.units)
    assert all(name.startswith('losses: ') for name in names[units.columns])
    assert set(units.answers) == set(models.accuracies.benchmarks)
    for benchmark, places in units.answers.items():
        assert len(places) == 32
        assert all(
            name.startswith(f'answers: {benchmark}/')
            for name in names[places])


def test_the_readme_has_the_figures_of_the_page():
    row, = re.findall(r'^\| texts and own answers \| .*',
                      PAGE.read_text('utf-8'), re.M)
    error, coverage, *_ = re.findall(r'[\d.]+', row)
    readme = (PAGE.parents[2] / 'README.md').read_text('utf-8')
    cells = re.findall(r'^\| 47 degraded models .*', readme,
                       re.M)[0].split('|')
    assert float(cells[2]) == pytest.approx(float(error), abs=0.05)
    assert cells[3].strip() == f'{coverage} %'
