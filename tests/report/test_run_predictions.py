"""From a run's files to predictions, or to one line that says why not."""
from dataclasses import replace
from pathlib import Path

import pytest

from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Auto, Uniform
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.runs import run_dumps
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.report import run_predictions
from csv_plugin.report.run_predictions import compare, predict_run
from tests.runs import (FITTED, OTHER_TEXTS, TEXTS, model_losses, train,
                        write_losses, write_run)

MODELS = {'new': 1.1, 'fit-4': FITTED['fit-4'], 'far': 9.0}


@pytest.fixture(scope='module')
def predictor() -> Predictor:
    return train()


@pytest.fixture
def run(tmp_path, predictor) -> Path:
    write_run(tmp_path, MODELS)
    save_predictor(predictor, tmp_path / 'p')
    return tmp_path


def one(run: Path, models=MODELS, path: str = 'p'):
    [found] = predict_run(run, list(models), [('predicted', str(run / path))])
    return found


def test_predictions_are_those_of_the_dumps(run, predictor):
    found = one(run)
    assert found.benchmarks == ('easy', 'hard')
    expected = predictor.predict_losses(
        {
            m: model_losses(skill)
            for m, skill in MODELS.items()
        }, TEXTS.fingerprint)
    for model in MODELS:
        for benchmark in found.benchmarks:
            cell = found.at(model, benchmark)
            wanted = expected.at(model, benchmark)
            # Dumps are in 32 bits.
            assert cell.value == pytest.approx(wanted.value, abs=1e-5)
            assert cell.in_sample == (model == 'fit-4')
            assert cell.extrapolated == (model == 'far')


def test_one_bad_dump_leaves_the_others(run):
    name = f'{dataset_abbr(TEXTS.fingerprint)}.parquet'
    path = run / 'predictions' / 'new' / name
    path.write_bytes(b'PAR1')
    found = one(run, [*MODELS, 'none'])
    assert found.at('new', 'easy') == found.at('new', 'hard')
    assert str(path) in found.at('new', 'easy')
    assert 'found none' in found.at('none', 'easy')
    assert found.at('far', 'easy').value > 0


def test_incomplete_dump(run):
    write_losses(run, 'new', model_losses(1)[:3])
    assert "losses on text 't3', found none" in one(run).at('new', 'easy')


def test_dump_with_the_name_of_another(run):
    """The whole fingerprint counts, not just the file's name."""
    folder = run / 'predictions' / 'new'
    write_losses(run, 'new', model_losses(1, OTHER_TEXTS), OTHER_TEXTS)
    other = folder / f'{dataset_abbr(OTHER_TEXTS.fingerprint)}.parquet'
    other.replace(folder / f'{dataset_abbr(TEXTS.fingerprint)}.parquet')
    why = one(run).at('new', 'easy')
    assert TEXTS.fingerprint in why and OTHER_TEXTS.fingerprint in why


def test_reasons_are_one_line(run, monkeypatch):

    def fail(*arguments):
        raise run_predictions.InputError('a', 'b\n  c', 'd', 'e')

    monkeypatch.setattr(run_predictions, 'read_run_dump', fail)
    assert one(run).at('new', 'easy') == 'a: expected b c, found d. e'


@pytest.mark.parametrize('content', [None, b'', b'\0' * 40])
def test_unusable_predictor(run, content):
    path = run / 'bad'
    if content is not None:
        path.write_bytes(content)
    good, bad = predict_run(run, list(MODELS), [('p', str(run / 'p')),
                                                ('bad', str(path))])
    assert str(path) in bad.at('new', 'easy')
    assert bad.benchmarks == () and bad.remarks == []
    assert good.at('new', 'easy').value > 0


def test_truncated_predictor(run):
    content = (run / 'p').read_bytes()
    (run / 'p').write_bytes(content[:len(content) // 2])
    assert str(run / 'p') in one(run).at('new', 'easy')


def test_predictor_without_tokens(run):
    save_predictor(replace(train(), targets=None, matrix=None), run / 'old')
    assert 'made from tokens' in one(run, path='old').at('new', 'easy')


def test_predictors_of_two_validation_sets(run):
    save_predictor(train(texts=OTHER_TEXTS), run / 'o')
    paths = [('here', str(run / 'p')), ('there', str(run / 'o'))]
    here, there = predict_run(run, list(MODELS), paths)
    assert here.at('new', 'easy').value > 0
    assert dataset_abbr(TEXTS.fingerprint) in there.at('new', 'easy')
    assert dataset_abbr(OTHER_TEXTS.fingerprint) in there.at('new', 'easy')
    write_losses(run, 'new', model_losses(1.1, OTHER_TEXTS), OTHER_TEXTS)
    _, there = predict_run(run, list(MODELS), paths)
    assert there.at('new', 'easy').value > 0


def test_a_dump_is_read_once(run, monkeypatch):
    read = []
    real = run_dumps.read_dump
    monkeypatch.setattr(run_dumps, 'read_dump',
                        lambda path: read.append(path) or real(path))
    seen = []
    predict_run(run, list(MODELS),
                [(f'p{i}', str(run / 'p')) for i in range(3)],
                lambda models: map(lambda m: seen.append(m) or m, models))
    assert seen == list(MODELS)
    assert len(read) == len(MODELS)


def test_compare(run):
    save_predictor(train(('easy', ), Uniform()), run / 'u')
    found = predict_run(run, list(MODELS), [('predicted', str(run / 'p')),
                                            ('all-token', str(run / 'u'))])
    shown = {f'{model}!': model for model in MODELS}
    real = {
        (model, benchmark): 10.0
        for model in shown
        for benchmark in ('easy', 'hard')
    }
    board = compare(shown, real, found)
    assert board.models == tuple(shown)
    assert board.benchmarks == ('easy', 'hard')
    assert board.labels == ('predicted', 'all-token')
    assert board.predicted['predicted', 'new!',
                           'hard'] == found[0].at('new', 'hard')
    assert board.predicted['all-token', 'new!', 'hard'] == (
        'the predictor does not know the benchmark')
    assert board.remarks == (f'predicted: {run / "p"}',
                             f'all-token: {run / "u"}')


def test_what_could_not_be_learned_is_said(run):
    save_predictor(train(('easy', 'hard'), shift=9), run / 'c')
    _, *remarks = one(run, path='c').remarks
    assert len(remarks) == 2
    assert remarks[0].startswith('predicted, easy: predicted by the mean')
    # How weights were chosen is no matter of a summary.
    save_predictor(train(solver=Auto()), run / 'a')
    found = one(run, path='a')
    assert all(known.notes for known in found.predictor.benchmarks)
    assert found.remarks == [f'predicted: {run / "a"}']


def test_no_usable_predictor(run):
    found = one(run, path='none')
    board = compare(MODELS, {}, [found])
    assert board.benchmarks == ()
    [remark] = board.remarks
    assert remark.startswith('predicted: ') and str(run / 'none') in remark
