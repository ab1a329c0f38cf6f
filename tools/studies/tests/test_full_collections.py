from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import csv_plugin as cp
from tools.studies import full_collections as full
from tools.studies.yard import METHODS, Forecast, Models

SHARED, PUBLIC = Path('../shared/real'), Path('outputs')


@pytest.fixture
def collection() -> full.Full:
    """24 models of twelve families of unlike sizes, and two benchmarks."""
    rng = np.random.default_rng(0)
    families = np.repeat([*'abcdefghijkl'], [6, 4, 3, 2, 2, *[1] * 7])
    accuracies = rng.uniform(.3, .9, (24, 2))
    accuracies[5, 1] = np.nan
    values = Models(
        rng.uniform(1, 2, (24, 3)), accuracies, families, np.full(2, .25),
        np.full(2, 100), np.full(3, ''))
    splits = np.array(['train'] * 12 + ['val'] * 4 + ['test'] * 8)
    names = tuple(f'model {i}' for i in range(24))
    return full.Full(names, ('first', 'second'), values, splits)


def check_apart(protocol: full.Protocol) -> None:
    """No model is fitted to and predicted at once, and none twice."""
    times = np.zeros(len(protocol.full.models), int)
    for fitted, predicted in protocol.fits:
        assert fitted.any() and predicted.any()
        assert not (fitted & predicted).any()
        times += predicted
    assert times.max() == 1


def check_families_apart(protocol: full.Protocol) -> None:
    """Every model is predicted, always from other families."""
    families = protocol.full.values.families
    predicted = np.sum([pair[1] for pair in protocol.fits], axis=0)
    assert (predicted == 1).all()
    assert len(protocol.fits) == min(full.PARTS, len(set(families)))
    for fitted, rows in protocol.fits:
        assert (fitted | rows).all()
        assert not {*families[fitted]} & {*families[rows]}


def test_a_split_is_predicted_from_the_others(collection: full.Full) -> None:
    protocol = full.by_split('x', collection, ['train', 'val'], 'test')
    check_apart(protocol)
    fitted, predicted = protocol.fits[0]
    assert [*np.flatnonzero(fitted)] == [*range(16)]
    assert [*np.flatnonzero(predicted)] == [*range(16, 24)]
    trial = protocol.trials[0]
    assert (trial.predicted.losses == collection.values.losses[16:]).all()
    assert trial.fitted.losses.shape == (16, 3)
    assert [*trial.judged] == [0, 1]


def test_splits_without_models_are_refused(collection: full.Full) -> None:
    with pytest.raises(cp.InputError, match="'validation'"):
        full.by_split('x', collection, full.TRAINING, 'test')


def test_families_are_left_out_in_balanced_groups(
        collection: full.Full) -> None:
    protocol = full.families_out('x', collection)
    check_apart(protocol)
    check_families_apart(protocol)
    sizes = [int(predicted.sum()) for _, predicted in protocol.fits]
    # The largest family has six models, and the groups share the others.
    assert sorted(sizes) == [2, 2, 2, 2, 3, 3, 4, 6]


def test_models_without_a_degradation_are_always_fitted_to() -> None:
    protocol = full.degradations_out('x', full.of_real_models(True))
    check_apart(protocol)
    kinds = protocol.full.splits
    assert len(protocol.fits) == 5
    for fitted, predicted in protocol.fits:
        assert fitted[kinds == ''].all()
        assert len({*kinds[predicted]}) == 1
        assert (fitted | predicted).all()


def test_figures_are_over_the_cells_of_all_fits(
        collection: full.Full, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that errs by a fifth of the first loss of each model."""
    values = collection.values
    errors = dict(zip(values.losses[:, 0], values.accuracies))

    def known(_: Models, predicted: Models) -> Forecast:
        off = predicted.losses[:, :1] / 5
        found = np.array([errors[loss] for loss in predicted.losses[:, 0]])
        return Forecast(found + off, found + off - .3, found + off + .1)

    monkeypatch.setitem(METHODS, 'known', known)
    rows = full.figures(full.families_out('x', collection), 'known')
    off = values.losses[:, 0] / 5
    seen = np.arange(24) != 5
    assert [row.benchmark for row in rows] == ['first', 'second']
    assert [row.cells for row in rows] == [24, 23]
    assert rows[0].mse == pytest.approx(np.mean(off**2))
    assert rows[1].mse == pytest.approx(np.mean(off[seen]**2))
    assert rows[1].mae == pytest.approx(100 * np.mean(off[seen]))
    assert rows[1].coverage == pytest.approx(np.mean(off[seen] <= .3))
    assert rows[1].width == pytest.approx(40)
    whole = full.summary(rows)
    assert np.exp(whole.log_mse) == pytest.approx(
        np.sqrt(rows[0].mse * rows[1].mse))
    assert whole.mae == pytest.approx(
        (24 * rows[0].mae + 23 * rows[1].mae) / 47)


def test_figures_are_kept(tmp_path: Path) -> None:
    rows = [full.Row('x, split', 'b', 3, 1e-4, 1., 2., .9, 8., 2.)]
    full.write(tmp_path / 'a.csv', rows)
    assert full.read(tmp_path / 'a.csv') == rows


def test_the_last_row_compares_protocols_that_both_methods_ran() -> None:
    base = full.Summary(np.log(4e-4), 1., 1., .9, 8., 2.)
    half = base._replace(log_mse=np.log(2e-4), score=1.5, width=4.)
    twice = base._replace(log_mse=np.log(8e-4), coverage=.8)
    found = {
        'before': {name: base for name in 'xyz'},
        'new': {'x': half, 'y': twice},
    }  # yapf: disable
    lines = full.comparison(found).splitlines()
    cells = [cell.strip() for cell in lines[-1].split('|')[1:-1]]
    assert cells == [
        'all 2', 'new', '1.000', '0.850', '0.900', '0.71', '+0.25', '4', '4'
    ]


def kept_names() -> Sequence[str]:
    return list(full.summaries(full.read(full.path_of('before', Path()))))


@pytest.mark.slow
@pytest.mark.skipif(
    not (SHARED.exists() and (PUBLIC / 'ladder').exists()),
    reason='needs ../shared/real and the tables of public_tables.py')
def test_protocols_cover_what_they_say() -> None:
    everything = {
        protocol.name: protocol
        for protocol in full.protocols(SHARED, PUBLIC)
    }
    assert list(everything) == kept_names()
    for name, protocol in everything.items():
        check_apart(protocol)
        if name.endswith(('families out', 'series out')):
            check_families_apart(protocol)
        kept = [row for row in full.read(full.path_of('before', Path()))
                if row.protocol == name]  # yapf: disable
        observed = np.concatenate(
            [trial.predicted.accuracies for trial in protocol.trials])
        assert [row.benchmark for row in kept] == [*protocol.full.benchmarks]
        assert [row.cells
                for row in kept] == [*(~np.isnan(observed)).sum(axis=0)]
    sizes = {
        name: [(int(fitted.sum()), int(predicted.sum()))
               for fitted, predicted in protocol.fits]
        for name, protocol in everything.items() if len(protocol.fits) == 1
    }
    assert sizes == {
        'public models, split': [(62, 27)],
        'dclm, 7B': [(58, 8)],
        'dclm, over': [(54, 4)],
        'ladder, split': [(360, 24)],
        'mixtures, split': [(529, 6)],
        'overtrained, split': [(95, 9)],
        'gemstones, split': [(144, 36)],
        'demonstration, split': [(172, 80)],
    }
    gemstones = everything['gemstones, split'].trials[0]
    assert gemstones.fitted.losses.shape == (144, 34412)
