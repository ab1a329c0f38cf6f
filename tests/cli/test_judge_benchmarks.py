"""Benchmarks judged: what is written, printed and refused."""
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.cli import salience
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from tests.scripts import csv_rows
from tests.tables import Tables, write_tables

STEPS = (10, 20, 40, 80, 100)
RUNS = 'abcdef'


def runs_of_checkpoints() -> Tables:
    """Runs that rise to different ends on 'easy', and noise, 'hard'."""
    rng = np.random.default_rng(0)
    models = tuple(f'{run}@{step}' for run in RUNS for step in STEPS)
    skill = np.outer(np.arange(1, 7) / 6, np.log(STEPS)).ravel() / 5
    losses = 2 - skill[:, None] + 0.02 * rng.normal(size=(len(models), 4))
    scores = np.stack([0.3 + 0.5 * skill, rng.uniform(0.2, 0.3, len(models))],
                      axis=1)  # yapf: disable
    return Tables(
        FeatureTable(models, Columns(tuple('tuvw'), np.full(4, 0.25), 'x'),
                     losses),
        AccuracyTable(models, ('easy', 'hard'), scores, np.full(2, 0.25),
                      np.array([1000, 1000])),
        {model: model[0] for model in models})  # yapf: disable


@pytest.fixture
def options(tmp_path):
    tables = runs_of_checkpoints()
    splits = {model: 'train' for model in tables.models}
    return [
        'benchmarks', *write_tables(tmp_path, tables, splits), '--out',
        str(tmp_path / 'out')
    ]


def test_the_table_shows_all_parts_of_the_training(tmp_path, capsys):
    """Also those at which the first benchmark has no score."""
    tables = runs_of_checkpoints()
    values = tables.accuracies.values.copy()
    values[np.isin(np.arange(len(values)) % 5, (0, 1, 2)), 0] = np.nan
    tables = replace(
        tables, accuracies=replace(tables.accuracies, values=values))
    options = write_tables(tmp_path, tables,
                           dict.fromkeys(tables.models, 'train'))
    place = options.index('--scores')
    assert salience.main([
        'benchmarks', *options[place:place + 2], '--out',
        str(tmp_path / 'out')
    ]) == 0
    header, _, *lines = capsys.readouterr().out.split('\n\n')[1].splitlines()
    assert re.findall(r'order at \d+%', header) == [
        'order at 10%', 'order at 20%', 'order at 40%'
    ]
    easy, = (line.split() for line in lines if line.startswith('easy '))
    assert easy[3:6] == ['-', '-', '-']


def test_files_and_the_screen(options, tmp_path, capsys):
    assert salience.main(options) == 0
    out = tmp_path / 'out'
    easy, hard = csv_rows(out / 'benchmarks.csv')
    assert easy['verdict'] == 'tells runs apart from 10% on'
    assert hard['verdict'] == 'not predictable here'
    assert hard['apart_from'] == '' and float(easy['apart_from']) == 0.1
    assert float(easy['apart_from_by_losses']) < 1
    printed = capsys.readouterr().out
    for text in (printed, (out / 'benchmarks.md').read_text()):
        assert '2 benchmarks by 30 checkpoints of 6 runs' in text
        assert 'by losses at 10%' in text and 'not predictable here' in text
        # No line feed inside of the legend, which the screen would escape.
        assert r'\n' not in text
    assert (out / 'benchmarks.png').stat().st_size > 1000
    # The next command names the tables of this one.
    *_, last = printed.splitlines()
    assert last == ('Next: salience forecast '
                    f'{shlex.join(options[1:9])} --out outputs/forecast')


def test_losses_need_models_and_chance_levels(options, capsys):
    assert salience.main(options[:7] + options[-2:]) == 2
    assert '--losses, --models and --benc' in capsys.readouterr().err
