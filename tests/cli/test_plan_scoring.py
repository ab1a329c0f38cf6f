"""Lists of models with GPU hours; from the paper's list to predictions."""
import csv
import shlex
from glob import glob
from itertools import cycle
from pathlib import Path

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.core.gpu_time import GPUS, gpu_hours, scoring_time
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.paper import paper_weights
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / 'docs/paper_setting.md'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows_of(path):
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def plan(table, *options):
    Path('list.csv').write_text(table)
    return main(['plan', '--models', 'list.csv', '--out', 'jobs', *options])


def test_the_papers_models_take_what_the_page_says(capsys):
    command = ['plan', '--models', 'paper', '--out', 'outputs/jobs']
    assert shlex.join(['salience', *command]) in PAGE.read_text('utf-8')
    assert main(command) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    stated = [
        line.replace('|', ' ').split()
        for line in PAGE.read_text('utf-8').splitlines()
        if line.startswith('| outputs/jobs/')
    ]
    assert shown[2:] == stated
    rows = rows_of('outputs/jobs/models.csv')
    assert {
        row['model']: row['path']
        for row in rows
    } == {
        name: model.path
        for name, model in paper_weights().items()
    }
    assert sum(row['own_code'] == 'yes' for row in rows) == 15
    parts = [rows_of(f'outputs/jobs/{name}.csv')
             for name in ('1_gpu', '2_gpus', '4_gpus')]  # yapf: disable
    assert [{row['gpus'] for row in part} for part in parts] == [
        {'1'}, {'2'}, {'4'}]  # yapf: disable
    key = {row['model']: row for row in rows}
    assert [row for part in parts for row in part] == sorted(
        key.values(), key=lambda row: int(row['gpus']))


def test_a_list_of_ones_own():
    assert plan('model,path,params_b,tokenizer,dtype\nx,a/b,40,t,float16',
                '--tokens', '1000') == 0
    row, = rows_of('jobs/4_gpus.csv')
    hours = gpu_hours(40, 1000, GPUS[1])
    assert row == {
        'model': 'x', 'path': 'a/b', 'tokenizer': 't', 'dtype': 'float16',
        'own_code': 'yes', 'params_b': '40.0', 'gpus': '4',
        'hours_h100': str(round(gpu_hours(40, 1000, GPUS[0]), 4)),
        'hours_a100': str(round(hours, 4))
    }  # yapf: disable
    assert rows_of('jobs/models.csv') == [row]


def test_lists_of_an_earlier_plan_do_not_stay():
    assert plan('model,path,params_b\nx,a,7\ny,b,40') == 0
    Path('jobs/my_4_gpus.csv').touch()
    assert plan('model,path,params_b\nx,a,20') == 0
    assert sorted(path.name for path in Path('jobs').iterdir()) == [
        '2_gpus.csv', 'models.csv', 'my_4_gpus.csv']  # yapf: disable


@pytest.mark.parametrize('table, says', [
    ('model,path,params_b\nx,y,', "model 'x': expected params_b"),
    ('model,path,params_b,dtype\nx,y,1,float32', 'bfloat16 or float16'),
])
def test_bad_input(capsys, table, says):
    assert plan(table) == 2
    assert says in capsys.readouterr().err
    assert not Path('jobs').exists()


def test_a_thousand_models_take_what_the_page_says():
    page = (ROOT / 'docs/cluster.md').read_text('utf-8')
    h100, a100 = (scoring_time(7, 180_000, gpu) for gpu in GPUS)
    assert f'(assumed) | {h100.read:g} | {a100.read:g} |' in page
    assert f'(assumed) | {h100.copy:g} | {a100.copy:g} |' in page
    assert f'for bf16) | {h100.score:.1f} | {a100.score:.0f} |' in page
    one, other = (
        time.read + time.copy + time.score + time.write
        for time in (h100, a100))
    assert (f'| {one:.0f} s, {one / 3.6:.1f} GPU hours for 1,000 | '
            f'{other:.0f} s, {other / 3.6:.1f} |') in page


def test_hours_are_those_of_the_pages_formula():
    page = (ROOT / 'docs/cluster.md').read_text('utf-8')
    assert ('G x (20 s + T x 0.26 s / 17,833 + 2P / 1 GB/s + 2P / 4 GB/s\n'
            '         + 2 P T / (40 % of the peak) + 1 s)') in page
    P, T = 70e9, 180_000
    seconds = 4 * (20 + T * .26 / 17833 + 2 * P / 1e9 + 2 * P / 4e9 +
                   2 * P * T / (.4 * 989e12) + 1)
    assert gpu_hours(70, T, GPUS[0]) == pytest.approx(seconds / 3600)


def commands(*starts):
    """Those of the page that begin so, in its order."""
    return [
        command for block in blocks(PAGE) if block.kind == 'commands'
        for command in block.commands if command.startswith(starts)
    ]


def run(command):
    """Run a command, with the names of files that its shell would give."""
    words = [
        name for word in shlex.split(command)[1:]
        for name in (sorted(glob(word)) if '*' in word else [word])
    ]
    return main(words)


@pytest.mark.long
def test_from_the_papers_list_to_predictions(capsys):
    """The page's commands, with models of the zoo under the paper's names."""
    for package in ('transformers', 'matplotlib', 'jinja2'):
        pytest.importorskip(package)
    some = TextSet(read_texts(shipped.TEXTS).texts[::40])
    Path('outputs/texts').mkdir(parents=True)
    write_texts('outputs/texts/texts.jsonl', some)
    Path('internlm').mkdir()
    Path('internlm/internlm2_5-1_8b').symlink_to(with_tokenizer())
    chosen = commands('salience plan', 'salience losses',
                      'salience train --dumps', 'salience predict')
    assert run(chosen[0]) == 0
    stand_in('outputs/jobs/models.csv')
    capsys.readouterr()
    for command in chosen[1:]:
        assert run(command) == 0, command
    shown = capsys.readouterr().out
    assert shown.count(' texts, outputs/losses/') == 59
    assert 'gemma-2-2b-it' in shown.partition('ceval-test')[2]


def with_tokenizer():
    """A model of the zoo and its tokenizer in one folder."""
    folder = Path('whole').resolve()
    folder.mkdir()
    for path in (*(shipped.ZOO / 'd/s/100').iterdir(),
                 *(shipped.ZOO / 'd/tokenizer').iterdir()):
        (folder / path.name).symlink_to(path)
    return folder


def stand_in(path):
    """Put models of the zoo in the place of those of a list."""
    zoo = cycle(sorted(shipped.ZOO.glob('*/*/[0-9]*')))
    rows = rows_of(path)
    for row, model in zip(rows, zoo):
        row['path'] = str(model)
        row['tokenizer'] = str(model.parents[1] / 'tokenizer')
        row['dtype'] = 'float32'
    with open(path, 'w', encoding='utf-8', newline='') as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
