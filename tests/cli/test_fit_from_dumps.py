"""From runs, dumps or a collection to a predictor and its report."""
import shutil
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from csv_plugin.cli.salience import main
from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.extras import training_files
from csv_plugin.io.collection import read_collection
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.paper import paper_accuracies, paper_models
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from csv_plugin.lm import loading
from csv_plugin.lm.head.paper_head import train_paper_head
from tests.runs import write_summary
from tests.scripts import csv_rows, refusal

SCORING = (f'--scoring-lm {shipped.SCORING_LM} '
           f'--tokenizer {shipped.SCORING_TOKENIZER}')
CHOSEN = [
    f'{series}-{size}@{percent}' for series in 'abcd' for size in ('xs', 'm')
    for percent in (35, 65, 100)
]


@pytest.fixture
def no_pictures(monkeypatch):
    """Drawing them takes longer than all the rest."""
    monkeypatch.setattr(training_files, 'save', lambda *_: None)


def write_parts(folder, models_of, texts):
    """Dumps of the zoo on some texts, under new names."""
    folder.mkdir(exist_ok=True)
    for name, model in models_of.items():
        dump = read_dump(shipped.COLLECTION / f'{model}.safetensors')
        info = replace(dump.info, fingerprint=texts.fingerprint, model=name)
        part = [t for t in dump.texts if t.text_id in texts.ids]
        write_dump(folder / f'{name}.safetensors',
                   TokenLossDump(info, tuple(part)))


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    """A run of 24 checkpoints, 12 texts and one benchmark, and its parts."""
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp('world')
    whole = read_collection(shipped.COLLECTION)
    of_scenes = [text for text in whole.texts if text.source == 'scenes']
    texts = TextSet(tuple(of_scenes[:12]))
    scores = whole.accuracies.select(CHOSEN).column('scenes')
    write_parts(root / 'dumps', {m: m for m in CHOSEN}, texts)
    for model in CHOSEN:
        path = root / 'run/predictions' / model
        path.mkdir(parents=True)
        target = path / f'{dataset_abbr(texts.fingerprint)}.safetensors'
        target.hardlink_to(root / f'dumps/{model}.safetensors')
    write_summary(root / 'run', [('dataset', 'version', 'metric', 'mode',
                                  *CHOSEN),
                                 ('scenes', '1f', 'accuracy', 'ppl',
                                  *map(str, 100 * scores))])  # yapf: disable
    write_texts(root / 'texts.jsonl', texts)
    write_texts(root / 'others.jsonl', TextSet(tuple(of_scenes[1:13])))
    write_csv(
        root / 'models.csv', ('model', 'family', 'split', 'params_b'),
        [(m, m[0], 'test' if m[0] == 'd' else 'train', whole.info[m].params_b)
         for m in CHOSEN])
    write_csv(root / 'unsplit.csv', ('model', 'family'),
              [(m, m[0]) for m in CHOSEN])
    write_csv(root / 'benchmarks.csv', ('benchmark', 'chance', 'n_items'),
              [('scenes', .25, 240)])
    write_csv(root / 'scores.csv', ('model', 'scenes'), zip(CHOSEN, scores))
    return root


def words(world, **changes):
    """Options of a call that works, some of them changed or left out."""
    given = {
        'runs': f'{world}/run',
        'texts': f'{world}/texts.jsonl',
        'models': f'{world}/models.csv',
        'benchmarks': f'{world}/benchmarks.csv',
        'fit': 'train',
        'scoring-lm': shipped.SCORING_LM,
        'tokenizer': shipped.SCORING_TOKENIZER
    } | changes
    options = [f'--{name} {value}' for name, value in given.items() if value]
    return ['fit', *' '.join(options).replace('{}', str(world)).split()]


@pytest.fixture(scope='module')
def made(world, tmp_path_factory):
    out = tmp_path_factory.mktemp('made') / 'new'
    assert main([*words(world), '--keep-collection', f'--out={out}']) == 0
    return out


@pytest.mark.slow
def test_a_collection_appears_with_the_predictor_alone(world, tmp_path,
                                                       no_pictures,
                                                       monkeypatch, capsys):
    monkeypatch.setattr(training_files, 'save_predictor',
                        Mock(side_effect=InputError(*'abcd')))
    assert main([*words(world), '--keep-collection', f'--out={tmp_path}']) == 2
    assert 'a: expected b' in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def rows_of(out):
    rows = [*csv_rows(out / 'predictions.csv'),
            *csv_rows(out / 'in_sample.csv')]  # yapf: disable
    return {row['model']: row for row in rows}


