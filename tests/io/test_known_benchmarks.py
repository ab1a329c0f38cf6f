"""The shipped table of benchmarks, and chance levels beside it."""
import json
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.known_benchmarks import benchmark_infos, known_benchmarks
from csv_plugin.io.tables import BenchmarkInfo

DATA = Path(__file__).parents[3] / 'shared/data'
NAMES = sorted(known_benchmarks())
# BBH tasks whose two answers are not listed as (A) and (B).
TWO_ANSWERS = ('boolean_expressions', 'causal_judgement', 'formal_fallacies',
               'navigate', 'sports_understanding', 'web_of_lies')
FREE_ANSWERS = ('dyck_languages', 'multistep_arithmetic_two',
                'object_counting', 'word_sorting')


def test_chance_levels():
    shipped = known_benchmarks()
    for name in ('mmlu', 'hellaswag', 'ceval', 'ceval-test', 'cmmlu'):
        assert shipped[name].chance == .25
    for name in ('gsm8k', 'math', 'openai_humaneval', 'mbpp', 'triviaqa'):
        assert shipped[name].chance == 0
    assert all(info.main for info in shipped.values())


def test_names_are_those_of_opencompass():
    host = find_spec('opencompass')
    if host is None:
        pytest.skip('OpenCompass is not installed')
    configs = Path(host.submodule_search_locations[0], 'configs')
    text = '\n'.join(
        path.read_text('utf-8')
        for folder in ('datasets', 'summarizers/groups')
        for path in (configs / folder).rglob('*.py'))
    names = set(re.findall(r"(?:abbr=|'name': )'([^']+)'", text))
    # Its configuration composes the name in a loop.
    assert "abbr='GPQA_' + split" in text and "'diamond'" in text
    assert set(NAMES) - {'GPQA_diamond'} <= names


def _shared(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip(f'no benchmark data at ../shared/data/{name}')
    return DATA / name


def test_chance_and_items_of_bbh():
    chance, n_items = [], 0
    for path in (_shared('BBH') / 'data').glob('*.json'):
        questions = [
            item['input']
            for item in json.loads(path.read_text('utf-8'))['examples']
        ]
        n_items += len(questions)
        chance.append(_task_chance(path.stem, questions))
    assert len(chance) == 27
    assert known_benchmarks()['bbh'] == BenchmarkInfo(
        round(float(np.mean(chance)), 3), n_items, True)


def _task_chance(task: str, questions: list[str]) -> float:
    if task in TWO_ANSWERS or task in FREE_ANSWERS:
        return 0.5 if task in TWO_ANSWERS else 0
    n_options = [
        len(re.findall(r'^\([A-Z]\)', question, re.M))
        for question in questions
    ]
    return float(np.mean(1 / np.array(n_options)))


def test_given_levels_come_before_known_ones():
    shipped = known_benchmarks()
    infos = benchmark_infos(['mine', 'bbh', 'mmlu'], dict(bbh=.1, mine=.5))
    assert list(infos) == ['mine', 'bbh', 'mmlu']
    assert infos['mine'] == BenchmarkInfo(.5, 0, True)
    assert infos['bbh'] == BenchmarkInfo(0.1, 6511, True)
    assert infos['mmlu'] == shipped['mmlu']


@pytest.mark.parametrize('names, chance, message', [
    (['x', 'mmlu', 'y'], {}, 'none for x, y. .* --chance x=0.25 y='),
    (['mmlu', 'bbh'], dict(mmul=.25), "one of mmlu, bbh, found 'mmul'"),
    (['x'], dict(x=1.), "'x': expected a number in 0..1, below 1, found 1"),
    (['x'], dict(x=float('nan')), "'x': .*found nan"),
])
def test_levels_that_are_missing_or_cannot_be(names, chance, message):
    with pytest.raises(InputError, match=message):
        benchmark_infos(names, chance)
