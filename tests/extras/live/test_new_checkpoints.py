"""Checkpoints are read once each, and only when they are whole."""
import numpy as np
import pytest
import torch

from csv_plugin.cli import watch_checkpoints
from csv_plugin.cli.salience import main
from csv_plugin.core.conventions import InputError
from csv_plugin.extras.live import new_checkpoints
from csv_plugin.extras.live.live_predictions import LivePredictions
from csv_plugin.extras.live.new_checkpoints import LAST_FILE, CheckpointJob
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.text_sets import write_texts
from csv_plugin.lm.dumping import dump_losses
from tests.extras.live.training import PREDICTOR, TEXTS, TOKENIZER
from tests.lm.models import make


def save(folder, step, last=True):
    """A checkpoint as `Trainer` saves it."""
    path = folder / f'checkpoint-{step}'
    make('llama', seed=step).save_pretrained(path)
    TOKENIZER.save_pretrained(path)
    if last:
        (path / LAST_FILE).write_text('{}')
    return path


@pytest.fixture
def reads(monkeypatch):
    names = []
    load = new_checkpoints.load_causal_lm

    def count(folder, trusted):
        names.append(folder.name)
        return load(folder, trusted)

    monkeypatch.setattr(new_checkpoints, 'load_causal_lm', count)
    return names


@pytest.fixture
def make_job(tmp_path):
    """As a process does that starts anew; with its complaints."""

    def made():
        complaints = []
        live = LivePredictions(PREDICTOR, TEXTS, tmp_path / 'out', 'mix1')
        pattern = f'{tmp_path}/mix1/checkpoint-*'
        return CheckpointJob(pattern, live, complaints.append), complaints

    return made


def checkpoints(triage):
    return triage and triage.runs[0].checkpoints


def test_each_is_read_once_in_the_order_of_steps(tmp_path, make_job, reads):
    job, complaints = make_job()
    with pytest.raises(InputError, match='a folder that matches'):
        job.update()
    save(tmp_path / 'mix1', 20)
    save(tmp_path / 'mix1', 9)
    assert checkpoints(job.update()) == ('mix1@9', 'mix1@20')
    assert job.update() is None
    # Another process has nothing to read, and says what is known.
    job, _ = make_job()
    assert checkpoints(job.update()) == ('mix1@9', 'mix1@20')
    assert job.update() is None
    assert reads == ['checkpoint-9', 'checkpoint-20'] and not complaints
    rest = dump_losses(make('llama', seed=9), TOKENIZER, TEXTS)
    dump = read_dump(tmp_path / 'out/losses/mix1@9.safetensors')
    # On a GPU, checkpoints are scored in bf16.
    atol = .2 if torch.cuda.is_available() else 1e-6
    assert np.allclose(dump.texts[0].losses, rest.texts[0].losses, atol=atol)


def test_without_a_last_file_it_has_to_be_the_same_at_two_looks(
        tmp_path, make_job, reads):
    path = save(tmp_path / 'mix1', 5, last=False)
    job, _ = make_job()
    assert job.update() is None
    (path / 'optimizer.pt').write_bytes(b'more')
    assert job.update() is None and reads == []
    assert checkpoints(job.update()) == ('mix1@5', )


def test_broken_ones_are_named_once_until_they_change(tmp_path, make_job,
                                                      reads):
    path = save(tmp_path / 'mix1', 5)
    save(tmp_path / 'mix1', 7)
    weights = path / 'model.safetensors'
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-9])
    job, complaints = make_job()
    assert checkpoints(job.update()) == ('mix1@7', )
    assert job.update() is None and len(reads) == 2
    assert len(complaints) == 1 and 'checkpoint-5 is left' in complaints[0]
    weights.write_bytes(whole)
    assert checkpoints(job.update()) == ('mix1@5', 'mix1@7')
    assert len(complaints) == 1


