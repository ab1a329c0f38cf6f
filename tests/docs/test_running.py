"""README and docs: every command, snippet and example of theirs is run.

A page is run from its first block to its last, in a folder with the files that
it names.
"""
import argparse
import runpy
import shlex
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

for package in ('opencompass', 'transformers', 'pandas', 'jinja2',
                'matplotlib'):
    pytest.importorskip(package)

import transformers  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

import csv_plugin as cp  # noqa: E402
from csv_plugin.demo import shipped  # noqa: E402
from csv_plugin.extras import training_files  # noqa: E402
from csv_plugin.lm.loading import load_scoring_lm  # noqa: E402
from tests.docs.blocks import EVERY_PAGE, ROOT, inline_commands  # noqa: E402
from tests.docs.running import pages_with_code, run_page  # noqa: E402
from tests.docs.world import make_world, write_trainings  # noqa: E402
from tests.extras.live.training import logged  # noqa: E402
from tests.extras.servers import Server, running  # noqa: E402
from tests.lm.engines import stand_ins  # noqa: E402

pytestmark = [pytest.mark.host, pytest.mark.slow]
#: Pages with tests of their own.
ALONE = ('importing', 'live', 'triage', 'tutorial')


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp('world')
    make_world(root)
    return root


@pytest.fixture
def folder(world, tmp_path, monkeypatch):
    """A copy of the files for one page."""
    here = tmp_path / 'here'
    shutil.copytree(world, here, symlinks=True)
    (here / 'shared').rename(tmp_path / 'shared')
    for link in ('WORK_DIR', 'outputs/mine/TIME', 'outputs/csv/TIME'):
        (here / link).unlink()
        (here / link).symlink_to(here / 'outputs/mine/20260101_120000')
    monkeypatch.chdir(here)
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setattr(shipped, 'FOLDER', here / 'demo')
    return here


class LLM(stand_ins.LLM):
    """`vllm.LLM` with one of the folder's models."""

    def __init__(self, model, **_):
        super().__init__()
        self.model, _ = load_scoring_lm(model)
        self.max_model_len = self.model.config.max_position_embeddings


class Served(Server):
    """A server of vLLM that has one of the folder's models."""

    def __init__(self, name, model):
        super().__init__(model)
        self.name = name

    def models(self):
        longest = self.model.config.max_position_embeddings
        card = {'id': self.name, 'owned_by': 'vllm', 'max_model_len': longest}
        return {'object': 'list', 'data': [card]}

    def answer(self, path, request):
        return super().answer(path, {**request, 'model': 'tiny'})


@pytest.fixture
def served(folder):
    """Words of pages, and what stands in for them."""
    model, _ = load_scoring_lm('my-model')
    name = {'command': 'my-model', 'engines': 'my/model'}
    # The folder has the smaller models of the demonstration alone.
    smaller = [('d-l@80', 'd-m@65'), ('h-l@80', 'c-m@65')]
    with ExitStack() as stack:
        yield {
            'README': smaller
        } | {
            page: [('http://localhost:8000',
                    stack.enter_context(running(Served(name, model))).url)]
            for page, name in name.items()
        }


@pytest.fixture
def blank_pictures(monkeypatch):
    """Trainings draw nothing: it takes most of their time.

    tests/extras/test_training_files.py has their pictures.
    """
    for name in ('capability_picture', 'methods_picture'):
        monkeypatch.setattr(training_files, name, lambda *_: Figure())


@pytest.mark.parametrize('page', [
    pytest.param(page, id=page.stem)
    for page in pages_with_code() if page.stem not in ALONE
])
def test_page(page, folder, served, offline_hub, blank_pictures, monkeypatch):
    if not shutil.which('bash'):
        pytest.skip('bash is not installed')
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(folder / 'benchmark_data'))
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE',
                        str(folder / 'hub'))
    vllm = stand_ins.package('vllm', SamplingParams=dict, LLM=LLM)
    monkeypatch.setitem(sys.modules, 'vllm', vllm)
    monkeypatch.setenv('SLURM_ARRAY_TASK_ID', '0')
    model, tokenizer = load_scoring_lm('my-model')
    old, new = cp.read_dumps(['mine.safetensors', 'other.safetensors'],
                             cp.read_texts('texts.jsonl')).values()
    run_page(
        page,
        dict(
            cp=cp,
            model=model,
            tokenizer=tokenizer,
            transformers=transformers,
            vllm=vllm,
            wandb=SimpleNamespace(run=SimpleNamespace(summary={})),
            old=old,
            new=new,
            predictor=cp.load('predictor.safetensors')),
        served.get(page.stem, []))


def test_triage(folder, monkeypatch):
    monkeypatch.setattr('csv_plugin.cli.build_validation_set.shipped_texts',
                        lambda: cp.read_texts('texts.jsonl'))
    shutil.rmtree('runs')
    write_trainings(Path('runs'))
    # Three runs are too few for laws of sizes.
    run_page(
        ROOT / 'docs/triage.md', {},
        [('--fit train --params', '--fit train validation test --params')])
    assert Path('outputs/losses/new1@2000.safetensors').exists()


def test_live(folder):
    """The trainer logs its own losses and the predictions."""
    model, tokenizer = load_scoring_lm('my-model')
    tokenizer.pad_token = tokenizer.eos_token
    ids = tokenizer(cp.read_texts('texts.jsonl').texts[0].text)['input_ids']
    arguments = transformers.TrainingArguments(
        'outputs/run',
        max_steps=6,
        logging_steps=2,
        save_strategy='no',
        report_to='none',
        use_cpu=True,
        disable_tqdm=True)
    names = dict(
        cp=cp,
        Trainer=transformers.Trainer,
        model=model,
        tokenizer=tokenizer,
        args=arguments,
        dataset=[dict(input_ids=ids, labels=ids)] * 48)
    run_page(ROOT / 'docs/live.md', names)
    assert [*logged(names['trainer'], 'loss')] == [2, 4, 6]
    assert [*logged(names['trainer'], 'predicted/mmlu')] == [6]
    assert names['callback'].triage.runs[0].name == 'mix1'


class Parsed(BaseException):
    """The options of a command are there."""


def studies():
    """Modules of the clone that sentences call, with words for their parser.
    """
    for command in inline_commands(EVERY_PAGE):
        _, _, call = command.partition('python -m ')
        module = ROOT / call.partition(' ')[0].replace('.', '/')
        if call.startswith('tools.') and '...' not in call:
            file = module.with_suffix('.py')
            if file.exists() and 'parse_args(' in file.read_text():
                yield call


@pytest.mark.parametrize('call', sorted(set(studies())))
def test_options_of_studies(call, monkeypatch):
    """Of calls in sentences, which leave out what the sentence says."""

    def parse(parser, words=None, _=None):
        for action in parser._actions:
            action.required = False
        _, unknown = parser.parse_known_args(words)
        assert not unknown
        raise Parsed

    module, *words = shlex.split(call)
    monkeypatch.setattr(argparse.ArgumentParser, 'parse_args', parse)
    monkeypatch.setattr(sys, 'argv', [module, *words])
    with pytest.raises(Parsed):
        runpy.run_path(
            str(ROOT / module.replace('.', '/')) + '.py', run_name='__main__')
