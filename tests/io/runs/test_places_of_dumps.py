"""Dumps in files, folders and patterns, and work directories."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import find_dumps
from tests.runs import TEXTS, model_losses, write_losses
from tests.triage.pretraining import write_runs

FINGERPRINT = TEXTS.fingerprint


def test_folders_files_and_patterns(tmp_path, monkeypatch):
    folder = write_runs(tmp_path / 'in', {'a': 1.0, 'b': 1.0}, 2)
    (folder / '.hidden.safetensors').touch()
    (folder / 'notes.txt').touch()
    names = ['a@10', 'a@20', 'b@10', 'b@20']
    assert list(find_dumps([folder])) == names
    assert list(find_dumps([folder / 'b@*.safetensors'])) == names[2:]
    assert list(find_dumps([folder / 'b@20.safetensors',
                            folder / 'a*'])) == ['a@10', 'a@20', 'b@20']
    # A file that two patterns match counts once.
    assert list(find_dumps([folder, folder / '*.safetensors'])) == names
    monkeypatch.chdir(tmp_path)
    assert list(find_dumps([folder, 'in'])) == names
    assert list(find_dumps([str(tmp_path / 'i*')])) == names
    losses = find_dumps([folder])['b@10'].read(FINGERPRINT)
    assert losses.info.model == 'b@10'


def test_work_directories(tmp_path):
    write_losses(tmp_path, 'a@10', model_losses(1.0))
    write_losses(tmp_path, 'a@20', model_losses(1.0)[:2], part='_0')
    write_losses(tmp_path, 'a@20', model_losses(1.0)[2:], part='_1')
    dumps = find_dumps([tmp_path])
    assert list(dumps) == ['a@10', 'a@20']
    assert len(dumps['a@20'].read(FINGERPRINT).texts) == 5


def test_two_dumps_of_one_name(tmp_path):
    for name in ('first', 'second'):
        write_runs(tmp_path / name, {'a': 1.0}, 1)
    with pytest.raises(InputError, match="'a@10'.*first/.*second/"):
        find_dumps([tmp_path / 'first', tmp_path / 'second'])
