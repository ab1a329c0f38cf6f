from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid

from csv_plugin.core.conventions import InputError
from tools.studies import yard
from tools.studies.one_model.model import OneModel
from tools.studies.one_model.posterior import Posterior
from tools.studies.one_model.settings import Settings


@pytest.fixture(scope='module')
def models() -> yard.Models:
    """24 models of six families on eight units and three benchmarks."""
    rng = np.random.default_rng(5)
    skill = rng.normal(size=24)
    losses = np.exp(1 - .2 * skill[:, None] + .05 * rng.normal(size=(24, 8)))
    slopes = np.array([1., .6, 1.4])
    accuracies = .25 + .75 / (1 + np.exp(1 - np.outer(skill, slopes)))
    accuracies += rng.normal(0, .01, accuracies.shape)
    accuracies[3, 1] = np.nan
    return yard.Models(losses, accuracies, np.repeat([*'abcdef'], 4),
                       np.full(3, .25), np.array([500., 500., 0.]))


@pytest.fixture(scope='module')
def with_answers(models: yard.Models) -> yard.Models:
    """The same; two benchmarks have own answers of 7 and 4 tokens."""
    rng = np.random.default_rng(6)
    answers = []
    for column, n_tokens in zip(models.accuracies.T, (7, 0, 4)):
        skill = np.nan_to_num(column, nan=.5)[:, None]
        noise = rng.normal(0, .2, (24, n_tokens))
        answers.append(np.exp(1 - 6 * skill + noise))
    return replace(models, answers=tuple(answers))


def test_the_density_of_an_interval_is_one_in_all() -> None:
    forecast = yard.Forecast(*np.array([.5, .45, .7])[:, None, None])
    places = np.linspace(-20, 20, 400001)[:, None]
    density = np.exp(yard.log_scores(places, forecast))[:, 0]
    assert trapezoid(density, places[:, 0]) == pytest.approx(1, abs=1e-3)


def test_the_ends_of_an_interval_are_quantiles() -> None:
    forecast = yard.Forecast(*np.array([.5, .4, .6])[:, None, None])
    places = np.linspace(.4, .6, 20001)[:, None]
    density = np.exp(yard.log_scores(places, forecast))[:, 0]
    assert trapezoid(density, places[:, 0]) == pytest.approx(.9, abs=1e-3)


def test_figures_are_kept(tmp_path) -> None:
    row = yard.Figures('few models', 'x, 9 models', 'm', 3, -5., 1., .9, 8.,
                       2.)
    yard.write(tmp_path / 'a.csv', [row])
    assert yard.read(tmp_path / 'a.csv') == [row]


def test_the_table_compares_with_the_first_method() -> None:
    row = yard.Figures('few models', 'x', 'base', 3, -5., 1., .9, 8., 2.)
    better = row._replace(method='new', log_error=-5 + np.log(.5), score=1.25)
    cells = yard.table([row, better], 'base').splitlines()[3].split('|')
    assert [cell.strip() for cell in cells[2:6]] == ['new', '1', '0.500',
                                                     '+0.25']  # yapf: disable


@pytest.mark.parametrize('kind', ['models', 'with_answers'])
@pytest.mark.parametrize('name', ['evidence_cost', 'left_out_cost'])
def test_gradients_are_finite_differences(request, kind: str,
                                          name: str) -> None:
    fitted = request.getfixturevalue(kind)
    part = OneModel(fitted, Settings(groups=2)).posterior
    cost, line = getattr(part, name), part.line()
    _, gradient = cost(part.hyper, line)
    for place, step in enumerate(1e-5 * np.eye(len(part.hyper))):
        up, down = (
            cost(part.hyper + sign * step, line)[0] for sign in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(
            gradient[place], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize('kind', ['models', 'with_answers'])
def test_families_left_out_are_refits(request, kind: str) -> None:
    """In closed form as by a solution without the family."""
    models = request.getfixturevalue(kind)
    model = OneModel(models)
    part = model.posterior
    mean, variance = part.families_out()
    out = models.families == 'c'
    rest = Posterior(
        part.place.take(~out), models.accuracies[~out], models.n_items,
        part.floor, part.settings)
    rest.follow(part.shares)
    rest.worst, rest.hyper = part.worst, part.hyper
    rest.parts = [p[:, ~out][:, :, ~out] for p in part.parts]
    kernel = rest._apply(part.hyper)
    rest.solution = rest._solve(
        kernel,
        type(part.final)(*(cells[~out] for cells in part.final)))
    rest.dual = rest.solution.dual
    model.posterior = rest
    found = model.exponents(models.losses[out],
                            [part[out] for part in models.answers])
    for ours, theirs in zip((mean, variance), found):
        assert ours[out] == pytest.approx(theirs, rel=1e-8, abs=1e-8)


def test_units_of_losses_change_nothing(models: yard.Models) -> None:
    first = OneModel(models).predict(models.losses)
    bits = replace(models, losses=models.losses / np.log(2))
    second = OneModel(bits).predict(bits.losses)
    for ours, theirs in zip(first, second):
        assert ours == pytest.approx(theirs, abs=1e-7)


def test_own_answers_of_no_benchmark_change_nothing(
        models: yard.Models) -> None:
    empty = replace(models, answers=(np.zeros((24, 0)), ) * 3)
    first = OneModel(models).predict(models.losses)
    second = OneModel(empty).predict(models.losses, answers=empty.answers)
    for ours, theirs in zip(first, second):
        assert ours == pytest.approx(theirs, abs=1e-10)


def test_a_benchmark_follows_its_own_answers_alone(
        with_answers: yard.Models) -> None:
    model = OneModel(with_answers)
    part = model.posterior
    assert list(model.scale.own) == [1, 0, 2]
    assert part.shares.sum(axis=0) == pytest.approx(1)
    assert part.shares[1, 0] > 0 and part.shares[2, 2] > 0
    assert part.shares[[1, 1, 2, 2], [1, 2, 0, 1]] == pytest.approx(0)
    # Another benchmark's answers do not matter.
    changed = [answers.copy() for answers in with_answers.answers]
    changed[2] *= 2
    before, after = (
        model.predict(with_answers.losses, answers=answers).values
        for answers in (with_answers.answers, changed))
    assert after[:, :2] == pytest.approx(before[:, :2], abs=1e-12)
    assert (after[:, 2] < before[:, 2]).all()


def test_other_tokens_of_answers_are_refused(
        with_answers: yard.Models) -> None:
    model = OneModel(with_answers)
    with pytest.raises(InputError, match=r'\[7, 0, 4\] .* found \[\]'):
        model.predict(with_answers.losses)


def test_exponents_are_sums_over_tokens(with_answers: yard.Models) -> None:
    """One weight a token, but for the bend."""
    model = OneModel(with_answers)
    part = model.posterior
    part.amounts[2] = 0
    phi = np.log1p(with_answers.answers[0] / model.settings.knee)
    steps = np.zeros((3, *phi.shape))
    steps[1, :, 2], steps[2, :, 2] = .2, .4
    exponents = [
        model.exponents(
            with_answers.losses,
            [model.settings.knee * np.expm1(phi + step),
             *with_answers.answers[1:]])[0][:, 0] for step in steps
    ]  # yapf: disable
    slopes = exponents[1] - exponents[0]
    assert slopes == pytest.approx(slopes[0], abs=1e-10)
    assert exponents[2] - exponents[1] == pytest.approx(slopes, abs=1e-10)
