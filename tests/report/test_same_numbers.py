"""One quantity has one number and one interval, wherever a call shows it."""
import csv
import json
from pathlib import Path

import numpy as np
import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import main
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.formatting import predicted_cell
from csv_plugin.demo import shipped
from csv_plugin.io.tables import write_csv

ROOT = Path(__file__).resolve().parents[2]
#: Public collections, which are not part of the package.
COLLECTIONS = ROOT.parent / 'shared/real'
#: Models to fit to, units and benchmarks of a public collection, for speed.
N_FITTED, N_UNITS, N_BENCHMARKS = 24, 8, 3


def demonstration(folder):
    """Series d, which the shipped predictor was not fitted to."""
    for model in ('d-s@65', 'd-s@100', 'd-m@100', 'd-l@100'):
        path = shipped.COLLECTION / f'{model}.safetensors'
        (folder / path.name).write_bytes(path.read_bytes())
    return ['.'], lambda model: f'{model}.safetensors', shipped.PREDICTOR


def tables(name):

    def make(folder):
        """Some models of a family or two, and a predictor of others."""
        source = COLLECTIONS / name
        if not source.exists():
            pytest.skip(f'{source} is not there')
        whole = cp.read_model_tables(*(source / f'{table}.csv'
                                       for table in ('losses', 'scores',
                                                     'models', 'benchmarks')))
        known = whole.accuracies.select(
            benchmarks=whole.accuracies.main[1:1 + N_BENCHMARKS])
        units = whole.features.columns.units[:N_UNITS]
        features = cp.FeatureTable.of_losses(
            whole.features.models, units, whole.features.values[:, :N_UNITS])
        fitted = list(whole.features.models[:N_FITTED])
        held_out = list(whole.features.models[-4:])
        predictor = fit_predictor(features, known.select(fitted),
                                  [whole.families[m] for m in fitted])
        cp.save(predictor, folder / 'p.safetensors')
        # Checkpoints of one run, by their names.
        names = [f'run@{i}' for i in (1, 2)] + ['other', 'another']
        write_csv(
            folder / 'losses.csv', ('model', *units),
            [(model, *row)
             for model, row in zip(names,
                                   features.select(held_out).values.tolist())])
        return (['--losses',
                 'losses.csv'], 'losses.csv:{}'.format, 'p.safetensors')

    return make


@pytest.fixture(
    params=[demonstration, tables(''),
            tables('dclm')],
    ids=['demonstration', 'public models', 'dclm'])
def world(request, tmp_path, monkeypatch):
    """Words that name losses, the place of a model, and a predictor."""
    monkeypatch.chdir(tmp_path)
    return request.param(tmp_path)


def printed(capsys, *words):
    capsys.readouterr()
    code = main([*map(str, words), '--json'])
    assert code != 2, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_one_quantity_has_one_number(world, capsys):
    losses, place, predictor = world
    call = 'predict', *losses, '--predictor', predictor
    alone = check_files(printed, capsys, call)
    models, benchmarks = ([*dict.fromkeys(row[name] for row in alone)]
                          for name in ('model', 'benchmark'))
    cells = {(row['model'], row['benchmark']): row for row in alone}
    # Known accuracies change all formats alike.
    Path('known.csv').write_text(f'model,{benchmarks[0]}\n{models[0]},0.5\n')
    check_files(printed, capsys, (*call, '--known', 'known.csv'))
    # Checkpoints of one run, and other models.
    for a, b in ((0, 1), (0, 2)):
        check_differences(
            printed(capsys, 'compare', place(models[a]), place(models[b]),
                    '--predictor', predictor, '--level', '90'),
            *({
                name: cells[models[m], name]
                for name in benchmarks
            } for m in (a, b)))


def check_files(printed, capsys, call):
    """The files of text, Markdown, CSV and JSON; rows of the printed JSON."""
    rows = printed(capsys, *call, '--out', 'out')['rows']
    assert json.loads(Path('out/leaderboard.json').read_text())['rows'] == rows
    with open('out/leaderboard.csv', encoding='utf-8') as file:
        for row, one in zip(csv.DictReader(file), rows, strict=True):
            for name in ('predicted', 'low', 'high'):
                assert float(row[name]) == one[name]
    chance = json.loads(Path('out/leaderboard.json').read_text())['chance']
    shown = ' '.join(Path('out/leaderboard.md').read_text().split())
    text = Path('out/leaderboard.txt').read_text()
    for row in rows:
        value, low, high = (row[n] / 100 for n in ('predicted', 'low', 'high'))
        cell = predicted_cell(value, low, high,
                              chance.get(row['benchmark'], 0) / 100, '')
        assert cell in shown and cell in text
    return rows


def check_differences(found, a, b):
    """Differences and their errors are those that both models allow."""
    parts = {part['benchmark']: part for part in found['differences']
             if part['kind'] == 'predicted'}  # yapf: disable
    assert len(parts) > 1
    single = [name for name in parts if name in a]
    for name in single:
        part, first, second = parts[name], a[name], b[name]
        value = second['predicted'] - first['predicted']
        assert 100 * part['value'] == pytest.approx(value)
        for side, ours, theirs in (('high', 'high', 'low'), ('low', 'low',
                                                             'high')):
            half = abs(100 * part[side] - value)
            own = abs(second[ours] - second['predicted'])
            other = abs(first[theirs] - first['predicted'])
            assert half <= own + other + 1e-9
            # Ends at 0 or 100 are cut.
            if {second[ours], first[theirs]}.isdisjoint({0, 100}):
                assert half >= abs(own - other) - 1e-9
    if 'mean' in parts:
        assert parts['mean']['value'] == pytest.approx(
            np.mean([parts[name]['value'] for name in single]))
