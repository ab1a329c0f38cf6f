"""Runs of one recipe that are told apart, counted."""
import numpy as np

from tests.runs import dump, model_losses, train
from tools.studies import seeds_study as study
from tools.demo_maker.recipes import TrainingRecipe


def test_runs_are_told_apart_with_the_noise_of_others_or_not():
    skills = np.repeat([0.2, 0.8], 4) + 0.001 * np.arange(8)
    dumps = [dump(f'm{i}', model_losses(s)) for i, s in enumerate(skills)]
    found = study.decided(dumps, train(('easy', )), 5)
    assert [*found] == ['loss', 'predicted easy', 'verdict']
    alone, as_recipes = found['loss']
    assert alone[0, 7] and alone[7, 0] and not alone.diagonal().any()
    assert not as_recipes.any()


def test_several_runs_of_one_recipe_are_seldom_told_apart(monkeypatch):
    monkeypatch.setattr(study, 'SPLITS', 20)
    skills = np.random.default_rng(0).normal(.6, .05, 10)
    dumps = [dump(f'm{i}', model_losses(s)) for i, s in enumerate(skills)]
    found = study.decided_of_several(dumps, train(('easy', )), 3)
    assert [*found] == ['loss', 'predicted easy', 'verdict']
    assert max(found.values()) <= 15


def test_the_interval_draws_runs():
    """One run differs from all others: it is in 7 of 28 pairs, or in none."""
    apart = np.zeros((8, 8), bool)
    apart[0] = apart[:, 0] = np.arange(8) > 0
    assert study.share(apart).startswith('25.0 (0.0 - ')
    assert study.share(~np.eye(8, dtype=bool)) == '100.0 (100.0 - 100.0)'


def test_runs_that_are_complete_are_kept(tmp_path):
    recipe = TrainingRecipe(tokens=2000, tokenizer_chars=20_000)
    first, second = study.train(tmp_path, range(2), recipe)
    assert not np.array_equal(first.texts[0].losses, second.texts[0].losses)
    place = tmp_path / 'seed1.safetensors'
    changed = place.stat().st_mtime_ns
    study.train(tmp_path, range(2), recipe)
    assert place.stat().st_mtime_ns == changed
