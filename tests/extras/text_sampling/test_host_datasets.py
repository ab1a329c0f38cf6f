"""Datasets of OpenCompass by name and file, loaded without a network."""
import random

import datasets
import numpy as np
import pytest
from datasets import Dataset, DatasetDict
from opencompass.datasets import BaseDataset

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.text_sampling.host_datasets import (find_config,
                                                           load_dataset,
                                                           read_config)
from tests.extras.text_sampling import invented


def test_a_config_of_the_host():
    path = find_config('mmlu_ppl_ac766d')
    assert path.parts[-2:] == ('mmlu', 'mmlu_ppl_ac766d.py')
    assert find_config('mmlu/mmlu_ppl_ac766d') == path
    assert find_config(str(path)) == path
    tasks = read_config(str(path))
    assert len(tasks) == 57
    assert tasks['anatomy']['abbr'] == 'lukaemon_mmlu_anatomy'


@pytest.mark.parametrize('dataset, message', [
    ('no_such_file.py', 'found none'),
    ('__init__', r'found \d+: .*__init__.py'),
])
def test_names_without_a_config(dataset, message):
    with pytest.raises(InputError, match=message):
        find_config(dataset)


@pytest.mark.parametrize('source, message', [
    ('x_datasets = []', 'found none'),
    ('x_datasets = [dict(type="X")]', "KeyError: 'path'"),
    ("a_datasets = [dict(abbr='x', n=1)]\n"
     "b_datasets = [dict(abbr='x', n=2)]",
     "two different datasets 'x' in .*mine.py"),
    ('1 / 0', 'ZeroDivisionError'),
])
def test_files_without_a_config(source, message, tmp_path):
    (tmp_path / 'mine.py').write_text(source)
    with pytest.raises(InputError, match=message):
        read_config(str(tmp_path / 'mine.py'))


def test_subtasks_are_called_by_unique_names(tmp_path):
    path = tmp_path / 'mine.py'
    path.write_text("a_datasets = [dict(abbr='x', name='n'), dict(abbr='y')]\n"
                    "b_datasets = [dict(path='p/q', name='m')]\n")
    assert list(read_config(str(path))) == ['n', 'y', 'm']
    path.write_text("datasets = [dict(abbr='x', name='n'),\n"
                    "            dict(path='p/q', name='n')]\n")
    assert list(read_config(str(path))) == ['x', 'p_q_n']


def test_missing_data_is_not_downloaded(data, monkeypatch):
    config, = read_config('gsm8k_gen_17d0dc').values()
    with pytest.raises(
            InputError, match='opencompass/gsm8k: expected data in'):
        load_dataset(config)
    assert not data.exists()
    monkeypatch.delenv('COMPASS_DATA_CACHE')
    invented.gsm8k(data.with_name('default'), 'How many?', 'How few?')
    # A config may repeat its items.
    assert len(load_dataset({**config, 'n': 4, 'k': 2}).test) == 2


def loaded_by(make):

    class Made(BaseDataset):

        @staticmethod
        def load(path):
            return DatasetDict(
                train=Dataset.from_list([dict(x='t', a='b')]),
                test=Dataset.from_list(make()))

    return load_dataset(
        dict(
            type=Made,
            path='remote',
            reader_cfg=dict(input_columns=['x'], output_column='a')))


def failing_with(error):

    def load():
        raise error

    return load


@pytest.mark.parametrize('load, message', [
    (failing_with(FileNotFoundError('no rows')),
     'found FileNotFoundError: no rows. Fetch'),
    (failing_with(ImportError('no parser')),
     'found ImportError: no parser. Fetch'),
    (lambda: datasets.load_dataset('example/nothing'),
     'remote: expected data on this machine, found a request to'),
])  # yapf: disable
def test_loaders_that_fail_or_reach_the_network(load, message):
    with pytest.raises(InputError, match=message):
        loaded_by(load)


def test_loaders_draw_alike():

    def load():
        rows = [dict(x=str(i), a='b') for i in range(100)]
        random.shuffle(rows)
        return [rows[i] for i in np.random.permutation(len(rows))]

    first = loaded_by(load).test['x']
    assert loaded_by(load).test['x'] == first != sorted(first, key=int)
