"""Predictions from the bits per character of OpenCompass's own dataset."""
import csv
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from opencompass.cli.main import parse_args
from opencompass.configs.datasets.llm_compression import llm_compression
from opencompass.utils.run import get_config_from_arg
from safetensors.numpy import load_file

from csv_plugin import data
from csv_plugin.cli import salience
from csv_plugin.cli.copy_configs import PARTS
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped
from csv_plugin.io.predictors import load_predictor
from csv_plugin.oc.bits_per_character import PredictedBpcSummarizer
from csv_plugin.oc.summarizers import VARIABLE

DATA = Path(*data.__path__)
SHIPPED = DATA / 'bits_per_character.safetensors'
COMPRESSION = Path(llm_compression.__file__)
TIME = '20240102_030405'
CORPORA = ('commoncraw', 'python', 'arxiv_math')
#: On these, as the README of the dataset in OpenCompass has them.
MEASURED = {
    'qwen1.5-7b-hf': (0.6658, 0.2935, 0.4500),
    'qwen1.5-1.8b-hf': (0.7448, 0.4029, 0.5625),
}
#: Mean absolute errors that the page states, in points.
ERRORS = {
    'MMLU': 4.4,
    'ARC-C': 1.6,
    'HellaSwag': 1.2,
    'Winograd': 1.7,
    'TruthfulQA': 5.6,
    'GSM8K': 8.3,
    'XWinograd': 1.2,
    'HumanEval': 2.8
}


def datasets(folder: Path) -> list[dict]:
    """Those of OpenCompass, as a run has them: with names of classes."""
    config = Config.fromfile(
        str(COMPRESSION), lazy_import=True, format_python_code=False)
    config.dump(str(folder / 'datasets.py'))
    return Config.fromfile(
        str(folder / 'datasets.py'),
        format_python_code=False).llm_compression_datasets


def summarize(folder, models=MEASURED, predictor=SHIPPED, **changes):
    """Rows of OpenCompass's table, and the leaderboard."""
    for model, values in models.items():
        results = folder / 'results' / model
        results.mkdir(parents=True)
        for corpus, bpc in zip(CORPORA, values):
            file = results / f'llm_compression-{corpus}.json'
            file.write_text(json.dumps({'bpc': bpc}))
    config = Config(
        dict(
            models=[dict(abbr=model, type='M') for model in models],
            datasets=datasets(folder),
            work_dir=str(folder)))
    summarizer = PredictedBpcSummarizer(config,
                                        [('predicted', str(predictor))],
                                        **changes)
    summarizer.summarize(time_str=TIME)
    summary = folder / 'summary'
    with (summary / f'summary_{TIME}.csv').open(encoding='utf-8') as file:
        table = list(csv.reader(file))
    return table, summarizer.leaderboard


def test_predictions_stand_beside_the_bits_per_character(tmp_path):
    table, board = summarize(tmp_path)
    assert table[0][4:] == list(MEASURED)
    bpc = {row[0]: row[4:] for row in table[1:4]}
    assert bpc['llm_compression-commoncraw'] == ['0.6658', '0.7448']
    assert [row[0] for row in table[4:12]] == list(ERRORS)
    assert {row[2] for row in table[4:12]} == {'predicted'}
    predictions = board.predictions
    assert not predictions.extrapolated[0].any()
    # Its real score is 53.5 %.
    cell = predictions.at('qwen1.5-7b-hf', 'GSM8K')
    assert 0 < cell.low < 0.535 < cell.high < 0.9
    for kind in ('txt', 'md', 'csv'):
        assert (tmp_path / f'summary/leaderboard_{TIME}.{kind}').exists()


@pytest.mark.parametrize('values, reason', [
    ((0.6, 0.3), 'no bits per character of llm_compression-arxiv_math in'),
    ((0.6, float('inf'), 0.4), 'overflow in float16'),
])
def test_a_model_that_lacks_losses_has_a_reason(tmp_path, values, reason):
    table, board = summarize(tmp_path, {**MEASURED, 'half': values})
    assert {row[6] for row in table[4:12]} == {'-'}
    assert reason in board.predictions.at('half', 'MMLU').reason
    assert table[4][4] != '-'


def test_a_predictor_of_other_losses_has_a_reason(tmp_path):
    _, board = summarize(tmp_path, predictor=shipped.PREDICTOR)
    reason = board.predictions.at('qwen1.5-7b-hf', 'sums').reason
    assert 'and not of bits per character on cc, python, arxiv_math' in reason


def test_scores_are_not_imputed(tmp_path):
    with pytest.raises(InputError, match='complete .* expected none'):
        summarize(
            tmp_path,
            complete='csv_plugin.extras.score_imputation.with_known_scores')


def test_the_summarizer_has_a_name(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    command = ('opencompass --models tidewell_zoo --datasets llm_compression '
               f'--summarizer predicted_bpc --config-dir {PARTS}')
    monkeypatch.setattr(sys, 'argv', shlex.split(command))
    get_config_from_arg(parse_args()).dump('dumped.py')
    summarizer = Config.fromfile(
        'dumped.py', format_python_code=False).summarizer
    assert [tuple(pair)
            for pair in summarizer.predictors] == [('predicted', str(SHIPPED))]
    assert summarizer.type in (
        PredictedBpcSummarizer,
        'csv_plugin.oc.bits_per_character.PredictedBpcSummarizer')


@pytest.mark.slow
def test_the_shipped_predictor_is_what_the_command_makes():
    """And its errors on families left out are those of the page."""
    assert not salience.main([
        'fit', *(f'--{name}={DATA}/bits_per_character_{name}.csv'
                 for name in ('losses', 'scores', 'models', 'benchmarks')),
        '--fit', 'public', '--predict', 'public', '--leave-family-out',
        '--solver', 'plain', '--out', 'new'
    ])
    errors, covered = {}, []
    with open('new/predictions.csv', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['observed']:
                real, value, low, high = (
                    float(row[part])
                    for part in ('observed', 'predicted', 'low', 'high'))
                errors.setdefault(row['benchmark'],
                                  []).append(abs(real - value))
                covered.append(low <= real <= high)
    assert {
        name: round(100 * np.mean(sizes), 1)
        for name, sizes in errors.items()
    } == ERRORS
    assert 0.85 <= np.mean(covered) <= 0.97
    paths = 'new/predictor.safetensors', SHIPPED
    made, ours = map(load_file, paths)
    assert made.keys() == ours.keys()
    for name, array in made.items():
        np.testing.assert_allclose(array, ours[name], 1e-6, 1e-9, name)
    made, ours = map(load_predictor, paths)
    assert made.columns.units == ours.columns.units
    for new, old in zip(made.benchmarks, ours.benchmarks, strict=True):
        for field in ('benchmark', 'chance', 'n_items', 'fit_models', 'solver',
                      'notes'):
            assert getattr(new, field) == getattr(old, field)
