"""Folders of dumps and scores."""
import numpy as np
import pytest

from csv_plugin.core.errors import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.collections import collect_runs, read_collection
from csv_plugin.io.dumps import DumpInfo, TokenLossDump, write_dump
from csv_plugin.io.run_dumps import dataset_abbr
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


def make_runs(tmp_path):
    """Two runs that hold different models, and the tables beside them."""
    tables = tmp_path / 'tables'
    tables.mkdir()
    write_folder(tables)
    for number, models in ((1, ['m@1', 'm@2']), (2, ['n'])):
        run = tmp_path / f'run{number}'
        (run / 'summary').mkdir(parents=True)
        (run / 'summary/summary_1.csv').write_text(
            f'dataset,version,metric,mode,{",".join(models)}\n'
            f'exam,1f,accuracy,gen,{",".join(["25.0"] * len(models))}\n')
        for model in models:
            folder = run / 'predictions' / model
            folder.mkdir(parents=True)
            (tables / f'{model}.parquet').rename(
                folder / f'{dataset_abbr(TEXTS.fingerprint)}.parquet')
    names = ('texts.jsonl', 'models.csv', 'benchmarks.csv')
    return [tmp_path / 'run1', tmp_path / 'run2'], [tables / n for n in names]


def test_runs_become_a_collection(tmp_path):
    runs, tables = make_runs(tmp_path)
    collect_runs(tmp_path / 'new/collection', runs, *tables)
    found = read_collection(tmp_path / 'new/collection')
    assert list(found.losses) == list(MODELS)
    np.testing.assert_array_equal(found.accuracies.column('exam'), [.25] * 3)
    assert [losses[0].losses[0]
            for losses in found.losses.values()] == [.5, 1.5, 2.5]


def test_what_is_missing_is_named_before_anything_is_written(tmp_path):
    runs, tables = make_runs(tmp_path)
    with pytest.raises(InputError, match="losses of 'n'.*run1.*found none"):
        collect_runs(tmp_path / 'new', runs[:1], *tables)
    tables[2].write_text('benchmark,chance,n_items\nquiz,0,9\n')
    with pytest.raises(InputError, match="a score on 'quiz'"):
        collect_runs(tmp_path / 'new', runs, *tables)
    assert not (tmp_path / 'new').exists()
