"""Names and tables of checkpoints, good and bad."""
import math

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.checkpoints import (Checkpoint, choose_measure,
                                           describe_checkpoints, known_budgets,
                                           last_checkpoints, read_checkpoints,
                                           rows_by_run)


def table(tmp_path, text):
    path = tmp_path / 'checkpoints.csv'
    path.write_text(text, 'utf-8')
    return read_checkpoints(path)


def test_names():
    checkpoints = describe_checkpoints(['a-l@35', 'x@y@1000'])
    assert checkpoints['a-l@35'].run == 'a-l'
    assert checkpoints['a-l@35'].step == 35
    assert checkpoints['x@y@1000'].run == 'x@y'
    assert math.isnan(checkpoints['a-l@35'].tokens)


@pytest.mark.parametrize('name, run, step',
                         [('pythia@step1000', 'pythia', 1000),
                          ('olmo@stage1-step10000-tokens21B', 'olmo', 10000),
                          ('a@iter_0000500', 'a', 500),
                          ('a@checkpoint-70', 'a', 70)])
def test_names_of_revisions(name, run, step):
    checkpoint = describe_checkpoints([name])[name]
    assert (checkpoint.run, checkpoint.step) == (run, step)


@pytest.mark.parametrize('name', [
    'a', '@5', 'a@main', 'a@v1.5', 'a@step', 'a@1.5', 'a@５', f'a@{10**400}',
    'a@5\n'
])
def test_names_without_a_step(name):
    with pytest.raises(InputError, match='run@1000'):
        describe_checkpoints([name])


def test_the_table_counts_before_the_name(tmp_path):
    described = table(
        tmp_path, 'step,model,tokens,run,budget\n'
        '500,final,1.5,mix,3\n100,mix@7,.3,mix,\n0,raw,0,mix,\n')
    assert (described['raw'].step, described['raw'].tokens) == (0, 0)
    checkpoints = describe_checkpoints(['final', 'mix@7', 'other@9'],
                                       described)
    assert checkpoints['final'] == Checkpoint('mix', 500, 1.5, 3)
    assert checkpoints['mix@7'].step == 100
    assert checkpoints['mix@7'].tokens == 0.3
    assert checkpoints['other@9'].run == 'other'


def test_last_checkpoints_and_models_that_are_none(tmp_path):
    models = ['a@9', 'a@10', 'final', 'alone']
    assert last_checkpoints(models) == ('a@10', 'final', 'alone')
    described = table(tmp_path, 'model,run,step\nfinal,a,500\n')
    assert last_checkpoints(models, described) == ('final', 'alone')


def test_two_names_for_one_step(tmp_path):
    with pytest.raises(InputError, match="'a@100' and 'a@0100'"):
        describe_checkpoints(['a@100', 'a@0100'])
    described = table(tmp_path, 'model,run,step\nm,a,100\n')
    with pytest.raises(InputError, match="'a', step 100.*'m' and 'a@100'"):
        describe_checkpoints(['m', 'a@100'], described)


@pytest.mark.parametrize('text, expected', [
    ('model,run\nm,a\n', "column 'step'"),
    ('model,run,step\nm,a,-1\n', "column 'step'.*positive"),
    ('model,run,step,tokens\nm,a,1,-2\n', "column 'tokens'.*positive"),
    ('model,run,step,budget\nm,a,1,0\n', "column 'budget'.*positive"),
    ('model,run,step\nm,a,1\nn,a,1\n', "'a', step 1: .*'m' and 'n'"),
])
def test_bad_tables(tmp_path, text, expected):
    with pytest.raises(InputError, match=expected):
        table(tmp_path, text)


def test_one_checkpoint_may_tell_the_budget_of_a_run():
    points = [Checkpoint('a', 1), Checkpoint('a', 2, budget=5),
              Checkpoint('b', 1)]  # yapf: disable
    assert known_budgets(points) == {'a': 5}
    with pytest.raises(InputError, match="run 'a'.* 5 and 6"):
        known_budgets([*points, Checkpoint('a', 3, budget=6)])


def test_rows_of_runs_rise_and_begin_after_the_untrained_model():
    rows = rows_by_run([
        Checkpoint('b', 5, 0.5),
        Checkpoint('a', 1, 0.2),
        Checkpoint('b', 0, 0.0),
        Checkpoint('b', 2, 0.1)
    ])
    assert list(rows) == ['a', 'b']
    assert [part.tolist() for part in rows['b']] == [[3, 0], [0.1, 0.5]]


def test_measure():
    with_tokens = Checkpoint('a', 1, 5.0)
    without = Checkpoint('a', 2)
    assert choose_measure([with_tokens]) == 'tokens'
    assert choose_measure([without, without]) == 'steps'
    with pytest.raises(InputError, match="run 'a', step 2"):
        choose_measure([with_tokens, without])
