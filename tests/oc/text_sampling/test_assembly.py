"""Validation sets of several benchmarks, and what is recorded of them."""
import re
from collections import Counter
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped
from csv_plugin.lm.tokens.tokenization import tokenize_all
from csv_plugin.oc.text_sampling.assembly import build_validation_set, licence
from csv_plugin.oc.text_sampling.drawing import REPEATED
from csv_plugin.oc.text_sampling.recipes import (PAPER_RECIPE, SOURCES,
                                                 TextSource)
from tests.oc.text_sampling import invented
from tools.studies.zoo.zoo_files import tokenizer_folder

CONFIGS = 'opencompass.configs.datasets'
SHARED = Path(__file__).resolve().parents[4] / 'shared'
RECIPE = (TextSource('sums', 'gsm8k_gen_17d0dc',
                     3), TextSource('bbh', 'bbh_gen_98fba6', 30),
          TextSource('chains', 'bbh_gen_98fba6', 60, True))


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / 'cache'
    invented.gsm8k(folder, *[f'How many are {i}?' for i in range(5)])
    invented.bbh(folder, 3)
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(folder))
    monkeypatch.setattr('opencompass.utils.datasets.DEFAULT_DATA_FOLDER',
                        str(tmp_path / 'default'))
    return folder


def test_texts_and_manifest(data):
    jobs = []

    def progress(loaded):
        jobs.extend(loaded)
        return loaded

    built = build_validation_set(RECIPE, seed=3, progress=progress)
    assert len(jobs) == 1 + 27 + 27
    sources = [text.source for text in built.texts]
    assert Counter(sources) == dict(sums=3, bbh=30, chains=60)
    assert sources == sorted(sources, key=['sums', 'bbh', 'chains'].index)
    manifest = built.manifest
    assert manifest['fingerprint'] == built.texts.fingerprint
    assert (manifest['n_texts'], manifest['seed'],
            manifest['skipped']) == (93, 3, {})
    assert manifest['versions']['opencompass']
    assert [TextSource(**s) for s in manifest['recipe']] == list(RECIPE)
    sums, bbh, chains = manifest['sources']
    assert sums['split'] == bbh['split'] == 'test' != chains['split']
    assert sums['licence'] == 'MIT' and sums['subtasks'] == {'gsm8k': 3}
    assert bbh['dataset'] == 'bbh_gen_98fba6'
    assert set(bbh['subtasks'].values()) == {1, 2}
    assert (bbh['n_subtasks'], chains['n_subtasks']) == (27, 27)
    # Six of the tasks share their examples with another.
    repeated, = chains['passed_over'].values()
    assert all('_objects/' in text_id for text_id in repeated)


def test_a_source_does_not_disturb_the_others(data):
    alone = build_validation_set(RECIPE[:1]).texts
    assert build_validation_set(RECIPE).texts.texts[:3] == alone.texts
    assert build_validation_set(RECIPE[:1], 1).texts.ids != alone.ids


def test_sources_share_no_text(data):
    twice = [TextSource(name, 'gsm8k_gen_17d0dc', 3) for name in 'ab']
    with pytest.raises(InputError, match="'b': expected 3 items, found 2 .3 "):
        build_validation_set(twice)


@pytest.mark.slow
def test_all_missing_data_is_named(data):
    recipe = (*RECIPE, SOURCES['mmlu'], SOURCES['hellaswag'])
    with pytest.raises(
            InputError,
            match='2 that cannot: mmlu .*: missing: .*; hellaswag .*--skip'):
        build_validation_set(recipe)
    built = build_validation_set(recipe, skip_missing=True)
    assert built.texts == build_validation_set(RECIPE).texts
    assert list(built.manifest['skipped']) == ['mmlu', 'hellaswag']
    assert 'opencompass/mmlu' in built.manifest['skipped']['mmlu']
    assert len(built.manifest['recipe']) == 5
    for skip in (True, False):
        with pytest.raises(InputError, match='1 that cannot: ') as raised:
            build_validation_set((SOURCES['mmlu'], ), skip_missing=skip)
        assert '--skip' not in str(raised.value)


def test_permissive_licences_only(data, tmp_path):
    """Sources of other licences are left out, and need no data."""
    own = tmp_path / 'own.py'
    own.write_text(MIXED.replace('BBH', repr(str(tmp_path))))
    recipe = (SOURCES['cmmlu'], RECIPE[0], TextSource('own', str(own), 9))
    built = build_validation_set(recipe, permissive=True)
    assert built.texts == build_validation_set(RECIPE[:1]).texts
    assert set(built.texts.licences.values()) == {'MIT'}
    assert built.manifest['skipped'] == {
        'cmmlu': 'not permissive: CC BY-NC-SA 4.0',
        'own': 'not permissive: MIT, unknown'
    }
    with pytest.raises(InputError, match='cmmlu .not permissive: CC BY-NC'):
        build_validation_set(recipe[:1], permissive=True)


