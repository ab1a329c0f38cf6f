"""Results that OpenCompass stores of each model."""
import json

import numpy as np
import pytest

from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import read_dump, write_dump
from tests.oc import tiny


@pytest.fixture
def run(model_folder, tmp_path):
    entry = salience_texts(tiny.save_texts(tmp_path / 'texts.jsonl'))
    model = tiny.model_config(model_folder)
    folder = tiny.infer(tmp_path, model, entry)
    return model, entry, folder / f'{entry["abbr"]}.safetensors'


def test_numbers_of_a_model(run, tmp_path):
    model, entry, dump = run
    texts = read_dump(dump).texts
    losses = np.concatenate([text.losses for text in texts])
    answers = np.concatenate([
        (losses.spans.starts < len(text.text[:text.answer[1]].encode()))
        & (losses.spans.ends > 4) if text.answer else np.zeros(
            len(losses.spans), bool)
        for text, losses in zip(tiny.TEXTS, texts)
    ])
    result = tiny.evaluate(tmp_path, model, entry)
    n_bytes = sum(len(text.text.encode()) for text in tiny.TEXTS)
    expected = dict(
        all_token_loss=losses.mean(),
        label_token_loss=losses[answers].mean(),
        bits_per_byte=losses.sum() / np.log(2) / n_bytes,
        n_texts=42,
        n_scored=len(losses),
        n_unscored=0)
    assert list(result) == list(expected)
    assert result == pytest.approx(expected)


def test_without_answers_and_without_a_first_token(model_folder, tmp_path):
    texts = TextSet((Text('a', 'cats and dogs'), Text('b', '天气')))
    entry = salience_texts(tiny.save_texts(tmp_path / 't.jsonl', texts))
    tokenizer = dict(bos_token=None, eos_token=None, pad_token='a')
    model = tiny.model_config(model_folder, tokenizer_kwargs=tokenizer)
    folder = tiny.infer(tmp_path, model, entry)
    dump = read_dump(folder / f'{entry["abbr"]}.safetensors')
    result = tiny.evaluate(tmp_path, model, entry)
    assert 'label_token_loss' not in result
    assert (result['n_texts'], result['n_unscored']) == (2, 2)
    assert result['n_scored'] == sum(len(text.losses)
                                     for text in dump.texts) - 2


def test_fewer_predictions_than_texts(run, tmp_path):
    model, entry, dump = run
    file = dump.with_suffix('.json')
    rows = json.loads(file.read_text())
    rows.pop('41')
    file.write_text(json.dumps(rows))
    with pytest.raises(InputError, match="'tiny'.*42 texts.*41.*dataset_size"):
        tiny.evaluate(tmp_path, model, entry)


def test_a_dump_of_other_texts(run, tmp_path):
    model, entry, dump = run
    whole = read_dump(dump)
    write_dump(dump, type(whole)(whole.info, whole.texts[1:]))
    with pytest.raises(InputError, match="dump of 'tiny'.*no losses on 't0'"):
        tiny.evaluate(tmp_path, model, entry)
