"""Names and tables of checkpoints, good and bad."""
import math

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.checkpoints import (Checkpoint, check_described,
                                           describe_checkpoints, known_budgets,
                                           last_checkpoints, read_checkpoints,
                                           rows_by_run, unit_of_training)


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


@pytest.mark.parametrize('name, run, step, tokens', [
    ('pythia@step143000', 'pythia', 143000, None),
    ('olmo@step1000-tokens4B', 'olmo', 1000, 4e9),
    ('olmo@stage1-step10000-tokens21B', 'olmo', 10000, 21e9),
    ('apertus@step2627139-tokens15T', 'apertus', 2627139, 15e12),
    ('a@tokens_1.5m-step_10', 'a', 10, 1.5e6),
    ('smollm3@stage1-step-40000', 'smollm3', 40000, None),
    ('amber@ckpt_100', 'amber', 100, None),
    ('lucie@step0005000', 'lucie', 5000, None),
    ('bloom@global_step10000', 'bloom', 10000, None),
    ('a@iter_0000500', 'a', 500, None),
    ('a@global_step500', 'a', 500, None),
    ('a@checkpoint-70', 'a', 70, None),
    ('a@step0-tokens0B', 'a', 0, 0),
])  # yapf: disable
def test_names_of_revisions(name, run, step, tokens):
    checkpoint = describe_checkpoints([name])[name]
    assert (checkpoint.run, checkpoint.step) == (run, step)
    assert tokens == (None
                      if math.isnan(checkpoint.tokens) else checkpoint.tokens)


@pytest.mark.parametrize('name', [
    'a', '@5', 'a@main', 'a@v1.5', 'a@step', 'a@1.5', 'a@５', f'a@{10**400}',
    'a@5\n', 'a@lc_step1000', 'apertus@longctx-step1000',
    'lucie@extension_step250', 'dcd@step1250-seed-default',
    'crystal@CrystalCoder_phase1_checkpoint_055500', 'smollm3@it-SFT',
    'a@lc-4k-to-32k-step-2000', 'a@epoch-3', 'a@step-50K-105b',
    'a@step1000-tokens16', 'a@step500-tokens0B', 'a@step5-best2',
    'a@step5-step6', 'a@5-step6', 'a@5-', 'a@tokens4B'
])
def test_names_without_a_step(name):
    with pytest.raises(InputError, match='run@1000.*--checkpoints'):
        describe_checkpoints([name])
    assert last_checkpoints([name]) == (name, )


@pytest.mark.parametrize('name', [
    'stage2-ingredient1-step100-tokens16B', 'stage2-step-100', 'stage0-step5',
    'phase3_checkpoint_500', 'ingredient2-step100', 'stage3-step-4720000',
    'stage2-ingredient3-step23852-tokens51B'
])
def test_steps_of_later_stages_are_asked_for(name, tmp_path):
    """Names do not tell whether they are counted from the stage's start."""
    models = ['a@stage1-step1000', f'a@{name}']
    for read in (describe_checkpoints, last_checkpoints):
        with pytest.raises(
                InputError,
                match=f"'a', checkpoint '{name}': .*--checkpoints"):
            read(models)
    described = table(tmp_path, f'model,run,step\na@{name},a,1100\n')
    assert describe_checkpoints(models, described)[models[1]].step == 1100
    assert last_checkpoints(models, described) == (models[1], )


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


def test_stages_of_a_table_follow_each_other(tmp_path):
    """Steps and tokens of a stage are counted since its beginning."""
    found = table(
        tmp_path, 'model,run,stage,step,tokens\nd,a,3,10,1\n'
        'c,a,2,50,5\na,a,1,100,10\nb,a,1,200,20\ne,b,2,7,2\n')
    assert {name: (point.step, point.tokens)
            for name, point in found.items()} == {
                'a': (100, 10), 'b': (200, 20), 'c': (250, 25),
                'd': (260, 26), 'e': (7, 2)
            }  # yapf: disable
    assert last_checkpoints('abcd', found) == ('d', )
    # Where the tokens of a stage are unknown, so are those of later ones.
    rows = 'a,a,1,9,\nb,a,2,3,5\n'
    lost = table(tmp_path, f'model,run,stage,step,tokens\n{rows}')
    assert lost['b'].step == 12 and math.isnan(lost['b'].tokens)
    rows = 'a,a,1,5,5\nb,a,1,9,\nc,a,2,3,5\n'
    lost = table(tmp_path, f'model,run,stage,step,tokens\n{rows}')
    assert lost['c'].step == 12 and math.isnan(lost['c'].tokens)
    unknown = table(tmp_path, 'model,run,stage,step\na,a,1,9\nb,a,2,3\n')
    assert unknown['b'].step == 12 and math.isnan(unknown['b'].tokens)


