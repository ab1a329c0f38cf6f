"""Studies print their tables, at sizes that say little."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.io.tables import write_csv
from tests.runs import dump, model_losses, train
from tests.scripts import printed
from tests.tables import Tables, small_tables, write_tables
from tests.triage.test_sizes import accuracy_of, world
from tools.demo_maker.recipes import TrainingRecipe
from tools.studies import seeds_study


def rows(study: str, *options: str) -> list[list[str]]:
    """Cells of the tables that a study prints."""
    lines = printed(f'tools.studies.{study}', *options).splitlines()
    table = [line for line in lines if line.startswith('|')]
    return [[cell.strip() for cell in line.split('|')[1:-1]] for line in table]


def test_sizes(tmp_path):
    """Losses follow the law, and accuracies both of them and of compute."""
    models, features = world()
    accuracies = accuracy_of(features.values.mean(axis=1))
    write_csv(tmp_path / 'losses.csv', ('model', 'a', 'b', 'c'),
              ([name, *row] for name, row in zip(models, features.values)))
    write_csv(tmp_path / 'scores.csv', ('model', 'a'), zip(models, accuracies))
    write_csv(tmp_path / 'benchmarks.csv', ('benchmark', 'chance', 'n_items'),
              [('a', 0.25, 0)])
    write_csv(tmp_path / 'models.csv',
              ('model', 'family', 'split', 'params_b', 'tokens'), ([
                  name, f'f{i}', 'train' if row.params_b < 1 else 'test',
                  row.params_b, row.tokens
              ] for i, (name, row) in enumerate(models.items())))
    last = rows('sizes_study', str(tmp_path))[-1]
    assert last[:4] == [tmp_path.name, '12', '3', '0.1-2']
    losses, sizes, direct = (
        float(cell.partition(',')[0]) for cell in last[4:])
    assert max(losses, sizes) < direct


def test_decisions(tmp_path):
    """Two noisy benchmarks: what is decided is right."""
    tables = small_tables(48, n_families=16).only('easy', 'hard')
    write_tables(tmp_path, tables, dict.fromkeys(tables.models, 'train'))
    found = rows('decisions_study', str(tmp_path))
    assert found[0][2:5] == ['ours', 'or loss', 'apart']
    summary = found[2]
    each = summary[2].partition(' / ')[0]
    decided, right = each.rstrip(')').split(' (')
    assert float(decided) > 20 and float(right) > 95
    apart = summary[4].partition(' (')[0]
    assert float(apart) < float(decided)


def test_known_accuracies(tmp_path):
    """They help: two benchmarks share what losses do not tell of a run."""
    rng = np.random.default_rng(0)
    run, step = np.divmod(np.arange(64), 4)
    skill = rng.normal(size=16)[run] + step / 5
    losses = np.exp(1 - .1 * skill[:, None] + .004 * rng.normal(size=(64, 2)))
    values = .5 + .05 * (skill + rng.normal(size=16)[run])[:, None]
    values = values + .01 * rng.normal(size=(64, 2))
    models = [f'r{r}@{s}' for r, s in zip(run, step + 1)]
    tables = Tables(
        FeatureTable.of_losses(models, ['x', 'y'], losses),
        AccuracyTable(models, ['easy', 'hard'], values, np.zeros(2),
                      np.full(2, 2000)),
        {model: model.partition('@')[0]
         for model in models})
    write_tables(tmp_path, tables, dict.fromkeys(models, 'train'))
    found = rows('known_study', str(tmp_path))[2:]
    assert [row[1] for row in found] == [
        'other benchmarks', 'other checkpoints', 'later checkpoints'
    ]
    for row in found:
        assert float(row[5].partition(' ')[0]) < .7
        assert float(row[9]) < float(row[8])


@pytest.mark.parametrize('options', [
    (),
    ('--series', '--texts', '--by-run'),
])
def test_forecasts(options):
    """Forecasts are nearer to the ends than accuracies now."""
    found = rows('study_triage', '--after', '35', *options)
    errors = {row[0]: float(row[1].partition(' ')[0]) for row in found[2:7]}
    assert errors['forecast'] < .7 * errors['accuracy observed now']


def test_stopping():
    stopped = {
        row[1]: (row[2], float(row[3]))
        for row in rows('stopping_study', '--after', '35', '--size', '3')[2:]
    }
    assert stopped['triage'][0] == '50'
    assert stopped['triage'][1] < stopped['halving by accuracy'][1]


def test_seeds(tmp_path):
    """Runs of unlike skill are told apart, but not with the noise of others.
    """
    recipe = TrainingRecipe(tokens=2000, tokenizer_chars=20_000)
    first, second = seeds_study.train(tmp_path, range(2), recipe)
    assert not np.array_equal(first.texts[0].losses, second.texts[0].losses)
    skills = np.repeat([0.2, 0.8], 4) + 0.001 * np.arange(8)
    dumps = [dump(f'm{i}', model_losses(s)) for i, s in enumerate(skills)]
    found = seeds_study.decided(dumps, train(('easy', )))
    assert [*found] == ['loss', 'predicted easy', 'verdict']
    alone, with_noise = found['loss']
    assert alone[0, 7] and alone[7, 0] and not with_noise.any()
    every = ~np.eye(8, dtype=bool)
    assert seeds_study.share(every) == '100.0 (100.0 - 100.0)'


def test_simulated_worlds():
    found = rows('simulated_worlds', '--worlds', '1')[2:]
    assert len(found) == 12
    rising = [row for row in found if row[0] == 'rising']
    assert all(.5 < float(row[2]) <= 1 for row in rising)


@pytest.mark.long
@pytest.mark.parametrize('option', ['', '--items', '--leave-series-out'])
def test_the_zoo(option):
    found = rows('study_demo_zoo', *option.split())
    if option == '--leave-series-out':
        mean = dict(zip(found[0][1:], map(float, found[-1][1:])))
        assert mean['salience'] < mean['mean loss'] / 5
    else:
        # The first table has six columns.
        of_mean_loss = {
            row[0]: row[4].partition(' ')[0]
            for row in found if len(row) == 6
        }
        assert float(of_mean_loss['salience']) < .15
