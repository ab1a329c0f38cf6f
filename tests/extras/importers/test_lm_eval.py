"""Real output of lm-evaluation-harness, and damaged copies of it."""
import json
import shutil

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.lm_eval import (read_lm_eval,
                                                 write_lm_eval_task)
from csv_plugin.io.text_sets import read_texts
from tests.extras.importers.outputs import (LM_EVAL, TEXTS, read_rows,
                                            write_rows)

SET = read_texts(TEXTS)


@pytest.fixture
def output(tmp_path):
    """A copy of the output of one model."""
    shutil.copytree(LM_EVAL / 'd-s-100', tmp_path / 'out')
    return tmp_path / 'out'


def samples(output):
    path, = output.glob('samples_*')
    return path


def results(output):
    return min(output.glob('results_*'))


def change_rows(output, change):
    rows = read_rows(samples(output))
    write_rows(samples(output), change(rows) or rows)


def test_losses_of_a_real_run():
    losses = read_lm_eval(LM_EVAL / 'd-s-100', SET)
    assert [loss.text for loss in losses] == [text.text for text in SET]
    logged = read_rows(samples(LM_EVAL / 'd-s-100'))[1:]
    assert [str(-loss.nats) for loss in losses
            ] == [row['filtered_resps'][0] for row in logged]


def test_the_newest_run_counts(output):
    """In which the tokenizer put a second BOS in front."""
    for path in (LM_EVAL / 'with_bos').iterdir():
        shutil.copy(path, output)
    with pytest.raises(InputError, match='8.33698 nats.* add_bos_token=False'):
        read_lm_eval(output, SET)


def test_other_texts_are_refused(output):
    other = TextSet((Text('sum', 'Two and two is five.'), ))
    with pytest.raises(
            InputError,
            match=f'--tasks salience_texts-{other.fingerprint[:12]}'):
        read_lm_eval(output, other)


def test_a_task_without_the_empty_text(output):
    change_rows(output, lambda rows: rows[1:])
    with pytest.raises(InputError, match='the empty text of the task'):
        read_lm_eval(output, SET)


@pytest.mark.parametrize('pair', [[-1.0, 21], ['-1.0', 20]])
def test_values_of_other_types_are_refused(output, pair):
    change_rows(output, lambda rows: rows[1].update(bits_per_byte=pair))
    with pytest.raises(InputError, match='line 2: .*(and 20 bytes|a list)'):
        read_lm_eval(output, SET)


def test_the_task_names_texts_that_may_look_like_anything(tmp_path):
    name = write_lm_eval_task(tmp_path / 'a "new" folder', SET)
    folder = tmp_path / 'a "new" folder'
    rows = read_rows(folder / f'{name}.jsonl')
    assert [row['text'] for row in rows] == ['', *(t.text for t in SET)]
    yaml = pytest.importorskip('yaml')
    task = yaml.safe_load((folder / f'{name}.yaml').read_text('utf-8'))
    assert task['task'] == name
    assert task['metadata']['fingerprint'] == SET.fingerprint
    path = task['dataset_kwargs']['data_files']['test']
    assert path == str((folder / f'{name}.jsonl').resolve())
    assert task['doc_to_target'] in rows[0]


def test_the_real_run_was_of_the_task_as_it_is_written(tmp_path):
    """Apart from what the harness fills in and the place of the texts."""
    yaml = pytest.importorskip('yaml')
    name = write_lm_eval_task(tmp_path, SET)
    task = yaml.safe_load((tmp_path / f'{name}.yaml').read_text('utf-8'))
    run = json.loads(results(LM_EVAL / 'd-s-100').read_text('utf-8'))
    config = run['configs'][name]
    for key in set(task) - {'dataset_kwargs', 'metadata'}:
        assert config[key] == task[key], key