def test_a_table_of_other_checkpoints_is_refused(tmp_path):
    described = table(tmp_path, 'model,run,step\ngod@35,a,35\nx@9,a,9\n')
    with pytest.raises(
            InputError,
            match="t.csv, column model: expected .* such as 'good@20', found "
            "other names, such as 'god@35'. Did you mean 'good@35'\\? Corr"):
        check_described('t.csv', described, ['good@20', 'good@35'])
    with pytest.raises(InputError, match='found no rows'):
        check_described('t.csv', {}, ['good@20'])


def test_checkpoints_without_a_row_are_named(tmp_path):
    described = table(tmp_path, 'model,run,step\nfinal,a,35\nother,a,9\n')
    models = ['final', *(f'a@{step}' for step in range(1, 6))]
    assert check_described('t.csv', described, models) == [
        't.csv has no row for a@1, a@2, a@3 and 2 more: run and step are read '
        'from the names of these checkpoints.'
    ]
    assert check_described('t.csv', described, ['final']) == []


def test_last_checkpoints_and_models_that_are_none(tmp_path):
    models = ['a@9', 'a@10', 'final', 'alone']
    assert last_checkpoints(models) == ('a@10', 'final', 'alone')
    described = table(tmp_path, 'model,run,step\nfinal,a,500\n')
    assert last_checkpoints(models, described) == ('final', 'alone')
    # Whether it is the last one of the run is not clear.
    with pytest.raises(InputError, match="run 'a', checkpoint 'main'"):
        last_checkpoints([*models, 'a@main'])


def test_tokens_tell_the_last_checkpoint_where_they_are_known():
    """The batches became larger, and the steps were counted anew."""
    models = ['a@step900-tokens4B', 'a@step100-tokens16B']
    assert last_checkpoints(models) == ('a@step100-tokens16B', )


def test_tokens_that_names_round_are_asked_for():
    with pytest.raises(InputError, match='tokens 3000000000: .*--checkpoints'):
        describe_checkpoints(['a@step600-tokens3B', 'a@step700-tokens3B'])


def test_tables_may_round_tokens_of_first_checkpoints_to_0(tmp_path):
    described = table(tmp_path,
                      'model,run,step,tokens\nm,a,0,0\nn,a,1,0\no,a,2,9\n')
    found = describe_checkpoints([*'mno'], described)
    assert [found[model].step for model in 'mno'] == [0, 1, 2]


def test_two_names_for_one_step(tmp_path):
    with pytest.raises(InputError, match="'a@100' and 'a@0100'"):
        describe_checkpoints(['a@100', 'a@0100'])
    described = table(tmp_path, 'model,run,step\nm,a,100\n')
    with pytest.raises(InputError, match="'a', step 100.*'m' and 'a@100'"):
        describe_checkpoints(['m', 'a@100'], described)


@pytest.mark.parametrize('text, expected', [
    ('model,run\nm,a\n', "column 'step'"),
    ('model,run,step\nm,a,-1\n', "column 'step'.*0 or more"),
    ('model,run,step,stage\nm,a,1,0\n', "column 'stage'.*1 or more"),
    ('model,run,step,stage\nm,a,1,1.5\n', "column 'stage'.*whole"),
    ('model,run,step,tokens\nm,a,1,-2\n', "column 'tokens'.*0 or more"),
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
    assert unit_of_training([with_tokens]) == 'tokens'
    assert unit_of_training([without, without]) == 'steps'
    with pytest.raises(InputError, match="run 'a', step 2.*--checkpoints"):
        unit_of_training([with_tokens, without])
