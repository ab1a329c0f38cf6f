"""Recipes in files and on the command line."""
from collections import Counter

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.validation_set.dataset_configs import (benchmark_name,
                                                          find_config)
from csv_plugin.oc.validation_set.text_recipes import (PAPER_RECIPE, SOURCES,
                                                       TextSource, read_recipe,
                                                       recipe_of_samples)
from tests.io.mutations import mutations

RECIPE = """
- {name: sums, dataset: gsm8k_gen_17d0dc, count: 3}
- name: chains
  dataset: bbh_gen_98fba6
  count: 4
  chain_of_thought: true
"""


def test_the_default_is_that_of_the_paper():
    counts = Counter({source.name: source.count for source in PAPER_RECIPE})
    assert counts.total() == 550
    assert counts.pop('bbh_cot') == 50 and set(counts.values()) == {100}
    assert 'ceval' not in counts and len(counts) == 5
    assert [s.name for s in PAPER_RECIPE if s.chain_of_thought] == ['bbh_cot']


@pytest.mark.parametrize('source', SOURCES.values())
def test_known_configs_are_there_and_pinned(source):
    assert find_config(source.dataset).stem == source.dataset
    assert benchmark_name(source.dataset) == source.name.removesuffix('_cot')
    assert len(source.dataset.rpartition('_')[2]) == 6  # a hash


def test_recipe_of_a_file(tmp_path):
    (tmp_path / 'mine.yaml').write_text(RECIPE)
    assert read_recipe(tmp_path / 'mine.yaml') == (TextSource(
        'sums', 'gsm8k_gen_17d0dc',
        3), TextSource('chains', 'bbh_gen_98fba6', 4, True))


@pytest.mark.parametrize('change, message', [
    (('count: 3', 'count: 0'), "count of source 'sums': .*found 0"),
    (('count: 3', 'count: true'), "count of source 'sums': .*found True"),
    (('count: 3', 'n: 3'), 'perhaps .*chain_of_thought.*found .*sums'),
    (('count: 3', 'count: 3, split: dev'), 'found .*dev'),
    (('name: sums', 'name: a/b'), 'without slashes'),
    (('name: sums', "name: ''"), 'without slashes'),
    (('name: sums', 'name: 7'), 'without slashes'),
    (('name: sums', 'name: no'), 'a text without .*found False.*quotation'),
    (('dataset: gsm8k_gen_17d0dc', 'dataset: 7'), "dataset of source 'sums'"),
    (('_thought: true', '_thought: 1'), 'true or false, found 1'),
    (('chains', 'sums'), "'sums' twice"),
    ((RECIPE, 'name: sums'), 'a list of sources'),
    ((RECIPE, '[]'), 'a list of sources'),
    ((RECIPE, '- [sums'), 'expected YAML'),
    ((RECIPE, '- sums'), "found 'sums'"),
    (('count: 3', 'count: 3, count: 4'), "found 'count' twice"),
    (('count: 3', 'count: &a 3'), "the anchor 'a'"),
    (('count: 3', 'count: *a'), "the anchor 'a'"),
    (('count: 3', 'count: !!python/name:os.system 3'), 'the tag .*os.system'),
    (('count: 3', 'count: !!timestamp x'), 'the tag .*timestamp'),
    (('count: 3', 'count: 2026-13-45'), 'month must be in 1..12'),
    (('count: 3', 'count: 0001-01-01 00:00:00 +99:59'), 'strictly between'),
    (('count: 3', 'count: 2026-01-01'), "count of source 'sums': .*date"),
    (('count: 3', f'count: {"9" * 5000}'), 'Exceeds the limit'),
    (('count: 3', 'count: .inf'), "count of source 'sums': .*found inf"),
    (('count: 3', 'count: 1_0.'), "count of source 'sums': .*found 10.0"),
    (('count: 3', '[a]: 3'), 'unhashable key'),
    ((RECIPE, '[' * 900), 'recursion depth'),
    ((RECIPE, f'- {"{a: " * 900}'), 'recursion depth'),
    ((RECIPE, RECIPE * 999), 'recipe of at most 100000 bytes'),
])
def test_bad_recipes(change, message, tmp_path):
    (tmp_path / 'bad.yaml').write_text(RECIPE.replace(*change))
    with pytest.raises(InputError, match=message) as raised:
        read_recipe(tmp_path / 'bad.yaml')
    assert '\n' not in str(raised.value)
    assert 'bad.yaml' in str(raised.value)


def test_references_do_not_make_a_recipe_endless(tmp_path):
    path = tmp_path / 'bomb.yaml'
    path.write_text('- &a0 [x]\n' +
                    ''.join(f'- &a{i + 1} [{", ".join([f"*a{i}"] * 9)}]\n'
                            for i in range(30)))
    with pytest.raises(InputError, match="the anchor 'a0'"):
        read_recipe(path)


def test_damaged_recipes_are_read_or_refused(tmp_path):
    path = tmp_path / 'a.yaml'
    for data in mutations(RECIPE.encode(), 300):
        path.write_bytes(data)
        try:
            assert all(source.count > 0 for source in read_recipe(path))
        except InputError as error:
            assert '\n' not in str(error)


def test_samples():
    assert recipe_of_samples([
        'bbh_cot=5', 'hellaswag_ppl_9dbb12=7', 'tests.oc.tiny=1'
    ]) == (TextSource('bbh_cot', 'bbh_gen_98fba6', 5, True),
           TextSource('hellaswag', 'hellaswag_ppl_9dbb12',
                      7), TextSource('tiny', 'tests.oc.tiny', 1))


@pytest.mark.parametrize('samples, message', [
    (['gsm8k'], 'NAME=COUNT'),
    (['gsm8k=-1'], 'NAME=COUNT'),
    (['gsm8k=1.5'], 'NAME=COUNT'),
    (['=5'], 'NAME=COUNT'),
    (['gsm8k=0'], 'a whole number above 0, found 0'),
    (['gsm8k=5', 'gsm8k_gen_1d7fe4=5'
      ], "gsm8k_gen_1d7fe4=5: .*'gsm8k' twice.*--recipe"),
    (['/tmp/foo=3'], "dataset '/tmp/foo': .*found none"),
    (['a**=2'], "dataset 'a[*][*]': .*found none"),
    (['os.path=3'], "dataset 'os.path': .*found none"),
    (['gsm9k=5'], "dataset 'gsm9k': .*found none"),
])
def test_bad_samples(samples, message):
    with pytest.raises(InputError, match=message):
        recipe_of_samples(samples)
