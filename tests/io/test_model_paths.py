"""Folders of checkpoints with names that trainers give; marks of weights."""
import os
import shutil

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.model_paths import (checkpoint_folders, weights_mark,
                                       weights_newer)


def make(root, *folders):
    for folder in folders:
        (root / folder).mkdir(parents=True)


@pytest.mark.parametrize('style', [
    'checkpoint-{}', 'step{}', '{}', 'iter_{:07d}', 'global_step{}', 'step_{}'
])
def test_styles(tmp_path, style, monkeypatch):
    steps = (1000, 200, 30000)
    make(tmp_path, *(f'mix{r}/{style.format(s)}' for r in '21' for s in steps))
    (tmp_path / 'mix1' / 'log-5').touch()
    folders = checkpoint_folders(str(tmp_path / '*' / '*'))
    assert list(folders) == [
        f'mix{r}@{step}' for r in '12' for step in sorted(steps)
    ]
    assert folders['mix2@200'] == tmp_path / 'mix2' / style.format(200)
    monkeypatch.chdir(tmp_path / 'mix1')
    assert checkpoint_folders('../mix*/*') == folders


def test_several_folders_name_the_run(tmp_path):
    make(tmp_path, 'a/l/10', 'b/l/10')
    with pytest.raises(InputError, match="l@10.*a/l/10.*b/l/10.*levels=2"):
        checkpoint_folders(str(tmp_path / '*/*/*'))
    folders = checkpoint_folders(str(tmp_path / '*/*/*'), levels=2)
    assert list(folders) == ['a-l@10', 'b-l@10']


@pytest.mark.parametrize('name, message', [
    *((f'a/{step}', 'ends with the step') for step in
      ('final', 'step1０', 'step5\n', f'step{10**30}')),
    *((f'{run}/step5', 'a name without slashes') for run in ('.a', 'a\nb')),
])  # yapf: disable
def test_names_of_no_checkpoint(tmp_path, name, message):
    make(tmp_path, name)
    with pytest.raises(InputError, match=message):
        checkpoint_folders(str(tmp_path / name))
    with pytest.raises(InputError, match='a folder that matches, found only'):
        checkpoint_folders(str(tmp_path / 'checkpoint-*'))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / 'model'
    folder.mkdir()
    (folder / 'model.safetensors').write_bytes(bytes(1_000_000))
    (folder / 'config.json').write_text('{"rope_theta": 10000}')
    (folder / 'README.md').write_text('A model.')
    return folder


def test_copies_have_the_same_mark(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / 'copy')
    os.utime(copy / 'model.safetensors', (1, 1))
    (copy / 'README.md').write_text('A copy.')
    (copy / 'x.safetensors').mkdir()
    assert weights_mark(folder) == weights_mark(copy)
    assert len(weights_mark(folder)) == 16
    assert weights_mark('organisation/name') == ''


def test_changes_of_a_layer_are_noticed(folder):
    weights = folder / 'model.safetensors'
    marks = {weights_mark(folder), weights_mark(weights)}
    for start in range(0, 1_000_000, 100_000):
        data = bytearray(1_000_000)
        data[start:start + 20_000] = b'1' * 20_000
        weights.write_bytes(data)
        marks.add(weights_mark(folder))
    for data in (bytes(999_999) + b'1', bytes(1_000_001)):
        weights.write_bytes(data)
        marks.add(weights_mark(folder))
    (folder / 'config.json').write_text('{"rope_theta": 90000}')
    marks.add(weights_mark(folder))
    assert len(marks) == 15


def test_weights_that_were_written_later(folder, tmp_path):
    made = tmp_path / 'losses'
    made.touch()
    for later, newer in ((0, False), (1, True), (-1, False)):
        time = made.stat().st_mtime_ns + later * 10**9
        for file in folder.iterdir():
            os.utime(file, ns=(time, time))
        assert weights_newer(folder, made) is newer
    # A file without weights does not count.
    late = made.stat().st_mtime_ns + 10**9
    os.utime(folder / 'README.md', ns=(late, late))
    assert not weights_newer(folder, made)
    assert not weights_newer('organisation/name', made)
