"""Folders with names that trainers give, and folders without a step."""
import os

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.checkpoint_folders import checkpoint_folders


def make(root, *folders):
    for folder in folders:
        (root / folder).mkdir(parents=True)


@pytest.mark.parametrize('style', [
    'checkpoint-{}', 'step{}', '{}', 'iter_{:07d}', 'global_step{}', 'step_{}'
])
def test_styles(tmp_path, style):
    steps = (1000, 200, 30000)
    make(tmp_path, *(f'mix{r}/{style.format(s)}' for r in '21' for s in steps))
    (tmp_path / 'mix1' / 'log-5').touch()
    folders = checkpoint_folders(str(tmp_path / '*' / '*'))
    assert list(folders) == [
        f'mix{r}@{step}' for r in '12' for step in sorted(steps)
    ]
    assert folders['mix2@200'] == tmp_path / 'mix2' / style.format(200)


def test_relative_patterns_give_absolute_paths(tmp_path, monkeypatch):
    make(tmp_path, 'runs/a/step5')
    monkeypatch.chdir(tmp_path)
    assert checkpoint_folders('runs/a/*') == {'a@5': tmp_path / 'runs/a/step5'}
    monkeypatch.chdir(tmp_path / 'runs')
    assert list(checkpoint_folders('../runs/a/step*')) == ['a@5']


def test_several_folders_name_the_run(tmp_path):
    make(tmp_path, 'a/l/10', 'b/l/10')
    with pytest.raises(InputError, match="l@10.*a/l/10.*b/l/10.*levels=2"):
        checkpoint_folders(str(tmp_path / '*/*/*'))
    folders = checkpoint_folders(str(tmp_path / '*/*/*'), levels=2)
    assert list(folders) == ['a-l@10', 'b-l@10']


def test_a_step_that_occurs_twice(tmp_path):
    make(tmp_path, 'a/step10', 'a/iter_0010')
    with pytest.raises(InputError, match='a@10'):
        checkpoint_folders(str(tmp_path / '*/*'))


def test_nothing_matches(tmp_path):
    (tmp_path / 'step5').touch()
    with pytest.raises(InputError, match='a folder that matches, found none'):
        checkpoint_folders(str(tmp_path / 'step*'))
    make(tmp_path, 'step_100', 'global_step200')
    with pytest.raises(InputError) as refused:
        checkpoint_folders(str(tmp_path / 'checkpoint-*'))
    assert 'found only global_step200, step_100. ' in str(refused.value)
    assert str(refused.value).endswith(
        'names end with the step, such as checkpoint-1000 or, where the '
        'pattern allows it, step1000, 1000 or iter_0001000.')


@pytest.mark.parametrize(
    'name',
    ['final', 'step5b', 'step-1.5k', 'step1０', 'step5\n', f'step{10**30}'])
def test_no_number(tmp_path, name):
    make(tmp_path, f'a/{name}')
    with pytest.raises(InputError, match='ends with the step'):
        checkpoint_folders(str(tmp_path / 'a/*'))


@pytest.mark.parametrize('run', ['.a', os.fsdecode(b'a\xff'), 'a\nb'])
def test_runs_that_cannot_be_part_of_a_name(tmp_path, run):
    make(tmp_path, f'{run}/step5')
    with pytest.raises(InputError, match='a name without slashes'):
        checkpoint_folders(str(tmp_path / run / '*'))
