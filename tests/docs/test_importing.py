"""docs/importing.md: its commands and its Python, on output as it names."""
import shutil

import pytest

import csv_plugin as cp
from csv_plugin.demo import shipped
from csv_plugin.io.tables import write_csv
from tests.docs.blocks import ROOT
from tests.docs.running import run_page
from tests.docs.world import copy_model, write_items
from tests.extras.importers.outputs import LIGHTEVAL, write_lm_eval_output

PAGE = ROOT / 'docs/importing.md'
MODELS = [
    f'{series}-{size}@100' for series in 'abc' for size in ('xs', 's', 'm')
] + ['d-s@100']

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def outputs(tmp_path_factory):
    """A folder with what lm-evaluation-harness wrote about the zoo."""
    root = tmp_path_factory.mktemp('importing')
    texts = cp.read_texts(shipped.TEXTS)
    losses = cp.read_dumps(
        [shipped.COLLECTION / f'{model}.safetensors' for model in MODELS],
        texts)
    accuracies = cp.read_accuracies(shipped.COLLECTION / 'scores.csv',
                                    shipped.COLLECTION /
                                    'benchmarks.csv').to_dict()
    for model in MODELS:
        nats = {
            text.text_id: float(text.losses.sum())
            for text in losses[model].texts
        }
        write_lm_eval_output(root / 'outputs/lm_eval' / model, texts, nats,
                             accuracies[model])
    write_csv(root / 'models.csv', ('model', 'family', 'split'),
              ((model, model[0], 'test' if model[0] == 'd' else 'train')
               for model in MODELS))
    shutil.copy(shipped.TEXTS, root / 'texts.jsonl')
    for name in ('mine', 'other'):
        shutil.copytree(LIGHTEVAL / 'c-l-80', root / 'details' / name)
    copy_model(root / 'my-model')
    write_items(root)
    return root


def test_page(outputs, monkeypatch, capsys):
    monkeypatch.chdir(outputs)
    run_page(PAGE, {})
    printed = capsys.readouterr().out
    assert '--tasks salience_texts-ce4e749ad947' in printed
    assert '--tasks salience_texts-ce4e749ad947' in PAGE.read_text('utf-8')
    assert '10 models, 250 units' in printed
    assert '1 model predicted from 9' in printed
