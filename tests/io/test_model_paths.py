"""Folders of checkpoints with names that trainers give; marks of weights."""
import os

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.model_paths import checkpoint_folders, weights_mark


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


def test_names_that_state_more_than_a_step_are_kept(tmp_path):
    names = 'stage1-step10', 'stage2-step5', 'step20-tokens4B'
    make(tmp_path, *(f'mix/{name}' for name in names))
    assert list(checkpoint_folders(str(tmp_path / 'mix/*'))) == [
        'mix@stage2-step5', 'mix@10', 'mix@step20-tokens4B'
    ]


def test_several_folders_name_the_run(tmp_path):
    make(tmp_path, 'a/l/10', 'b/l/10')
    with pytest.raises(InputError, match="l@10.*a/l/10.*b/l/10.*levels=2"):
        checkpoint_folders(str(tmp_path / '*/*/*'))
    folders = checkpoint_folders(str(tmp_path / '*/*/*'), levels=2)
    assert list(folders) == ['a-l@10', 'b-l@10']


@pytest.mark.parametrize('name, message', [
    *((f'a/{step}', 'tells the step') for step in
      ('final', 'step1０', 'step5\n', f'step{10**30}', 'epoch-3',
       'lc_step1000', 'step5-best2')),
    *((f'{run}/step5', 'a name without slashes') for run in ('.a', 'a\nb')),
])  # yapf: disable
def test_names_of_no_checkpoint(tmp_path, name, message):
    make(tmp_path, name)
    with pytest.raises(InputError, match=message):
        checkpoint_folders(str(tmp_path / name))
    with pytest.raises(InputError, match='a folder that matches, found only'):
        checkpoint_folders(str(tmp_path / 'checkpoint-*'))


def test_the_folder_of_the_checkpoints_is_named_if_it_does_not_exist(tmp_path):
    with pytest.raises(InputError, match=f"found no folder '{tmp_path}/typo'"):
        checkpoint_folders(f'{tmp_path}/typo/checkpoint-*')


def test_marks_change_with_the_files_of_the_weights(tmp_path):
    weights = tmp_path / 'model.safetensors'
    assert weights_mark(tmp_path) == weights_mark('organisation/name') == ''
    weights.write_bytes(b'12')
    os.utime(weights, ns=(0, 0))
    marks = {weights_mark(tmp_path)}
    (tmp_path / 'README.md').write_text('A model.')
    assert marks == {weights_mark(tmp_path)} == {weights_mark(weights)}
    weights.write_bytes(b'123')
    os.utime(weights, ns=(0, 0))
    marks.add(weights_mark(tmp_path))
    os.utime(weights, ns=(0, 1))
    marks.add(weights_mark(tmp_path))
    (tmp_path / 'config.json').touch()
    marks.add(weights_mark(tmp_path))
    assert len(marks) == 4 and all(len(mark) == 16 for mark in marks)