def test_a_loader_that_fails_is_told_apart(data):
    (data / 'data/BBH/data/navigate.json').write_text('{')
    with pytest.raises(
            InputError, match='bbh .navigate: failed to load: JSONDec'):
        build_validation_set(RECIPE)
    built = build_validation_set(RECIPE, skip_missing=True)
    assert list(built.manifest['skipped']) == ['bbh']


MIXED = '''from mmengine.config import read_base
with read_base():
    from opencompass.configs.datasets.gsm8k.gsm8k_gen_17d0dc import \\
        gsm8k_datasets
    from opencompass.configs.datasets.bbh.bbh_gen_98fba6 import bbh_datasets
gsm8k_datasets[0]['reader_cfg']['test_split'] = 'train'
mixed_datasets = [gsm8k_datasets[0], bbh_datasets[0], bbh_datasets[1]]
mixed_datasets[1]['path'] = BBH
del gsm8k_datasets, bbh_datasets
'''


def test_licences_and_splits_of_all_subtasks(data, tmp_path):
    path = tmp_path / 'mixed.py'
    bbh = str(data / 'data' / 'BBH' / 'data')
    path.write_text(MIXED.replace('BBH', repr(bbh)))
    mixed, = build_validation_set([TextSource('x', str(path),
                                              9)]).manifest['sources']
    assert list(mixed['subtasks'].values()) == [3, 3, 3]
    assert mixed['split'] == 'train, test'
    assert mixed['licence'] == 'MIT, unknown'


def test_unanswered_items_are_left_out(data, tmp_path):
    """Names of C-Eval's sub-tasks are not unique."""
    invented.ceval(data, 2)
    (tmp_path / 'law.py').write_text(
        'from mmengine.config import read_base\n'
        'with read_base():\n'
        f'    from {CONFIGS}.ceval.ceval_ppl_1cd8bf import ceval_datasets\n'
        "law_datasets = [d for d in ceval_datasets if d['name'] == 'law']\n"
        'del ceval_datasets\n')
    built = build_validation_set(
        [TextSource('law', str(tmp_path / 'law.py'), 2)])
    law, = built.manifest['sources']
    assert law['subtasks'] == {'ceval-law': 2}
    assert law['split'] == 'val'
    assert built.texts.ids == ('law/ceval-law/0', 'law/ceval-law/1')


def test_licences():
    assert licence('opencompass/cmmlu') == 'CC BY-NC-SA 4.0'
    assert licence('somewhere') == licence('') == 'unknown'


@pytest.mark.slow
@pytest.mark.skipif(
    not (SHARED / 'data').is_dir(),
    reason='the benchmark data is not at ../shared/data')
def test_the_recipe_of_the_paper(monkeypatch):
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(SHARED))
    built = build_validation_set(PAPER_RECIPE, skip_missing=True)
    texts = built.texts
    n_texts = dict(mmlu=100, bbh=100, gsm8k=100, cmmlu=100, bbh_cot=50)
    if 'hellaswag' not in built.manifest['skipped']:
        n_texts['hellaswag'] = 100
    assert Counter(text.source for text in texts) == n_texts
    for source in built.manifest['sources']:
        counts = Counter(source['subtasks'].values())
        assert source['n_subtasks'] == dict(
            mmlu=57, bbh=27, cmmlu=67, bbh_cot=27).get(source['name'], 1)
        assert max(counts) - min(counts) <= (1 if source['name'] != 'bbh_cot'
                                             else 2)
        assert set(source['passed_over']) <= {REPEATED}
    assert len({text.text for text in texts}) == len(texts)
    for text in texts:
        check(text)
    for series in 'abcd':
        tokenizer = AutoTokenizer.from_pretrained(
            tokenizer_folder(shipped.ZOO, series))
        assert len(tokenize_all(tokenizer, texts.texts)) == len(texts)


def check(text):
    """A text that a person would read on."""
    start, end = text.answer
    prompt, answer = text.text[:start], text.text[start:end]
    assert end == len(text.text) and answer == answer.strip()
    assert text.text == text.text.strip()
    assert not re.search('[\0-\x08\x0b-\x1f\x7f\ue000-\uf8ff\ufffd]',
                         text.text)
    for debris in ('</E>', '####', '<<', 'HUMAN', 'BOT', '{input}',
                   '{question}', '\nNone\n', 'Follow the given examples',
                   'multiple choice questions', '单项选择题，请'):
        assert debris not in text.text, text.text
    assert len(prompt) > 10 and prompt[-1] in ' \n'
    kind = dict(
        mmlu='[ABCD]', cmmlu='[ABCD]', hellaswag='[ABCD]').get(text.source)
    if kind:
        assert len(answer) == 1 and answer in 'ABCD'
    if text.source == 'bbh':
        assert prompt.endswith('\nA: ') and '\n' not in answer
    if text.source == 'gsm8k':
        assert answer.splitlines()[-1].startswith('The answer is ')
