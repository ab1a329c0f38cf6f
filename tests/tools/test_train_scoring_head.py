"""From runs or a collection to a predictor and its report."""
import csv
import sys
from dataclasses import replace

import pytest

from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io import collections
from csv_plugin.io.collections import read_collection
from csv_plugin.io.dumps import TokenLossDump, read_dump, write_dump
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.run_dumps import dataset_abbr
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts

ROOT = shipped.ZOO.parents[2]
SCORING = [
    '--scoring-lm',
    str(shipped.SCORING_LM), '--tokenizer',
    str(shipped.SCORING_TOKENIZER)
]


@pytest.fixture
def main(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / 'tools'))
    sys.modules.pop('train_scoring_head', None)
    import train_scoring_head
    return train_scoring_head.main


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """An OpenCompass run of 24 checkpoints: 12 texts, one benchmark."""
    root = tmp_path_factory.mktemp('run')
    whole = read_collection(shipped.COLLECTION)
    texts = TextSet(tuple(t for t in whole.texts if t.source == 'scenes')[:12])
    chosen = [
        f'{series}-{size}@{percent}' for series in 'abcd'
        for size in ('xs', 'm') for percent in (35, 65, 100)
    ]
    scores = whole.accuracies.select(chosen).column('scenes')
    for model in chosen:
        dump = read_dump(shipped.COLLECTION / f'{model}.parquet')
        info = replace(dump.info, fingerprint=texts.fingerprint)
        part = [t for t in dump.texts if t.text_id in texts.ids]
        folder = root / 'predictions' / model
        folder.mkdir(parents=True)
        write_dump(folder / f'{dataset_abbr(texts.fingerprint)}.parquet',
                   TokenLossDump(info, tuple(part)))
    (root / 'summary').mkdir()
    write_csv(root / 'summary/summary_1.csv',
              ('dataset', 'version', 'metric', 'mode', *chosen),
              [('scenes', '1f', 'accuracy', 'ppl', *(100 * scores))])
    write_texts(root / collections.TEXTS, texts)
    write_csv(root / collections.MODELS, ('model', 'family', 'split'),
              [(m, m[0], 'test' if m[0] == 'd' else 'train') for m in chosen])
    write_csv(root / collections.BENCHMARKS,
              ('benchmark', 'chance', 'n_items'), [('scenes', .25, 240)])
    return root


def tables(run):
    names = dict(
        texts=collections.TEXTS,
        models=collections.MODELS,
        benchmarks=collections.BENCHMARKS)
    return [x for n in names for x in (f'--{n}', str(run / names[n]))]


def test_from_runs_to_a_predictor(main, run, tmp_path, capsys):
    arguments = ['--runs', str(run), *tables(run), *SCORING, '--fit', 'train']
    assert main([*arguments, '--out', str(tmp_path / 'new')]) == 0
    assert '6 models predicted from 18' in capsys.readouterr().out
    out = tmp_path / 'new'
    report = (out / 'report.md').read_text('utf-8')
    assert all(name in report for name in ('auto', 'uniform', 'label-token'))
    assert 'd-m@100' in (out / 'leaderboard.md').read_text('utf-8')
    with (out / 'predictions.csv').open(encoding='utf-8') as file:
        rows = {row['model']: row for row in csv.DictReader(file)}
    assert rows['a-m@65']['in_sample'] == '1'
    assert rows['d-m@65']['in_sample'] == '0'
    predictor = load_predictor(out / 'predictor.safetensors')
    collection = read_collection(out / 'collection')
    found = predictor.predict_losses(collection.losses,
                                     collection.texts.fingerprint)
    for model in ('a-m@65', 'd-m@65'):
        assert found.at(model, 'scenes').value == pytest.approx(
            float(rows[model]['predicted']))
    # And from the collection, the same.
    again = tmp_path / 'again'
    assert main([
        '--collection',
        str(out / 'collection'), *SCORING, '--fit', 'train', '--out',
        str(again)
    ]) == 0
    assert (again /
            'predictions.csv').read_text() == (out /
                                               'predictions.csv').read_text()


@pytest.mark.parametrize('change, message', [
    (['--models', 'nowhere.csv'], 'nowhere.csv'),
    (['--fit', 'validation'], "models in split 'validation'"),
])
def test_bad_input_is_one_line(main, run, tmp_path, capsys, change, message):
    arguments = ['--runs', str(run), *tables(run), *SCORING, *change]
    assert main([*arguments, '--out', str(tmp_path / 'new')]) == 2
    error = capsys.readouterr().err
    assert message in error.splitlines()[-1]


def test_runs_need_their_tables(main, run, tmp_path, capsys):
    assert main(['--runs', str(run), *SCORING, '--out', str(tmp_path)]) == 2
    assert '--texts, --models and --benchmarks' in capsys.readouterr().err
