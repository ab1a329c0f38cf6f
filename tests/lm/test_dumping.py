"""From a model to a dump to feature columns; parts join to the whole.

A scoring that stops goes on where it was, whatever engine runs it.
"""
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import merge_dumps, read_dump, write_dump
from csv_plugin.lm import dumping
from csv_plugin.lm.dumping import (answers_alone, dump_losses, score,
                                   score_in_chunks)
from tests.lm import models
from tests.lm.engines.row_engines import Exact
from tests.lm.tokens import tokenizers

TEXTS = TextSet(
    tuple(
        Text(f't{i}', text) for i, text in enumerate(
            ['The answer is 5.', '中文，三个字。', 'a', 'long ' * 40, '🤦🏽 here'])))
MANY = TextSet(
    tuple(
        Text(f't{i}', text) for i, text in enumerate(tokenizers.CORPUS[:10])))

TOKENIZER = models.tokenizer()
TOKENIZER.name_or_path = 'lab/words'


def test_a_dump_says_how_it_was_made():
    model = models.make('llama')
    info = dump_losses(
        model, TOKENIZER, TEXTS, name='lab/tiny', context=50).info
    assert info.fingerprint == TEXTS.fingerprint
    assert info.model == 'lab/tiny'
    assert info.tokenizer == 'lab/words'
    assert info.prefix == f'bos {TOKENIZER.bos_token_id}'
    assert (info.dtype, info.context, info.stride) == ('float32', 50, 25)
    assert {'csv_plugin', 'torch', 'transformers'} <= set(info.versions)
    assert score(model, TOKENIZER, TEXTS, 'mine')['mine'].info == replace(
        dump_losses(model, TOKENIZER, TEXTS).info, model='mine')
    own = dump_losses(model.bfloat16(), TOKENIZER, TEXTS).info
    assert (own.dtype, own.context) == ('bfloat16', models.CONTEXT)


def test_parts_join_to_the_whole(tmp_path):
    model = models.make('llama')
    whole = dump_losses(model, TOKENIZER, TEXTS)
    shards = []
    for k in range(2):
        path = tmp_path / f'{k}.safetensors'
        part = TEXTS.texts[k::2]
        write_dump(path, dump_losses(model, TOKENIZER, TEXTS, part))
        shards.append(read_dump(path))
    joined = merge_dumps(shards[::-1], TEXTS)
    assert joined.info == whole.info
    for text, expected in zip(joined.texts, whole.texts):
        assert text.text_id == expected.text_id
        assert text.sha256 == expected.sha256
        np.testing.assert_allclose(text.losses, expected.losses, atol=1e-5)
        assert text.spans == expected.spans


class Stopping(Exact):
    left = 100

    def row_scores(self, rows):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().row_scores(rows)


def in_chunks(engine, folder, texts=MANY, progress=iter, **settings):
    """A dump of texts, whose chunks lie in a folder."""
    return score_in_chunks(
        partial(dump_losses, engine, TOKENIZER, texts, **settings),
        texts.texts, folder, progress)


def losses_of(dump):
    return [text.losses.tolist() for text in dump.texts]


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(dumping, 'CHUNK', 3)


@pytest.fixture
def stopped(tmp_path, small_chunks):
    """A folder in which two of four chunks lie."""
    folder = tmp_path / 'runs/chunks'
    engine = Stopping()
    engine.left = 4  # two calls are the trial of the engine
    with pytest.raises(KeyboardInterrupt):
        in_chunks(engine, folder)
    assert {file.name
            for file in folder.iterdir()
            } == {'0.safetensors', '1.safetensors'}
    return folder


def n_calls(engine, folder, texts=MANY, **settings):
    """Calls that score: those of the trial are left out."""
    in_chunks(engine, folder, texts, **settings)
    return max(0, len(engine.calls) - 2)


def test_the_rest_is_scored(stopped, tmp_path):
    again = shutil.copytree(stopped, tmp_path / 'again')
    assert n_calls(Exact(), again) == 2
    seen = []
    dump = in_chunks(
        Exact(),
        stopped,
        progress=lambda chunks: seen.extend(chunks) or chunks)
    assert seen == [0, 1, 2, 3]
    whole = in_chunks(Exact(), tmp_path / 'whole')
    assert dump.info == whole.info
    assert losses_of(dump) == losses_of(whole)
    assert [text.text_id for text in dump.texts] == list(MANY.ids)
    assert n_calls(Exact(), stopped) == 0


@pytest.mark.parametrize('damage', ['cut', 'removed', 'foreign'])
def test_a_damaged_chunk_is_scored_again(stopped, damage):
    file = stopped / '1.safetensors'
    content = file.read_bytes()
    other = (stopped / '0.safetensors').read_bytes()
    damaged = {'cut': content[:-40], 'foreign': other}
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


def test_chunks_of_another_scoring_are_scored_again(stopped):
    first, *others = MANY.texts
    changed = TextSet((Text(first.text_id, first.text + '!'), *others))
    assert n_calls(Exact(), stopped, changed) == 4
    assert n_calls(Exact(), stopped, context=50) == 4
    assert n_calls(OtherVersion(), stopped) == 4
    assert read_dump(stopped / '0.safetensors').info.versions['exact'] == '2'


def test_answers_alone():
    texts = TextSet((Text('t', 'a cat sat', answer=(6, 9)), ))
    dump = dump_losses(models.make('llama'), TOKENIZER, texts)
    text, = answers_alone(dump, texts).texts
    inside = text.spans.ends > 6
    assert 0 < inside.sum() < len(inside)
    assert np.isfinite(text.losses).tolist() == inside.tolist()