@pytest.mark.slow
def test_from_runs_to_a_predictor(made):
    assert (made / 'pictures/methods.svg').is_file()
    report = (made / 'report.md').read_text('utf-8')
    assert all(
        name in report
        for name in ('6 models predicted from 18', 'salience', 'mean-loss',
                     'Families left out', 'salience fit --runs'))
    board = (made / 'leaderboard.md').read_text('utf-8')
    assert 'd-m@100' in board and 'a-m@100' not in board
    rows = rows_of(made)
    assert set(rows) == {*CHOSEN}
    for model, row in rows.items():
        assert row['in_sample'] == str(int(model[0] != 'd'))
        assert row['split'] == ('test' if model[0] == 'd' else 'train')
    predictor = load_predictor(made / 'predictor.safetensors')
    collection = read_collection(made / 'collection')
    predictions = predictor.predict(collection.losses)
    np.testing.assert_allclose(
        predictions.values[:, 0, 0],
        [float(rows[model]['predicted']) for model in predictions.models])


@pytest.mark.slow
def test_what_is_there_is_told_first(made, tmp_path, no_pictures, capsys):
    """And the collection of an earlier call gives the same again."""
    call = ['fit', '--collection', f'{made}/collection', *SCORING.split()]
    losses = read_collection(made / 'collection').losses
    assert main([*call, '--fit=train', f'--out={tmp_path}/new']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        '24 models, 18 to fit to, losses on 12 texts',
        'scenes: accuracies of 24 of 24 models, 18 of them to fit to',
        '6 models predicted from 18'
    ]
    assert lines[6].startswith('scenes ')
    before, again = (
        load_predictor(folder / 'predictor.safetensors').predict(losses)
        for folder in (made, tmp_path / 'new'))
    np.testing.assert_allclose(again.values, before.values, rtol=0, atol=1e-7)
    # What would be ignored is refused.
    assert 'found --models, --chance' in refusal(capsys, *call,
                                                 '--chance=scenes=0.5',
                                                 '--models=mine.csv',
                                                 f'--out={tmp_path}/other')


@pytest.mark.slow
def test_from_dumps_and_scores(world, made, tmp_path, no_pictures, capsys):
    """Benchmarks by name, with the chance level that the table has.

    And what made the losses is told, if they come from several engines.
    """
    shutil.copytree(world / 'dumps', tmp_path / 'dumps')
    for model, changes in (('a-m@35', dict(engine='vllm')),
                           ('d-m@35', dict(dtype='bfloat16\x1b[2J'))):
        file = tmp_path / f'dumps/{model}.safetensors'
        dump = read_dump(file)
        write_dump(file, replace(dump, info=replace(dump.info, **changes)))
    out = tmp_path / 'out'
    call = words(world, runs='', dumps=f'{tmp_path}/dumps/*', benchmarks='',
                 scores='{}/scores.csv', tasks='scenes', chance='scenes=0.25',
                 out=out)  # yapf: disable
    assert main(call) == 0
    # The number of items is not known here, and so the noise of accuracies.
    np.testing.assert_allclose(
        *([float(row['predicted']) for row in rows_of(folder).values()]
          for folder in (out, made)), atol=.02)  # yapf: disable
    assert not (out / 'collection').exists()
    screen = capsys.readouterr().out
    report = (out / 'report.md').read_text('utf-8')
    assert '\nwarning: models were scored in different ways: ' in screen
    # Of all models, and of those that the benchmark was fitted to.
    assert report.count('models were scored in different ways: ') == 2
    assert r'bfloat16\x1b[2J' in screen and '\x1b' not in screen + report
    [part] = load_predictor(out / 'predictor.safetensors').benchmarks
    assert 'vllm, float32, no cache (a-m@35)' in part.notes[-1]
    assert 'bfloat16' not in part.notes[-1]


@pytest.fixture
def heads(monkeypatch):
    """What the training of heads is given: validation models, settings."""
    seen = []

    def watched(*arguments):
        seen.append(arguments[5:7])
        return train_paper_head(*arguments)

    monkeypatch.setattr('csv_plugin.lm.head.paper_head.train_paper_head',
                        watched)
    return seen


@pytest.mark.slow
def test_the_papers_method_with_settings(world, tmp_path, no_pictures, heads):
    split = {'35': 'train', '65': 'validation', '100': 'test'}
    write_csv(tmp_path / 'models.csv', ('model', 'family', 'split'),
              [(m, m[:2], split[m.split('@')[1]]) for m in CHOSEN])
    assert main([
        *words(world, models=tmp_path / 'models.csv', fit='train validation'),
        *'--method paper --learning-rate .05 --steps 4'.split(),
        f'--out={tmp_path}/new'
    ]) == 0
    for model, row in rows_of(tmp_path / 'new').items():
        assert row['split'] == split[model.split('@')[1]]
        assert row['in_sample'] == str(int(not model.endswith('@100')))
    (validation, settings), = heads
    assert (settings.learning_rate, settings.n_steps) == (.05, 4)
    assert validation == [m for m in CHOSEN if m.endswith('@65')]
    predictor = load_predictor(tmp_path / 'new/predictor.safetensors')
    assert predictor.columns.units == ('loss', 'score of scenes')
    steps = csv_rows(tmp_path / 'new/steps.csv')
    assert [row['step'] for row in steps] == [*'01234']
    # Those of the predictor, which the step with the least error gave.
    errors = [(float(row['predicted']) - float(row['observed']))**2
              for row in rows_of(tmp_path / 'new').values()
              if row['split'] == 'test']
    best = min(steps, key=lambda row: float(row['mse_validation']))
    assert float(best['mse_test']) == pytest.approx(np.mean(errors), rel=.2)
    report = (tmp_path / 'new/report.md').read_text('utf-8')
    assert 'MSE paper' in report and 'MSE salience' not in report


