"""The command line on made-up runs."""
import json
import sys

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.io.predictors import save_predictor
from tests.runs import train
from tests.scripts import check_end, refusal
from tests.triage.pretraining import EARLIER, STEPS, write_runs


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp('world')
    save_predictor(train(), root / 'p.safetensors')
    write_runs(root / 'old', EARLIER)
    write_runs(root / 'new', {'good': 1.8, 'bad': 1.0}, 3)
    return root


def words(world, out, dumps='new', history='old', more=''):
    """Options of a call that judges dumps."""
    earlier = f'--history {world}/{history}' if history else ''
    return (f'triage --predictor {world}/p.safetensors --out {out} --dumps '
            f'{world}/{dumps} {earlier} {more}').split()


@pytest.mark.slow
def test_files_and_screen(world, tmp_path, capsys):
    assert main(words(world, tmp_path / 'out')) == 0
    shown = capsys.readouterr().out
    assert 'Forecast at the end of the training, largest mean first' in shown
    assert check_end(shown, is_last=True)[-1] == f'Written to {tmp_path}/out.'
    assert (tmp_path / 'out/triage.png').is_file()
    made = json.loads((tmp_path / 'out/triage.json').read_text('utf-8'))
    [best] = [row for row in made['forecasts']
              if (row['run'], row['benchmark']) == ('good', 'mean')
              ]  # yapf: disable
    assert best['best_rank'] == 1
    assert main(words(world, tmp_path / 'out', more='--json')) == 0
    assert json.loads(capsys.readouterr().out) == made


@pytest.mark.slow
def test_without_history_the_same_call_with_it_is_next(world, tmp_path,
                                                       capsys):
    assert main(words(world, tmp_path, history='')) == 0
    shown = capsys.readouterr().out
    check_end(shown)
    assert shown.endswith(" --history 'finished/*.safetensors'\n")
    assert 'Give finished runs by --history.' in ' '.join(shown.split())
    assert '=)' not in shown


def test_no_picture_without_matplotlib(world, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'csv_plugin.extras.pictures', None)
    assert main(words(world, tmp_path)) == 0
    assert 'No picture: matplotlib is not' in capsys.readouterr().out
    assert (tmp_path / 'triage.txt').exists()
    assert not (tmp_path / 'triage.png').exists()


@pytest.mark.slow
def test_known_accuracies_are_asked_for(world, tmp_path):
    known = tmp_path / 'known.csv'
    known.write_text('model,easy\ngood@35,0.95\n')
    found = []
    for more in ('', f'--known {known}'):
        assert main(words(world, tmp_path / 'out', more=more)) == 0
        found.append(
            json.loads((tmp_path / 'out/triage.json').read_text('utf-8')))
    ends = [{
        (row['run'], row['benchmark']): row['forecast']
        for row in made['forecasts']
    } for made in found]
    assert ends[1]['good', 'hard'] > ends[0]['good', 'hard']
    assert ends[1]['bad', 'hard'] == pytest.approx(ends[0]['bad', 'hard'])
    text = (tmp_path / 'out/triage.txt').read_text('utf-8')
    assert ')+' in text and '+ made from losses and' in text


def test_a_wrong_name_of_a_known_accuracy(world, tmp_path, capsys):
    known = tmp_path / 'known.csv'
    known.write_text('model,easy\ngod@35,0.95\n')
    call = words(world, tmp_path / 'out', more=f'--known {known}')
    assert "'god@35'. Did you mean 'good@35'?" in refusal(capsys, *call)


@pytest.mark.slow
def test_a_table_of_checkpoints_that_matches_none(world, tmp_path, capsys):
    table = tmp_path / 'table.csv'
    table.write_text('model,run,step\ngod@35,x,35\n')
    call = words(world, tmp_path / 'out', more=f'--checkpoints {table}')
    assert "Did you mean 'good@35'?" in refusal(capsys, *call)
    table.write_text('model,run,step\nold-1@10,old-1,10\n')
    assert main(call) == 0
    shown = ' '.join(capsys.readouterr().out.split())
    assert 'no row for bad@10, bad@20, bad@35 and 30 more: run' in shown


def test_a_size_by_dumps(world, tmp_path, capsys):
    """Of runs whose sizes a table has."""
    table = tmp_path / 'models.csv'
    rows = [
        f'{run}@{step},f,train,{i + 1},{step * (i + 2)}e9'
        for i, run in enumerate(EARLIER) for step in STEPS
    ]
    table.write_text('\n'.join(['model,family,split,params_b,tokens', *rows]))
    call = (f'triage --predictor {world}/p.safetensors --out {tmp_path}/out '
            f'--history {world}/old --models {table} --params 1e10')
    assert 'no --tokens' in refusal(capsys, *call.split())
    # Four ends are too few for a law; the checkpoints of one length are not.
    error = refusal(capsys, *call.split(), '--tokens', '1e12')
    assert 'expected 6 models or more' in error


@pytest.mark.parametrize('changes, expected', [
    (dict(dumps='none'), 'no such file or folder'),
    (dict(dumps='old'), 'not in the history'),
    (dict(more='--scores s.csv'), 'none of --scores, --models'),
    (dict(more='--losses l.csv'), 'none of --predictor, --dumps'),
    (dict(more='--budget 20'),
     'a budget of at least 35, the tokens (or steps) of the last '
     'checkpoint, found 20.'),
])
def test_bad_input_is_one_line(world, tmp_path, capsys, changes, expected):
    call = words(world, tmp_path / 'out', **changes)
    assert expected in refusal(capsys, *call)
    assert not (tmp_path / 'out').exists()
