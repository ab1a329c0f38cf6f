"""Names and tables of checkpoints, good and bad."""
import math
import re

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.checkpoints import (Checkpoint, measure,
                                           place_checkpoints, read_checkpoints)


def table(tmp_path, text):
    path = tmp_path / 'checkpoints.csv'
    path.write_text(text, 'utf-8')
    return read_checkpoints(path)


def test_names():
    found = place_checkpoints(['a-l@35', 'x@y@1000'])
    assert found['a-l@35'].run == 'a-l' and found['a-l@35'].step == 35
    assert found['x@y@1000'].run == 'x@y'
    assert math.isnan(found['a-l@35'].tokens)


@pytest.mark.parametrize('name', ['a', 'a@', '@5', 'a@-5', 'a@5b', 'a@1.5'])
def test_names_without_a_step(name):
    with pytest.raises(InputError, match='run@1000'):
        place_checkpoints([name])


def test_a_table_goes_before_names(tmp_path):
    known = table(
        tmp_path, 'step,model,tokens,run,budget\n'
        '500,final,1.5,mix,3\n100,mix@7,.3,mix,\n')
    found = place_checkpoints(['final', 'mix@7', 'other@9'], known)
    assert found['final'] == Checkpoint('mix', 500, 1.5, 3)
    assert (found['mix@7'].step, found['mix@7'].tokens) == (100, 0.3)
    assert found['other@9'].run == 'other'


def test_two_names_for_one_step(tmp_path):
    with pytest.raises(InputError, match="'a@100' and 'a@0100'"):
        place_checkpoints(['a@100', 'a@0100'])
    known = table(tmp_path, 'model,run,step\nm,a,100\n')
    with pytest.raises(InputError, match="'a', step 100.*'m' and 'a@100'"):
        place_checkpoints(['m', 'a@100'], known)


@pytest.mark.parametrize('text, expected', [
    ('model,run\nm,a\n', "column 'step'"),
    ('model,run,step\nm,,1\n', "line 2, column 'run'"),
    ('model,run,step\nm,a,x\n', "line 2, column 'step'.*finite"),
    ('model,run,step\nm,a,-1\n', "column 'step'.*0 or more"),
    ('model,run,step\nm,a,1\nn,a,1\n', "line 3.*'a' has not on line 2"),
    ('model,run,step,tokens\nm,a,1,nan\n', "column 'tokens'.*finite"),
    ('model,run,step,tokens\nm,a,1,-2\n', "column 'tokens'.*positive"),
    ('model,run,step,budget\nm,a,1,0\n', "column 'budget'.*positive"),
    ('model,run,step,budget\nm,a,1,5\nn,a,2,6\n', 'line 3.*one budget'),
])
def test_bad_tables(tmp_path, text, expected):
    with pytest.raises(InputError, match=expected) as error:
        table(tmp_path, text)
    assert not re.search(r'\n', str(error.value))


def test_the_untrained_model_has_no_tokens(tmp_path):
    known = table(tmp_path, 'model,run,step,tokens\nm,a,0,0\n')
    assert known['m'].tokens == 0


def test_measure():
    with_tokens = Checkpoint('a', 1, 5.0)
    without = Checkpoint('a', 2)
    assert measure([with_tokens]) == 'tokens'
    assert measure([without, without]) == 'steps'
    with pytest.raises(InputError, match="run 'a', step 2"):
        measure([with_tokens, without])
