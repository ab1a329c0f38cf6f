"""What a run was to do, from its config, and what it lacks."""
from pathlib import Path

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.runs.run_plan import read_run_plan, run_gaps
from tests.runs import TEXTS, write_result, write_run

LOSSES = dataset_abbr(TEXTS.fingerprint)


def write_config(work_dir, source, name='20260101_120000_7.py'):
    path = Path(work_dir, 'configs', name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, 'utf-8')


def config(models=('a', 'b'), datasets=('easy', 'hard', LOSSES)):
    """As OpenCompass writes it, with more than names."""

    def entries(names):
        return ''.join(f"    dict(abbr='{name}', scale=-float('inf'),\n"
                       f"        kwargs={{'x': [1]}}),\n" for name in names)
    return (f'datasets=[\n{entries(datasets)}    ]\n'
            f'models=[\n{entries(models)}    ]\n'
            "infer=dict(runner=dict(type='opencompass.runners.LocalRunner'))\n"
            "eval_functions={**{}}\nwork_dir='/elsewhere'\n")  # yapf: disable


def test_a_run_that_lacks_nothing(tmp_path):
    write_config(tmp_path, config(['old']), '20250101_120000_8.py')
    write_config(tmp_path, config())
    write_run(tmp_path, {'a': 1, 'b': 2})
    assert run_gaps(tmp_path) == ({
        'a': ['easy', 'hard', LOSSES],
        'b': ['easy', 'hard', LOSSES]
    }, [])


def test_what_is_missing(tmp_path):
    write_config(tmp_path, config(['a', 'b', 'c']))
    write_run(tmp_path, {'a': 1, 'b': 2})
    write_result(tmp_path, 'a', 'easy', {'error': 'no answer'})
    write_result(tmp_path, 'a', 'hard', {'accuracy': 3})
    (tmp_path / 'results/b/easy.json').write_text('{"accu')
    (tmp_path / 'results/b/hard.json').unlink()
    (tmp_path / 'predictions/b/hard_0.json').touch()
    (tmp_path / f'predictions/b/{LOSSES}.safetensors').write_bytes(b'PAR1')
    _, gaps = run_gaps(tmp_path)
    assert [gap[:2] for gap in gaps] == [
        ('a', 'easy'), ('b', 'easy'), ('b', 'hard'), ('b', LOSSES),
        ('c', 'easy'), ('c', 'hard'), ('c', LOSSES)]  # yapf: disable
    reasons = [gap.reason for gap in gaps]
    assert reasons[0] == 'not evaluated: no answer'
    assert 'Remove it, and run again with -r.' in reasons[1]
    assert reasons[2] == 'answers without an accuracy'
    assert 'expected a dump that can be read' in reasons[3]
    assert reasons[4:6] == ['not run'] * 2
    assert f'expected a dump of {LOSSES}, found none' in reasons[6]


def test_models_with_datasets_of_their_own(tmp_path):
    write_config(
        tmp_path,
        config() + "model_dataset_combinations=[dict(models=[dict(abbr='a')], "
        "datasets=[dict(abbr='x'), dict(abbr='y')]), dict(models=[dict("
        "abbr='a'), dict(abbr='b')], datasets=[dict(abbr='y')])]\n")
    assert read_run_plan(tmp_path) == {'a': ['x', 'y'], 'b': ['y']}


def test_names_that_opencompass_makes(tmp_path):
    models = [dict(type='oc.models.HF', path='lab/deep/harbour-7b')]
    datasets = [dict(path='data/x', name='all'), dict(path='y', abbr='z')]
    write_config(tmp_path, f'models={models!r}\ndatasets={datasets!r}\n')
    assert read_run_plan(tmp_path) == {
        'oc.models.HF_deep_harbour-7b': ['data_x_all', 'z']
    }
    abbr = pytest.importorskip('opencompass.utils.abbr')
    assert read_run_plan(tmp_path) == {
        abbr.model_abbr_from_cfg(model):
        list(map(abbr.dataset_abbr_from_cfg, datasets))
        for model in models
    }


@pytest.mark.parametrize('source, says', [
    (None, 'a run with configs'),
    ("models=[dict(abbr='a')]", "KeyError: 'datasets'"),
    ("datasets=[]\nmodels=[dict(path='x')]", "KeyError: 'type'"),
    ('datasets=[]\nmodels=[dict(abbr=3)]', 'TypeError: the abbr 3'),
    ("datasets=[]\nmodels=[dict(abbr='../../etc')]", 'to another folder'),
    pytest.param(
        f'models={"-" * 50000}1', 'MemoryError|RecursionError', id='signs'),
])
def test_bad_configs(tmp_path, source, says):
    if source:
        write_config(tmp_path, source)
    with pytest.raises(InputError, match=says):
        read_run_plan(tmp_path)
