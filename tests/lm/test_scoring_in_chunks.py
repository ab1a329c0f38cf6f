"""A scoring that stops goes on where it was, whatever engine runs it."""
import shutil

import numpy as np
import pytest
import torch

import csv_plugin as cp
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import read_dump
from csv_plugin.lm import scoring_in_chunks
from csv_plugin.lm.dumping import dump_losses
from tests.lm.engines.row_engines import Exact
from tests.lm.models import make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = TextSet(
    tuple(Text(f't{i}', text) for i, text in enumerate(CORPUS[:10])))


class Stopping(Exact):
    """Stops after some calls."""
    left = 100

    def row_scores(self, rows):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().row_scores(rows)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(scoring_in_chunks, 'CHUNK', 3)


def losses_of(dump):
    return [text.losses.tolist() for text in dump.texts]


@pytest.fixture
def stopped(tmp_path):
    """A folder in which two of four chunks lie."""
    folder = tmp_path / 'runs/chunks'
    engine = Stopping()
    engine.left = 4  # two calls are the trial of the engine
    with pytest.raises(KeyboardInterrupt):
        cp.score(engine, tokenizer(), TEXTS, folder=folder)
    assert {file.name
            for file in folder.iterdir()
            } == {'0.safetensors', '1.safetensors'}
    return folder


def n_calls(engine, folder, texts=TEXTS, **settings):
    """Calls that score: those of the trial are left out."""
    dump_losses(engine, tokenizer(), texts, folder=folder, **settings)
    return max(0, len(engine.calls) - 2)


def test_the_rest_is_scored(stopped, tmp_path):
    again = shutil.copytree(stopped, tmp_path / 'again')
    assert n_calls(Exact(), again) == 2
    losses = cp.score(Exact(), tokenizer(), TEXTS, folder=stopped)
    whole = cp.score(Exact(), tokenizer(), TEXTS, folder=tmp_path / 'whole')
    assert losses['m'].info == whole['m'].info
    assert losses_of(losses['m']) == losses_of(whole['m'])
    assert [text.text_id for text in losses['m'].texts
            ] == [text.text_id for text in TEXTS.texts]
    assert n_calls(Exact(), stopped) == 0


@pytest.mark.parametrize('damage', ['cut', 'empty', 'removed', 'foreign'])
def test_a_damaged_chunk_is_scored_again(stopped, damage):
    file = stopped / '1.safetensors'
    content = file.read_bytes()
    other = (stopped / '0.safetensors').read_bytes()
    damaged = {'cut': content[:-40], 'empty': b'', 'foreign': other}
    if damage == 'removed':
        file.unlink()
    else:
        file.write_bytes(damaged[damage])
    assert n_calls(Exact(), stopped) == 3
    assert file.read_bytes() == content


class OtherVersion(Exact):

    @property
    def facts(self):
        facts = super().facts
        facts.versions['exact'] = '2'
        return facts


def test_chunks_of_another_engine_are_scored_again(stopped):
    assert n_calls(OtherVersion(), stopped) == 4
    assert read_dump(stopped / '0.safetensors').info.versions['exact'] == '2'


def test_chunks_of_other_weights_are_not_read(tmp_path):
    """As of a model that was trained on in the meantime."""
    model = make('llama')
    first = cp.score(model, tokenizer(), TEXTS, 'm', tmp_path / 'chunks')
    files = set(tmp_path.glob('chunks/*/*.safetensors'))
    again = cp.score(model, tokenizer(), TEXTS, 'm', tmp_path / 'chunks')
    assert losses_of(first['m']) == losses_of(again['m'])
    assert set(tmp_path.glob('chunks/*/*.safetensors')) == files
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.01)
    trained = cp.score(model, tokenizer(), TEXTS, 'm', tmp_path / 'chunks')
    fresh = cp.score(model, tokenizer(), TEXTS, 'm')
    for kept, computed in zip(trained['m'].texts, fresh['m'].texts):
        np.testing.assert_allclose(kept.losses, computed.losses, atol=1e-4)


def test_chunks_of_other_texts_or_contexts_are_scored_again(stopped):
    first, *others = TEXTS.texts
    changed = TextSet((Text(first.text_id, first.text + '!'), *others))
    assert n_calls(Exact(), stopped, changed) == 4
    assert n_calls(Exact(), stopped, context=50) == 4


def test_columns_that_are_missing_are_scored(tmp_path):
    plain = dump_losses(make('llama'), tokenizer(), TEXTS, folder=tmp_path)
    assert plain.texts[0].entropy is None
    dump = dump_losses(
        make('llama'), tokenizer(), TEXTS, entropy=True, folder=tmp_path)
    assert np.isfinite(dump.texts[0].entropy).all()


def test_progress_counts_chunks(tmp_path):
    seen = []

    def progress(chunks):
        seen.append(len(chunks))
        return iter(chunks)

    cp.score(
        Exact(), tokenizer(), TEXTS, folder=tmp_path / 'a', progress=progress)
    assert seen == [4]
