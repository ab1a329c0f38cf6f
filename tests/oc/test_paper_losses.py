"""From losses of the paper's models to a predictor, by the page's commands."""
import csv
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.paper import paper_accuracies
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.docs.blocks import ROOT, inline_commands
from tests.oc.command import opencompass

NAME = 'eval_csv_paper_losses'
# Models of the zoo under the names of three of the paper's.
STAND_INS = {
    'Llama-2-7b-hf': 'd/s/100',
    'Qwen2-72B': 'd/l/100',
    'gemma-2-2b-it': 'd/m/65'
}
#: At the end of a copy of the config.
SMALL = f'''
models = [
    dict(
        model, path='{shipped.ZOO}/' + {STAND_INS}[model['abbr']],
        tokenizer_path='{shipped.ZOO}/d/tokenizer', max_seq_len=512,
        run_cfg=dict(num_gpus=0),
        model_kwargs=dict(torch_dtype='torch.float'))
    for model in models if model['abbr'] in {STAND_INS}
]
'''


def commands() -> list[str]:
    """The page's steps 2 to 4, which name the folder of the losses."""
    page = ROOT / 'docs/paper_setting.md'
    return [call for call in inline_commands([page]) if 'paper_losses' in call]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With texts, a small copy of the config and a scoring LM."""
    monkeypatch.chdir(tmp_path)
    Path('outputs/texts').mkdir(parents=True)
    write_texts('outputs/texts/texts.jsonl',
                TextSet(read_texts(shipped.TEXTS).texts[::40]))
    Path('configs').mkdir()
    config = (ROOT / f'configs/{NAME}.py').read_text('utf-8')
    Path(f'configs/{NAME}.py').write_text(
        config.replace('own_code = False', 'own_code = True') + SMALL, 'utf-8')
    for path in ('d/s/100', 'd/tokenizer'):
        shutil.copytree(
            shipped.ZOO / path,
            'internlm/internlm2_5-1_8b',
            dirs_exist_ok=True)


def copy_dump(path: Path, name: str) -> None:
    """As if another model had these losses."""
    dump = read_dump(path)
    folder = Path(shutil.copytree(path.parent, path.parents[1] / name))
    write_dump(folder / path.name,
               replace(dump, info=replace(dump.info, model=name, folder=name)))


@pytest.mark.slow
def test_from_losses_to_predictions(folder, capsys) -> None:
    """With one of the six benchmarks; dumps of three models stand for all."""
    score, train, show = map(shlex.split, commands())
    opencompass(*score[1:], '--debug')
    run, = Path('outputs/paper_losses').glob('2*')
    dumps = sorted(run.glob('predictions/*/*.safetensors'))
    assert [dump.parent.name for dump in dumps] == [*STAND_INS]
    assert not [*run.glob('results/*/mmlu*')]
    for i, name in enumerate(paper_accuracies().models):
        if name not in STAND_INS:
            copy_dump(dumps[i % 3], name)
    train[train.index('outputs/paper_losses/2*')] = str(run)
    benchmarks = train.index('--tasks')
    del train[benchmarks + 2:train.index('--scoring-lm')]
    assert main(train[1:]) == 0
    assert '57 models, 47 to fit to' in capsys.readouterr().out
    shown = opencompass(*show[1:])
    table = max(run.glob('summary/summary_*.csv'))
    with table.open(encoding='utf-8', newline='') as file:
        rows = {row['dataset']: row for row in csv.DictReader(file)}
    for model in STAND_INS:
        low, value, high = (
            float(rows['mmlu'][model + end]) for end in (' low', '', ' high'))
        assert low <= value <= high, shown