def test_what_could_not_be_judged_is_judged_at_the_next_look(
        tmp_path, make_job, monkeypatch):
    save(tmp_path / 'mix1', 5)
    job, _ = make_job()
    job.update()
    save(tmp_path / 'mix1', 7)
    with monkeypatch.context() as patch:
        patch.setattr(job.live, 'judge', lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            job.update()
    assert checkpoints(job.update()) == ('mix1@5', 'mix1@7')


def test_one_that_vanishes_is_no_error(tmp_path, make_job, monkeypatch):
    save(tmp_path / 'mix1', 5)
    found = {
        'mix1@3': tmp_path / 'mix1/checkpoint-3',
        'mix1@5': tmp_path / 'mix1/checkpoint-5'
    }
    monkeypatch.setattr(new_checkpoints, 'checkpoint_folders',
                        lambda pattern: found)
    assert checkpoints(make_job()[0].update()) == ('mix1@5', )


@pytest.mark.slow
def test_command(tmp_path, capsys):
    """A hook after the save need not look twice."""
    checkpoint = save(tmp_path / 'mix1', 5)
    (checkpoint / LAST_FILE).write_text('{"num_input_tokens_seen": 70}')
    (tmp_path / 'mix1/checkpoint-best').mkdir()
    save_predictor(PREDICTOR, tmp_path / 'p.safetensors')
    write_texts(tmp_path / 'texts.jsonl', TEXTS)
    other = dump_losses(make('llama', seed=9), TOKENIZER, TEXTS)
    write_dump(tmp_path / 'other@5.safetensors', other)
    at = tmp_path
    command = (
        f'watch {at}/mix1 --once --predictor {at}/p.safetensors --texts '
        f'{at}/texts.jsonl --out {at}/out --tensorboard {at}/tb '
        f'--reference {at}/other@*.safetensors --budget 2K').split()
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert 'mix1' in shown
    # The dumps of the reference have no tokens.
    assert 'A is the reference after as many steps of training. ' in shown
    # The tokens are known, but the budget is in steps.
    assert '70' in (tmp_path / 'out/readings.csv').read_text()
    assert 'No tokens are known' not in shown
    assert 'names of the checkpoints contain no tokens' in shown
    # The command to type next has the same budget.
    assert 'Budget: 2000 steps (--budget).' in shown
    assert (f'--dumps {tmp_path}/out/losses --budget 2000 --out '
            'outputs/triage\n' in shown)
    assert list((tmp_path / 'tb/mix1').glob('events*'))
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == [
        'checkpoints.csv', 'forecasts.csv', 'losses', 'readings.csv'
    ]
    # A hook learns that the checkpoint it was called for has no losses.
    weights = save(tmp_path / 'mix1', 7) / 'model.safetensors'
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-9])
    for _ in range(2):
        assert main(command) == 2
        printed = capsys.readouterr()
        assert 'checkpoint-7 is left out: ' in printed.out
        assert 'mix1@5' in printed.out
        assert 'a new checkpoint that can be scored' in printed.err
    save(tmp_path / 'mix1', 9)
    assert main(command) == 0


def test_a_call_before_the_first_checkpoint_waits(tmp_path, capsys,
                                                  monkeypatch):
    """A wrong folder, and a training that is over, are errors."""

    def look_once(update, show, complain, interval):
        assert update() is None

    monkeypatch.setattr(watch_checkpoints, 'watch', look_once)
    save_predictor(PREDICTOR, tmp_path / 'p.safetensors')
    write_texts(tmp_path / 'texts.jsonl', TEXTS)
    command = (f'watch {tmp_path}/mix1 --predictor {tmp_path}/p.safetensors '
               f'--texts {tmp_path}/texts.jsonl --out {tmp_path}/out').split()
    assert main(command) == 2
    assert 'no folder' in capsys.readouterr().err
    (tmp_path / 'mix1').mkdir()
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert 'no checkpoint yet: waiting for the first one' in printed
    assert 'no checkpoint was scored' in printed
    assert 'Written to' not in printed
    assert main([*command, '--once']) == 2
    assert 'Correct the pattern' in capsys.readouterr().err
