"""docs/command.md: its commands, on files as it names them."""
import glob
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import csv_plugin as cp
from csv_plugin.cli import run_demo
from csv_plugin.cli.salience import VERBS, main, make_parser
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from tests.io.runs.test_run_gaps import config, write_config
from tests.runs import write_result, write_summary
from tests.tables import small_tables, write_tables
from tests.test_docs import ROOT, blocks

PAGE = ROOT / 'docs/command.md'
#: Verbs whose examples need data or take long: only their options are read.
READ_ONLY = {'texts', 'train'}
MODELS = ('d-s@100', 'd-m@65')

pytestmark = pytest.mark.slow


def commands():
    """Words of each command of the page, after `salience`."""
    for _, block in blocks(PAGE):
        for line in block.replace('\\\n', ' ').splitlines():
            if line.startswith('salience '):
                yield shlex.split(line.partition(' > ')[0])[1:]


def test_every_verb_has_an_example():
    assert {words[0] for words in commands()} >= {*VERBS}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the page names."""
    monkeypatch.chdir(tmp_path)
    whole = cp.read_texts(shipped.TEXTS)
    texts = TextSet(whole.texts[::50])
    write_texts('texts.jsonl', texts)
    for copy in ('my-model', 'runs/mix/checkpoint-100'):
        shutil.copytree(shipped.ZOO / 'd/s/100', copy)
        shutil.copytree(shipped.ZOO / 'd/tokenizer', copy, dirs_exist_ok=True)
    write_csv('mine.csv', ('text_id', 'nats'),
              ((text.text_id, 9.5 + i) for i, text in enumerate(texts)))
    tables = small_tables()
    splits = dict.fromkeys(tables.models, 'train') | {tables.models[0]: 'test'}
    write_tables(tmp_path, tables, splits)
    write_run('outputs/mine/20260101_120000', whole)
    shutil.copy(shipped.PREDICTOR, 'predictor.safetensors')
    for name, series in (('new', 'a'), ('earlier', 'b')):
        (tmp_path / name).mkdir()
        for path in shipped.COLLECTION.glob(f'{series}-s@?[05].parquet'):
            shutil.copy(path, name)
    monkeypatch.setattr(run_demo, 'subprocess', Processes)
    monkeypatch.setattr(run_demo, 'find_spec', str)
    return tmp_path


class Processes:
    """In place of the module: every process does what it is to do."""

    @staticmethod
    def run(command, env):
        return subprocess.CompletedProcess(command, 0)


def write_run(work_dir, texts):
    """A run of two models of the zoo on one exam."""
    texts = dataset_abbr(texts.fingerprint)
    for model in MODELS:
        write_result(work_dir, model, 'scenes', {'accuracy': 40})
        target = Path(work_dir, 'predictions', model)
        target.mkdir(parents=True)
        shutil.copy(shipped.COLLECTION / f'{model}.parquet',
                    target / f'{texts}.parquet')
    write_config(work_dir, config(MODELS, ['scenes', texts]))
    write_summary(work_dir,
                  [['dataset', 'version', 'metric', 'mode', *MODELS],
                   ['scenes', '1f', 'accuracy', 'ppl', '40.00', '41.00']])


def options(words):
    """Words with their patterns expanded, as a shell does."""
    for word in words:
        is_pattern = '*' in word and word != 'runs/*/checkpoint-*'
        yield from sorted(glob.glob(word)) if is_pattern else [word]


def test_commands(folder, capsys):
    for package in ('transformers', 'jinja2', 'matplotlib', 'shtab'):
        pytest.importorskip(package)
    for words in commands():
        verb, arguments = words[0], [*options(words)]
        if '--help' in arguments:
            with pytest.raises(SystemExit) as end:
                main(arguments)
            assert end.value.code == 0
        elif verb in READ_ONLY or '--engine' in arguments:
            assert make_parser([verb]).parse_args(words).verb == verb
        elif verb == 'predict' and '--losses' not in arguments:
            # Of all texts that the predictor knows, not of a few.
            shutil.copy(shipped.COLLECTION / 'd-s@100.parquet',
                        'outputs/losses')
            (folder / 'outputs/losses/my-model.parquet').unlink()
            assert main(arguments) == 0
        else:
            assert main(arguments) == 0, capsys.readouterr().err
    for path in ('eval_csv_real.py', 'outputs/shared/my-model.parquet',
                 'outputs/checkpoints/mix@100.parquet',
                 'outputs/predicted/predictions.md',
                 'outputs/triage/triage.json',
                 'outputs/mine/20260101_120000/report.html'):
        assert (folder / path).is_file()
    assert 'Nothing is lacking.' in capsys.readouterr().out
