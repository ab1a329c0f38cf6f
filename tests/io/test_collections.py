"""Folders of dumps and scores."""
import numpy as np
import pytest

from csv_plugin.core.errors import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.collections import read_collection
from csv_plugin.io.dumps import DumpInfo, TokenLossDump, write_dump
from csv_plugin.io.text_sets import write_texts

TEXTS = TextSet((Text('a', 'one', 'x'), Text('b', 'four', 'y')))
MODELS = {'m@1': 'train', 'm@2': 'validation', 'n': 'test'}


def write_folder(folder, scores='model,exam\nm@1,0.5\nn,0.75\n'):
    write_texts(folder / 'texts.jsonl', TEXTS)
    rows = [f'{model},{model[0]},{split}\n' for model, split in MODELS.items()]
    (folder / 'models.csv').write_text('model,family,split\n' + ''.join(rows))
    (folder / 'scores.csv').write_text(scores)
    (folder /
     'benchmarks.csv').write_text('benchmark,chance,n_items\nexam,0.25,40\n')
    for number, model in enumerate(MODELS):
        info = DumpInfo(TEXTS.fingerprint, model, 't', 'none', 'float32', 0, 0,
                        {})
        losses = tuple(
            TokenLosses(
                text.text_id, [number + .5],
                TokenSpans.from_token_bytes([text.text.encode()], text.text),
                len(text.text),
                sha256=text.sha256) for text in reversed(TEXTS.texts))
        write_dump(folder / f'{model}.parquet', TokenLossDump(info, losses))


def test_everything_is_joined_by_model(tmp_path):
    write_folder(tmp_path)
    seen = []
    found = read_collection(tmp_path, lambda models: seen.extend(models) or
                            models)  # yapf: disable
    assert seen == list(MODELS)
    assert found.texts.fingerprint == TEXTS.fingerprint
    assert [t.text_id for t in found.losses['n']] == ['a', 'b']
    assert [losses[0].losses[0]
            for losses in found.losses.values()] == [.5, 1.5, 2.5]
    assert found.accuracies.models == tuple(MODELS)
    np.testing.assert_array_equal(
        found.accuracies.column('exam'), [.5, np.nan, .75])
    assert found.families == {'m@1': 'm', 'm@2': 'm', 'n': 'n'}
    assert found.models_in('train', 'test') == ('m@1', 'n')
    assert list(found.losses_of(['n', 'm@1'])) == ['n', 'm@1']


def test_on_some_texts(tmp_path):
    write_folder(tmp_path)
    part = read_collection(tmp_path).on(TextSet(TEXTS.texts[1:]))
    assert part.texts.ids == ('b', )
    assert [t.text_id for t in part.losses['m@1']] == ['b']


def test_what_does_not_fit_is_refused(tmp_path):
    write_folder(tmp_path, scores='model,exam\nstranger,0.5\n')
    with pytest.raises(InputError, match="models.csv, found 'stranger'"):
        read_collection(tmp_path)
    write_folder(tmp_path)
    with pytest.raises(InputError, match="in split 'other'"):
        read_collection(tmp_path).models_in('other')
    (tmp_path / 'n.parquet').unlink()
    with pytest.raises(InputError, match='n.parquet'):
        read_collection(tmp_path)
