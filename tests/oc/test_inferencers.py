"""Dumps that the host's tasks write, also when they are killed."""
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from opencompass.models import HuggingFaceBaseModel
from opencompass.registry import MODELS

from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.core.conventions import InputError
from csv_plugin.io.dumps import merge_dumps, read_dump
from csv_plugin.lm import dumping
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.oc import inferencers
from tests.oc import tiny


@pytest.fixture
def entry(tmp_path):
    return salience_texts(tiny.save_texts(tmp_path / 'texts.jsonl'))


@pytest.fixture
def scored(monkeypatch):
    """Ids of the texts that are scored, one list per call."""
    calls = []
    score = inferencers.get_token_loss

    def record(model, texts, part, **settings):
        calls.append([text.text_id for text in part])
        return score(model, texts, part, **settings)

    monkeypatch.setattr(inferencers, 'get_token_loss', record)
    return calls


def config(folder, wrap=True):
    model = tiny.model_config(folder)
    return tiny.wrapped(model) if wrap else model


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_settings_that_do_not_exist_are_refused():
    inferencers.TokenLossInferencer(None, context=64, max_out_len=1)
    with pytest.raises(InputError, match='no setting but context.* entropy'):
        inferencers.TokenLossInferencer(None, entropy=True)


def test_a_dump_and_its_entries(model_folder, entry, tmp_path):
    entry['infer_cfg']['inferencer']['context'] = 64
    folder = tiny.infer(tmp_path, config(model_folder), entry)
    stem = entry['abbr']
    assert set(files(folder)) == {f'{stem}.json', f'{stem}.safetensors'}
    dump = merge_dumps([read_dump(folder / f'{stem}.safetensors')], tiny.TEXTS)
    model = MODELS.build(
        dict(type=HuggingFaceBaseModel, path=str(model_folder)))
    expected = dump_losses(
        model.model, model.tokenizer, tiny.TEXTS, context=64)
    assert dump.info == replace(expected.info, folder='tiny')
    assert dump.info.model == str(model_folder)
    rows = json.loads((folder / f'{stem}.json').read_text())
    assert list(rows) == [str(i) for i in range(len(tiny.TEXTS))]
    for row, text, ours, theirs in zip(rows.values(), tiny.TEXTS, dump.texts,
                                       expected.texts):
        np.testing.assert_allclose(ours.losses, theirs.losses, atol=1e-5)
        # A `prediction` would go through a model's postprocessor.
        assert row == dict(text_id=text.text_id, dump=f'{stem}.safetensors')


def test_parts_of_a_partitioned_run(model_folder, entry, tmp_path):
    for part, test_range in enumerate(('[0:17]', '[17: 34]', '[34:51]')):
        of_part = dict(
            entry,
            abbr=f'{entry["abbr"]}_{part}',
            reader_cfg=dict(entry['reader_cfg'], test_range=test_range))
        folder = tiny.infer(tmp_path, config(model_folder), of_part)
    parts = [
        read_dump(folder / f'{entry["abbr"]}_{part}.safetensors')
        for part in range(3)
    ]
    assert [len(part.texts) for part in parts] == [17, 17, 8]
    merge_dumps(parts, tiny.TEXTS)
    result = tiny.evaluate(tmp_path, config(model_folder), entry)
    assert result['n_texts'] == 42


def stop_after(n_chunks, monkeypatch):
    write = dumping.write_dump

    def stop(file, dump):
        write(file, dump)
        if file.name == f'{n_chunks - 1}.safetensors':
            raise KeyboardInterrupt

    monkeypatch.setattr(dumping, 'write_dump', stop)


@pytest.mark.slow
def test_a_stopped_run_goes_on_where_it_was(model_folder, entry, tmp_path,
                                            scored, monkeypatch):
    monkeypatch.setattr(dumping, 'CHUNK', 6)
    model = config(model_folder)
    whole = files(tiny.infer(tmp_path / 'whole', model, entry))
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        with pytest.raises(KeyboardInterrupt):
            tiny.infer(tmp_path / 'stopped', model, entry)
    folder = tmp_path / 'stopped/predictions' / model['abbr']
    journal = folder / f'tmp_{entry["abbr"]}'
    assert set(
        files(journal)) == {'0.safetensors', '1.safetensors', '2.safetensors'}
    assert os.listdir(folder) == [journal.name]
    # A crash of the whole machine may tear a file.
    torn = journal / '1.safetensors'
    torn.write_bytes(torn.read_bytes()[:-40])
    scored.clear()
    tiny.infer(tmp_path / 'stopped', model, entry)
    assert files(folder) == whole
    assert [part[:1] for part in scored] == [[], ['t1'], ['t3'], ['t4'],
                                             ['t5'], ['t6']]


def test_only_the_first_process_of_torchrun_scores(model_folder, entry,
                                                   tmp_path, monkeypatch):
    monkeypatch.setenv('RANK', '1')
    assert not files(tiny.infer(tmp_path, config(model_folder), entry))
    monkeypatch.setenv('RANK', '0')
    assert files(tiny.infer(tmp_path, config(model_folder), entry))
