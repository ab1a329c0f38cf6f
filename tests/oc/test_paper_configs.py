"""The configs of the paper's setting, with tiny models in place of real."""
import csv
import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.models import (HuggingFaceBaseModel,
                                HuggingFacewithChatTemplate)
from opencompass.openicl.icl_inferencer import PPLInferencer

from csv_plugin.io.paper import paper_accuracies, paper_models
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.runs.run_scores import read_run_accuracies
from tests.oc import tiny
from tests.oc.command import opencompass
from tests.runs import TEXTS, train

ROOT = Path(__file__).resolve().parents[2]
HOST = Path(find_spec('opencompass').submodule_search_locations[0], 'configs')
CONFIGS = ('eval_csv_paper', 'eval_csv_paper_losses', 'eval_csv_real')
TEXTS_ABBR = dataset_abbr(TEXTS.fingerprint)
# For base and for chat models.
VARIANTS = {
    'mmlu': ('mmlu_ppl_ac766d', 'mmlu_gen_4d595a'),
    'bbh': ('bbh_gen_98fba6', 'bbh_gen_5b92b0'),
    'gsm8k': ('gsm8k_gen_17d0dc', 'gsm8k_gen_1d7fe4'),
    'hellaswag':
    ('hellaswag_10shot_ppl_59c85e', 'hellaswag_10shot_gen_e42710'),
    'ceval': ('ceval_ppl_578f8d', 'ceval_gen_2daf24'),
    'cmmlu': ('cmmlu_ppl_041cbf', 'cmmlu_gen_c13365'),
}
SMALL_PAPER = '''
from mmengine.config import read_base

with read_base():
    from .eval_csv_paper import *


def small(model):
    return dict(
        model, path='MODEL', max_seq_len=512, run_cfg=dict(num_gpus=0),
        model_kwargs=dict(torch_dtype='torch.float'))


def first_items(datasets):
    return [
        dataset if 'fingerprint' in dataset else dict(
            dataset,
            infer_cfg=dict(
                dataset['infer_cfg'],
                inferencer=dict(dataset['infer_cfg']['inferencer'],
                                max_out_len=4)),
            reader_cfg=dict(dataset['reader_cfg'], test_range='[0:1]'))
        for dataset in datasets if dataset['abbr'].startswith(TASKS)
    ]


TASKS = ('bbh-navigate', 'gsm8k', 'hellaswag', 'lukaemon_mmlu_anatomy',
         'ceval-law', 'cmmlu-arts', 'salience_texts')
model_dataset_combinations = [
    dict(
        models=[small(model) for model in combination['models']
                if model['abbr'] in ('Qwen2-1.5B', 'Qwen2-1.5B-Instruct')],
        datasets=first_items(combination['datasets']))
    for combination in model_dataset_combinations
]
models = [
    combination['models'][0] for combination in model_dataset_combinations
]
datasets = model_dataset_combinations[0]['datasets']
del first_items, small
'''


