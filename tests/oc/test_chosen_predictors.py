"""`opencompass` without a config: models, texts and predictors by name."""
import sys

import pytest
from mmengine.config import Config
from opencompass.cli.main import parse_args
from opencompass.utils.run import get_config_from_arg

from csv_plugin.cli.copy_configs import PARTS
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped
from csv_plugin.oc.chosen_predictors import VARIABLE, chosen_predictors

SUMMARIZER = str(PARTS / 'summarizers/predicted.py')


def test_files_with_labels(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, 'old=/a/p.safetensors:a=b=q')
    assert chosen_predictors([]) == [('old', '/a/p.safetensors'),
                                     ('a', str(tmp_path / 'b=q'))]
    monkeypatch.setenv(VARIABLE, 'q.safetensors')
    assert chosen_predictors([]) == [('predicted',
                                      str(tmp_path / 'q.safetensors'))]
    monkeypatch.setenv(VARIABLE, '/lr=0.1/q')
    assert chosen_predictors([]) == [('predicted', '/lr=0.1/q')]


@pytest.mark.parametrize('text', ['a=', '=', ':', 'a=b:', 'a:b', 'a=b:=c'])
def test_what_is_no_file_with_a_label(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match='CSV_PREDICTORS: expected LABEL=FIL'):
        chosen_predictors([])


def test_shipped_predictors_otherwise(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    config = Config.fromfile(SUMMARIZER, format_python_code=False)
    assert config.summarizer.predictors == [
        ('predicted', str(shipped.PREDICTOR)),
        ('all-token', str(shipped.BASELINE)),
    ]


def test_a_command_without_a_config(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, 'mine=p.safetensors')
    monkeypatch.setattr(sys, 'argv', [
        'opencompass', '--models', 'tidewell_zoo', '--datasets',
        'tidewell_exams', 'salience_texts', '--summarizer', 'predicted',
        '--config-dir', str(PARTS)
    ])  # yapf: disable
    config = get_config_from_arg(parse_args())
    config.dump('dumped.py')
    config = Config.fromfile('dumped.py', format_python_code=False)
    assert [model.abbr for model in config.models][:2] == ['a-l@100', 'b-l@50']
    assert [dataset.abbr for dataset in config.datasets] == [
        'census', 'chinese', 'scenes', 'sums', 'swaps',
        'salience_texts-ce4e749ad947'
    ]
    assert [tuple(pair) for pair in config.summarizer.predictors
            ] == [('mine', str(tmp_path / 'p.safetensors'))]
