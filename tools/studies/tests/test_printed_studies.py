"""Studies print their tables, at sizes that say little."""
import pytest

from csv_plugin.io.tables import write_csv
from tests.scripts import printed
from tests.tables import small_tables, write_tables
from tests.triage.test_sizes import accuracy_of, world

GEMSTONES = '../shared/real/gemstones'


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


def test_known_accuracies():
    """They help on other checkpoints of a run."""
    found = rows('known_study', '--zoo')
    between = next(row for row in found if row[1] == 'other checkpoints')
    assert float(between[5].partition(' ')[0]) < .7
    assert float(between[9]) < float(between[8])


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
    found = rows('seeds_study', '--runs', '10', '--tokens', '3000', '--out',
                 str(tmp_path))
    assert [row[0] for row in found[2:]][-1] == 'verdict'
    assert len([*tmp_path.glob('seed*.safetensors')]) == 10
    for row in found[2:]:
        assert float(row[2].partition(' ')[0]) <= 20


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
        of_mean_loss = {row[0]: row[4].partition(' ')[0] for row in found[2:8]}
        assert float(of_mean_loss['salience']) < .15