@pytest.mark.slow
def test_code_of_a_model_runs_only_if_told_to(monkeypatch, made, tmp_path):
    seen = []

    def stopped(*arguments):
        seen.append(arguments)
        raise InputError('the model', 'a model', 'none', 'Stop.')

    monkeypatch.setattr(loading, 'load_scoring_lm', stopped)
    call = (f'fit --collection {made}/collection --scoring-lm {made} '
            f'--fit train --out {tmp_path}')
    for more in ('', ' --trust-remote-code'):
        assert main((call + more).split()) == 2
    assert seen == [(str(made), None, False), (str(made), None, True)]


@pytest.mark.slow
def test_the_papers_models_and_scores(world, tmp_path, no_pictures, heads):
    """Losses of other models under their names: no table is needed."""
    few = TextSet(read_collection(shipped.COLLECTION).texts.texts[:4])
    scores = paper_accuracies()
    splits = {name: info.split for name, info in paper_models().items()}
    names = [model for model in splits if model in scores.models]
    zoo = [p.stem for p in sorted(shipped.COLLECTION.glob('*.safetensors'))]
    write_parts(tmp_path / 'dumps', dict(zip(names, zoo)), few)
    write_texts(tmp_path / 'texts.jsonl', few)
    call = (f'fit --dumps {tmp_path}/dumps/* --texts {tmp_path}/texts.jsonl '
            '--scores paper --models paper --tasks gsm8k --method paper '
            f'--steps 2 --out {tmp_path}/new {SCORING}')
    assert main(call.split()) == 0
    (validation, settings), = heads
    assert settings.learning_rate == 1e-3
    assert validation == [m for m in names if splits[m] == 'validation']
    rows = rows_of(tmp_path / 'new')
    assert set(rows) == {*names}
    for model, row in rows.items():
        assert row['split'] == splits[model]
        accuracy = scores.select([model]).column('gsm8k')[0]
        assert row['observed'] == str(float(accuracy))
        assert row['in_sample'] == str(int(row['split'] != 'test'))


GOES_WITH_DUMPS = ('texts', 'models', 'benchmarks')


@pytest.mark.parametrize('left_out', ['', *GOES_WITH_DUMPS])
def test_dumps_need_texts_models_and_benchmarks(tmp_path, capsys, left_out):
    options = [
        f'--{name}={tmp_path / name}' for name in GOES_WITH_DUMPS
        if name != left_out
    ]
    found = refusal(capsys, 'fit', '--dumps', str(tmp_path), *options,
                    f'--out={tmp_path}')  # yapf: disable
    # If all options are given, a file that is not there is named.
    expected = 'expected --texts, --models and --benchmarks or --tasks'
    assert (expected in found) == bool(left_out)
    assert left_out or str(tmp_path / 'models') in found


FROM_DUMPS = dict(runs='', dumps='{}/dumps/*')


@pytest.mark.slow
@pytest.mark.parametrize('changes, message', [
    (dict(texts=''), 'expected --texts, --models and --benchmarks'),
    (dict(FROM_DUMPS, texts='{}/others.jsonl', scores='{}/scores.csv'),
     'the validation set with fingerprint'),
    (FROM_DUMPS, 'a table of accuracies beside them, found none'),
    (dict(chance='scenes=0.25'), 'found --chance'),
    (dict(models='{}/unsplit.csv'), 'found no split of'),
    ({'scoring-lm': '{}/run'}, 'a causal LM and its tokenizer'),
    (dict(method='paper'), 'found 18 to train on and 0 to validate on'),
    ({'learning-rate': '3', 'steps': '3'}, 'found --learning-rate, --steps'),
    ({'scoring-lm': ''}, 'no --scoring-lm: expected none of --tokenizer'),
])  # yapf: disable
def test_bad_input_is_one_line(world, tmp_path, capsys, changes, message):
    call = words(world, **changes, out=tmp_path / 'out')
    assert message in refusal(capsys, *call)
    assert not (tmp_path / 'out/predictor.safetensors').exists()