@pytest.fixture(scope='module', autouse=True)
def folder(tmp_path_factory):
    """Where the configs find what the steps before them write."""
    folder = tmp_path_factory.mktemp('paper')
    for name in ('texts', 'predictor'):
        (folder / f'outputs/{name}').mkdir(parents=True)
    tiny.save_texts(folder / 'outputs/texts/texts.jsonl', TEXTS)
    save_predictor(
        train(('mmlu', 'bbh', 'gsm8k')),
        folder / 'outputs/predictor/predictor.safetensors')
    for name in CONFIGS:
        text = (ROOT / f'configs/{name}.py').read_text('utf-8')
        (folder / f'{name}.py').write_text(
            text.replace('own_code = False', 'own_code = True'), 'utf-8')
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope='module')
def paper(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Config.fromfile('eval_csv_paper.py')


def test_models_are_those_of_table_2_with_scores(paper) -> None:
    models = paper_models()
    abbrs = [model['abbr'] for model in paper.models]
    evaluated = paper_accuracies().models
    assert sorted(abbrs) == sorted(set(models) & set(evaluated))
    for model in paper.models:
        chat = any(word in model['abbr'].lower()
                   for word in ('chat', 'instruct', '-it'))
        assert model['type'] is (HuggingFacewithChatTemplate
                                 if chat else HuggingFaceBaseModel)
        assert model['path'].split('/')[1].lower() == model['abbr'].lower()
        size = models[model['abbr']].params_b
        assert model['run_cfg'] == dict(
            num_gpus=1 if size <= 14 else 2 if size <= 34 else 4)


def test_code_of_models_runs_only_where_the_user_says_so(tmp_path) -> None:
    """The configs as they come say at once what to change."""
    for name in CONFIGS:
        shutil.copy(ROOT / f'configs/{name}.py', tmp_path / f'{name}.py')
        with pytest.raises(Exception, match='internlm.*set own_code = True'):
            Config.fromfile(tmp_path / f'{name}.py')


def test_models_are_loaded_as_they_need(paper) -> None:
    for model in paper.models:
        allowed = model['abbr'].startswith('internlm')
        assert model['model_kwargs']['trust_remote_code'] is allowed
        assert model['tokenizer_kwargs']['trust_remote_code'] is allowed
        # With the default attention, its soft cap is left out.
        eager = model['model_kwargs'].get('attn_implementation') == 'eager'
        assert eager is model['abbr'].startswith('gemma-2')
        # Or OpenCompass looks it up, with the model's own code.
        assert model['max_seq_len'] >= 4096


def test_base_and_chat_models_have_their_own_benchmarks(paper) -> None:
    base, chat = paper.model_dataset_combinations
    assert [*base['models'], *chat['models']] == paper.models
    for part, kind in ((base, HuggingFaceBaseModel),
                       (chat, HuggingFacewithChatTemplate)):
        assert {model['type'] for model in part['models']} == {kind}
        assert part['datasets'][-1]['abbr'] == TEXTS_ABBR
    abbrs = [dataset['abbr'] for dataset in base['datasets']]
    assert len(set(abbrs)) == len(abbrs) == 27 + 1 + 57 + 67 + 52 + 1 + 1
    assert sorted(abbrs) == sorted(dataset['abbr']
                                   for dataset in chat['datasets'])
    assert [dataset['abbr'] for dataset in paper.datasets] == abbrs


def entries(benchmark: str, variant: str) -> dict[str, dict]:
    file = HOST / f'datasets/{benchmark}/{variant}.py'
    return {
        entry['abbr']: entry
        for entry in Config.fromfile(file)[f'{benchmark}_datasets']
    }


def test_benchmarks_are_the_hosts_variants(paper) -> None:
    for benchmark, variants in VARIANTS.items():
        for part, variant in zip(paper.model_dataset_combinations, variants):
            host = entries(benchmark, variant)
            datasets = [
                dataset.to_dict() for dataset in part['datasets']
                if dataset['abbr'] in host
            ]
            assert len(datasets) == len(
                [abbr for abbr in host if not abbr.startswith('ceval-test')])
            for dataset in datasets:
                inferencer = dataset['infer_cfg']['inferencer']
                # Perplexities are taken one by one.
                size = inferencer.pop('batch_size', None)
                assert size == 1 or inferencer['type'] is not PPLInferencer
                assert dataset == host[dataset['abbr']].to_dict()


def test_losses_are_those_of_all_models_with_accuracies(paper) -> None:
    losses = Config.fromfile('eval_csv_paper_losses.py')
    assert losses.models[:57] == paper.models
    assert {model['abbr']
            for model in losses.models} == {*paper_accuracies().models}
    gemma = {
        model['abbr']: model['model_kwargs']
        for model in losses.models if model['abbr'].startswith('gemma-2')
    }
    assert len(gemma) == 6 and all(kwargs['attn_implementation'] == 'eager'
                                   for kwargs in gemma.values())
    assert losses.datasets == paper.datasets[-1:]
    assert losses.summarizer == paper.summarizer
    assert 'model_dataset_combinations' not in losses


def write_rows(path: Path, *rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w', encoding='utf-8', newline='') as file:
        csv.writer(file).writerows(rows)


def write_items(path: Path, *items: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(map(json.dumps, items)), encoding='utf-8')


def invent_data(root: Path) -> None:
    """Questions of SMALL_PAPER for the host."""
    options = ['a cat', 'a dog', 'a fox', 'a hen']
    questions = [['Who is here?', *options, label] for label in 'ABCDA']
    numbered = [[str(n), *row] for n, row in enumerate(questions)]
    for split in ('dev', 'val', 'test'):
        write_rows(root / f'mmlu/{split}/anatomy_{split}.csv', *questions)
        write_rows(root / f'ceval/formal_ceval/{split}/law_{split}.csv',
                   ['id', 'question', *'ABCD', 'answer'], *numbered)
        write_rows(root / f'cmmlu/{split}/arts.csv',
                   ['', 'Question', *'ABCD', 'Answer'], *numbered)
    write_items(root / 'BBH/data/navigate.json',
                dict(examples=[dict(input='(A) or (B)?', target='(A)')]))
    for split in ('train', 'test'):
        write_items(root / f'gsm8k/{split}.jsonl',
                    dict(question='1 + 1?', answer='It is 2. #### 2'))
    endings = [dict(query='a: He', choices=options, gold=n % 4)
               for n in range(10)]  # yapf: disable
    for file in ('hellaswag_train_sampled25', 'hellaswag'):
        write_items(root / f'hellaswag/{file}.jsonl', *endings)


def run(config: str, tmp_path: Path) -> Path:
    model = tiny.save_model(tmp_path / 'tiny', max_position_embeddings=512)
    Path('small.py').write_text(config.replace('MODEL', str(model)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('COMPASS_DATA_CACHE', str(tmp_path))
        opencompass('small.py', '--debug', '--work-dir', 'out')
    folder, = Path('out').iterdir()
    return folder


@pytest.mark.slow
def test_the_papers_run(paper, tmp_path) -> None:
    """A task or all of each benchmark, by a base and by a chat model."""
    invent_data(tmp_path / 'data')
    folder = run(SMALL_PAPER, tmp_path)
    file, = (folder / 'summary').glob('summary_*.csv')
    with file.open(encoding='utf-8', newline='') as lines:
        table = list(csv.reader(lines))
    assert table[0][4:] == ['Qwen2-1.5B', 'Qwen2-1.5B-Instruct']
    rows = [row for row in table if row[0] == 'gsm8k']
    assert [row[2] for row in rows] == ['accuracy', 'predicted']
    assert all('(' in cell for cell in rows[-1][4:])
    # Both variants of a benchmark share a row.
    names = [(row[0], row[2]) for row in table]
    assert len(set(names)) == len(names)
    scores = read_run_accuracies(
        folder, ['bbh', 'bbh-navigate', 'gsm8k', 'hellaswag', 'ceval-law'])
    assert list(scores) == table[0][4:]
    for model_scores in scores.values():
        # Only one task of bbh was run.
        assert set(model_scores) == {
            'bbh-navigate', 'gsm8k', 'hellaswag', 'ceval-law'
        }
