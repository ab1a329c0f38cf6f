"""Studies that print their tables run, at sizes that say little."""
import re

import pytest

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from tests.io import dump_files
from tests.scripts import printed
from tests.triage.test_sizes import accuracy_of, world
from tools.studies import describe_texts
from tools.demo_maker.files import tokenizer_folder

pytestmark = pytest.mark.slow


def run(script: str, *options: str) -> str:
    """What a script prints."""
    return printed(f'tools.studies.{script}', *options)


def test_laws_of_sizes_are_compared(tmp_path):
    """Losses follow the law, and accuracies both of them and of compute."""
    models, features = world()
    real = accuracy_of(features.values.mean(axis=1))
    write_csv(tmp_path / 'losses.csv', ('model', 'a', 'b', 'c'),
              ([name, *row] for name, row in zip(models, features.values)))
    write_csv(tmp_path / 'scores.csv', ('model', 'a'), zip(models, real))
    write_csv(tmp_path / 'benchmarks.csv', ('benchmark', 'chance', 'n_items'),
              [('a', 0.25, 0)])
    write_csv(tmp_path / 'models.csv',
              ('model', 'family', 'split', 'params_b', 'tokens'), ([
                  name, f'f{i}', 'train' if row.params_b < 1 else 'test',
                  row.params_b, row.tokens
              ] for i, (name, row) in enumerate(models.items())))
    last = run('sizes_study', str(tmp_path)).splitlines()[-1]
    name, fitted, predicted, times, *errors = (
        cell.strip() for cell in last.split('|')[1:-1])
    assert [name, fitted, predicted] == [tmp_path.name, '12', '3']
    assert times == '0.1-2'
    losses, sizes, direct = (float(cell.partition(',')[0]) for cell in errors)
    assert max(losses, sizes) < direct


@pytest.mark.long
def test_deviations_from_the_paper_are_measured():
    printed = run('deviations_study', 'compute')
    assert re.search(r'\| mean loss +\| 61\.22 ', printed)
    assert re.search(r'\| compute +\| 75\.23 +\| 1\.23 ', printed)


def test_tokenizers_are_compared():
    printed = run('real_tokenizers', 'unused', '--tokenizer',
                  'csv_plugin/demo/zoo/a/tokenizer',
                  'csv_plugin/demo/zoo/b/tokenizer')
    assert printed.startswith('2 tokenizers, 342 texts, 2 ordered pairs; ')
    assert printed.count('| 342 | - | 342 of 342 | ') == 2


def test_texts_are_described(tmp_path, capsys):
    texts = TextSet((Text('x/sums_en/0', 'Two and two is four.', 'x',
                          (15, 19)), Text('y/all/0', 'Why? So.', 'y', (5, 8))))
    write_texts(tmp_path / 'texts.jsonl', texts)
    write_dump(tmp_path / 'a.safetensors', dump_files.dump('a', 3., texts))
    describe_texts.main(tmp_path / 'texts.jsonl',
                        [tokenizer_folder(shipped.ZOO, 'a')],
                        tmp_path / 'a.safetensors')
    rows = [
        re.split(r' *\| *', line.strip('| '))
        for line in capsys.readouterr().out.splitlines()
    ]
    assert rows[2][0] == 'tokenizer' and len(rows[2]) == 5
    assert ['sums', '1', '1', '100%', '3', '3', '0.22'] in rows
    assert rows[-1] == ['all', '2', '1', '100%', '3', '3', '0.31']
