"""Dataset configs by name, file and module."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.text_sampling.dataset_configs import (benchmark_name,
                                                         find_config,
                                                         read_config)


def test_a_config_of_the_host():
    path = find_config('mmlu_ppl_ac766d')
    assert path.parts[-2:] == ('mmlu', 'mmlu_ppl_ac766d.py')
    assert find_config('mmlu/mmlu_ppl_ac766d') == path
    assert find_config(str(path)) == path
    assert benchmark_name(str(path)) == 'mmlu'
    tasks = read_config(str(path))
    assert len(tasks) == 57
    assert tasks['anatomy']['abbr'] == 'lukaemon_mmlu_anatomy'


@pytest.mark.parametrize('dataset, message', [
    ('no_such_config', 'found none'),
    ('no_such_file.py', 'found none'),
    ('__init__', r'found \d+: .*__init__.py'),
    ('/tmp/foo', 'found none'),
    ('mmlu_ppl_ac766*', 'found none'),
    ('u_ppl_ac766d', 'found none'),
    ('', 'found none'),
])
def test_names_without_a_config(dataset, message):
    with pytest.raises(InputError, match=message):
        find_config(dataset)


@pytest.mark.parametrize('source, message', [
    ('x_datasets = []', 'found none'),
    ('x_datasets = dict(type="X")', 'found none'),
    ('x_datasets = [dict(type="X")]', "KeyError: 'path'"),
    ("a_datasets = [dict(abbr='x', n=1)]\n"
     "b_datasets = [dict(abbr='x', n=2)]", "two different 'x' in .*mine.py"),
    ('1 / 0', 'ZeroDivisionError'),
])
def test_files_without_a_config(source, message, tmp_path):
    (tmp_path / 'mine.py').write_text(source)
    with pytest.raises(InputError, match=message):
        read_config(str(tmp_path / 'mine.py'))


def test_a_list_of_lists_repeats_them():
    tasks = read_config('longbench')
    assert len(tasks) == 21
    assert len(read_config('bigcodebench_gen')) < 10


@pytest.mark.parametrize('dataset, name', [
    ('longbench_2wikimqa_gen_6b3efc', 'longbench'),
    ('needlebench_4k', 'needlebench'),
    ('alpacav2_judgeby_gpt4', 'alpaca_eval'),
    ('base_medium', 'base_medium'),
    ('demo_gsm8k_base_gen', 'demo_gsm8k_base_gen'),
])
def test_sources_are_called_after_the_benchmark(dataset, name):
    assert benchmark_name(dataset) == name


def test_subtasks_are_called_by_unique_names(tmp_path):
    path = tmp_path / 'mine.py'
    path.write_text("a_datasets = [dict(abbr='x', name='n'), dict(abbr='y')]\n"
                    "b_datasets = [dict(path='p/q', name='m')]\n")
    assert list(read_config(str(path))) == ['n', 'y', 'm']
    path.write_text("datasets = [dict(abbr='x', name='n'),\n"
                    "            dict(path='p/q', name='n')]\n")
    assert list(read_config(str(path))) == ['x', 'p_q_n']
