"""Dumps of a run: the right file, joined from its parts."""
import os
from pathlib import Path

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import (dataset_abbr, read_run_dump,
                                          run_models)
from csv_plugin.io.runs.run_failures import failure_recorded
from tests.hostile_names import LEADING_OUT
from tests.runs import OTHER_TEXTS, TEXTS, model_losses, write_losses

LOSSES = model_losses(0.5)
FINGERPRINT = TEXTS.fingerprint


def read_ids(work_dir: Path, model: str = 'm') -> list[str]:
    dump = read_run_dump(work_dir, model, FINGERPRINT)
    assert dump.info.fingerprint == FINGERPRINT
    return [text.text_id for text in dump.texts]


@pytest.mark.parametrize('model', ['org/model', 'm[1]*', '模型'])
def test_any_model_name(tmp_path, model):
    path = write_losses(tmp_path, model, LOSSES)
    assert path.relative_to(tmp_path) == Path(
        'predictions', model, f'salience_texts-{FINGERPRINT[:12]}.safetensors')
    assert read_ids(tmp_path, model) == list(TEXTS.ids)


@pytest.mark.parametrize('model', [n for n in LEADING_OUT if n != 'a/b'])
def test_no_model_leads_out_of_the_run(tmp_path, model):
    """As the folders in a stranger's leaderboard could."""
    write_losses(tmp_path, 'm', LOSSES)
    with pytest.raises(InputError, match='without slashes or a leading dot'):
        read_run_dump(tmp_path / 'run', model, FINGERPRINT)


def test_parts_are_joined(tmp_path):
    write_losses(tmp_path, 'm', LOSSES[3:], part='_10')
    write_losses(tmp_path, 'm', LOSSES[:2], part='_0')
    assert read_ids(tmp_path) == ['t0', 't1', 't3', 't4']
    write_losses(tmp_path, 'm', model_losses(0.9)[1:3], part='_1')
    with pytest.raises(InputError, match='different losses on'):
        read_run_dump(tmp_path, 'm', FINGERPRINT)
    write_losses(tmp_path, 'm', LOSSES)  # undivided, which comes first
    assert read_ids(tmp_path) == list(TEXTS.ids)


def test_other_files_do_not_matter(tmp_path):
    path = write_losses(tmp_path, 'm', LOSSES)
    for name in ('x', '_0.tmp', '_a'):
        path.with_name(f'{path.stem}{name}.safetensors').write_bytes(b'')
    path.with_name(f'.0123.{path.name}').write_bytes(b'')
    path.with_name('mmlu.safetensors').write_bytes(b'')
    (tmp_path / 'predictions/file').touch()
    assert len(read_ids(tmp_path)) == 5
    write_losses(tmp_path, 'a', LOSSES)
    assert run_models(tmp_path) == ['a', 'm']


def test_two_validation_sets_in_one_run(tmp_path):
    write_losses(tmp_path, 'm', model_losses(0.1, OTHER_TEXTS), OTHER_TEXTS)
    with pytest.raises(InputError) as caught:
        read_run_dump(tmp_path, 'm', FINGERPRINT)
    assert (f'expected a dump of {dataset_abbr(FINGERPRINT)}, found only '
            'losses on other texts: '
            f'{dataset_abbr(OTHER_TEXTS.fingerprint)}. Score') in str(
                caught.value)
    write_losses(tmp_path, 'm', LOSSES)
    with pytest.raises(InputError, match='one set of texts, found .*, '):
        read_run_dump(tmp_path, 'm', '')
    assert len(read_ids(tmp_path)) == 5


def test_no_dump(tmp_path):
    for _ in range(2):
        with pytest.raises(InputError, match='found none.*logs') as caught:
            read_run_dump(tmp_path, 'm', FINGERPRINT)
        # The same for all models, so that a report says it once.
        assert 'm/' not in str(caught.value)
        os.makedirs(tmp_path / 'predictions' / 'm', exist_ok=True)


@pytest.mark.parametrize('part', ['', '_1'])
def test_the_reason_why_there_is_no_dump(tmp_path, part):
    path = write_losses(tmp_path, 'm', LOSSES[2:], part=part)
    path.unlink()
    for error in (InputError('text', 'a', 'b',
                             'Do c.'), ValueError('No space\nleft')):
        with pytest.raises(type(error)), failure_recorded(path):
            raise error
    # As where half a validation set was scored.
    if part:
        write_losses(tmp_path, 'm', LOSSES[:2], part='_0')
    with pytest.raises(InputError) as caught:
        read_run_dump(tmp_path, 'm', FINGERPRINT)
    assert str(caught.value) == (
        f'token losses: expected a dump of {dataset_abbr(FINGERPRINT)}, found '
        'this error: ValueError: No space left. Run again with -r to try '
        'again.')
    # Partitioned in another way, the run was finished.
    if not part:
        write_losses(tmp_path, 'm', LOSSES, part='_0')
        assert len(read_ids(tmp_path)) == 5
    with failure_recorded(path):
        write_losses(tmp_path, 'm', LOSSES[2:], part=part)
    assert len(read_ids(tmp_path)) == (5 if part else 3)
    assert not list(path.parent.glob('*.txt'))


def test_an_error_that_cannot_be_recorded(tmp_path):
    with pytest.raises(ValueError, match='the first error'):
        with failure_recorded(tmp_path / 'none' / 'm.safetensors'):
            raise ValueError('the first error')


@pytest.mark.parametrize('part, others', [('', ()), ('_1', ('_0', ))])
def test_a_dump_that_was_removed(tmp_path, part, others):
    """OpenCompass does not score the texts again while the JSON is there."""
    for name in (*others, part):
        path = write_losses(tmp_path, 'm', LOSSES, part=name)
        path.with_suffix('.json').write_text('{}')
    assert read_ids(tmp_path) == list(TEXTS.ids)
    path.unlink()
    says = f'found {path.stem}.json without it. Remove {path.stem}.json'
    with pytest.raises(InputError, match=says):
        read_run_dump(tmp_path, 'm', FINGERPRINT)


@pytest.mark.parametrize('part', ['', '_0'])
@pytest.mark.parametrize('model', ['m', 'org/m'])
def test_a_dump_in_the_folder_of_another_model(tmp_path, model, part):
    path = write_losses(tmp_path, model, LOSSES, part=part, folder='m')
    assert len(read_ids(tmp_path, model)) == 5
    (tmp_path / 'predictions/n').mkdir()
    moved = path.rename(tmp_path / 'predictions/n' / path.name)
    with pytest.raises(InputError, match=f"{moved}: .*'n', found .*of 'm'"):
        read_run_dump(tmp_path, 'n', FINGERPRINT)
