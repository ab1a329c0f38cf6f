"""Draws a validation set from a recipe, with a record of how it was made."""
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple, TypeVar

from csv_plugin import __version__
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.text_sampling.host_datasets import (benchmark_name,
                                                           read_config)
from csv_plugin.extras.text_sampling.prompts import (Subtask, load_subtask,
                                                     load_worked_examples,
                                                     question, squeeze)
from csv_plugin.io.text_sets import subtask_name

_T = TypeVar('_T')

#: Reasons for which an item that was drawn is not used.
SHOWN_AS_EXAMPLE = 'prompts show it as an example'
REPEATED = 'an earlier text is the same'


@dataclass(frozen=True)
class TextSource:
    """A benchmark, and how many of its items are drawn.

    The label-token loss of a benchmark is computed on the source of the same
    name. With `chain_of_thought`, items are the worked examples in the prompts
    and not those of the test split. `dataset`: see
    `host_datasets.find_config`.
    """
    name: str
    dataset: str
    count: int
    chain_of_thought: bool = False


#: The paper's benchmarks by name. The paper takes either C-Eval or CMMLU.
SOURCES = {
    'mmlu': TextSource('mmlu', 'mmlu_ppl_ac766d', 100),
    'bbh': TextSource('bbh', 'bbh_gen_98fba6', 100),
    'gsm8k': TextSource('gsm8k', 'gsm8k_gen_17d0dc', 100),
    'hellaswag': TextSource('hellaswag', 'hellaswag_10shot_ppl_59c85e', 100),
    'cmmlu': TextSource('cmmlu', 'cmmlu_ppl_041cbf', 100),
    'ceval': TextSource('ceval', 'ceval_ppl_1cd8bf', 100),
    'bbh_cot':
    TextSource('bbh_cot', 'bbh_gen_98fba6', 50, chain_of_thought=True),
}

#: The 550 texts of the paper (section 4.1). CMMLU is taken rather than C-Eval
#: because its test split has answers.
PAPER_RECIPE = tuple(SOURCES[name] for name in SOURCES if name != 'ceval')


def recipe_of_samples(
        samples: Sequence[tuple[str, int]]) -> tuple[TextSource, ...]:
    """Return the recipe of names and counts from the command line.

    A name is a key of `SOURCES`, or a dataset config, whose source is then
    called after its benchmark (`host_datasets.benchmark_name`).
    """
    recipe = []
    for name, count in samples:
        source = SOURCES.get(name) or TextSource(benchmark_name(name), name, 1)
        recipe.append(replace(source, count=count))
    check_unique('sources of --sample', [source.name for source in recipe])
    return tuple(recipe)


class ValidationSet(NamedTuple):
    """Texts by source, sub-task and place, and their manifest."""
    texts: TextSet
    manifest: dict[str, Any]


def build_validation_set(recipe: Sequence[TextSource],
                         seed: int = 0,
                         progress: Progress = iter) -> ValidationSet:
    """Draw the texts of a validation set.

    It is the same for the same data, recipe and seed. `progress` wraps the
    sub-tasks that are loaded.
    """
    configs = {source.name: read_config(source.dataset) for source in recipe}
    subtasks = _load(recipe, configs, progress)
    seen: set[str] = set()
    texts: list[Text] = []
    records = []
    for source in recipe:
        drawn, passed_over = sample_texts(source, subtasks[source.name], seed,
                                          seen)
        texts += drawn
        counts = Counter(map(subtask_name, drawn))
        records.append(
            dict(
                name=source.name,
                dataset=source.dataset,
                n_texts=len(drawn),
                n_subtasks=len(counts),
                subtasks=dict(counts),
                passed_over=passed_over))
    text_set = TextSet(tuple(texts))
    manifest = dict(
        fingerprint=text_set.fingerprint,
        n_texts=len(texts),
        seed=seed,
        versions=dict(
            csv_plugin=__version__, opencompass=version('opencompass')),
        recipe=[asdict(source) for source in recipe],
        sources=records)
    return ValidationSet(text_set, manifest)


def _load(recipe: Sequence[TextSource], configs: dict[str, dict[str, Any]],
          progress: Progress) -> dict[str, list[Subtask]]:
    """Sub-tasks by source; one error lists all sources that have none."""
    loaded: dict[str, list[Subtask]] = defaultdict(list)
    failed: dict[str, str] = {}
    jobs = []
    for source in recipe:
        for name, config in configs[source.name].items():
            jobs.append((source, name, config))
    for source, name, config in progress(jobs):
        if source.name in failed:
            continue
        load = load_subtask
        if source.chain_of_thought:
            load = load_worked_examples
        try:
            loaded[source.name].append(load(name, config))
        except InputError as error:
            failed[source.name] = f'{name}: {error}'
    if failed:
        reasons = '; '.join(f'{name} ({why})' for name, why in failed.items())
        raise InputError(
            'the recipe', 'datasets that can be loaded',
            f'{len(failed)} that cannot: {reasons}',
            'Fetch or repair their data as OpenCompass describes it, or '
            'choose other dataset configs.')
    return loaded


def sample_texts(source: TextSource, subtasks: Sequence[Subtask], seed: int,
                 seen: set[str]) -> tuple[list[Text], dict[str, list[str]]]:
    """Draw the texts of a source.

    Sub-tasks take turns, in an order drawn anew each round, so their counts
    differ by one at most unless a sub-task has no more items. Everything is
    drawn in the order of SHA-256 digests of the seed and the names: the order
    is the same on every machine, and other sources do not change it.

    `seen` has all texts drawn before, `squeeze`d, and gets those drawn now.
    Returns texts with ids 'source/sub-task/place', in this order; and the ids
    of the items that were drawn and not used, by reason.
    """
    passed_over: dict[str, list[str]] = defaultdict(list)
    supplies = {}
    texts: dict[str, list[Text]] = {}
    for subtask in subtasks:
        supplies[subtask.name] = _usable(source, subtask, seed, seen,
                                         passed_over)
        texts[subtask.name] = []
    n_texts = 0
    n_round = 0
    while supplies and n_texts < source.count:
        n_round += 1
        for name in _drawn_order(supplies, seed, source.name, n_round):
            text = next(supplies[name], None)
            if text is None:
                del supplies[name]
                continue
            texts[name].append(text)
            n_texts += 1
            if n_texts == source.count:
                break
    if n_texts < source.count:
        found = f'{n_texts}'
        if passed_over:
            reasons = []
            for reason, ids in passed_over.items():
                reasons.append(f'{len(ids)} passed over because {reason}')
            found += f' ({", ".join(reasons)})'
        raise InputError(
            f'source {source.name!r}', f'{source.count} items', found,
            'Ask for fewer.' if n_texts else 'Choose another dataset config.')
    drawn: list[Text] = []
    for taken in texts.values():
        drawn += sorted(taken, key=_place)
    return drawn, dict(passed_over)


def _place(text: Text) -> int:
    """Place of the item of a text, which ends its id."""
    return int(text.text_id.rpartition('/')[2])


def _usable(source: TextSource, subtask: Subtask, seed: int, seen: set[str],
            passed_over: dict[str, list[str]]) -> Iterator[Text]:
    """Texts of a sub-task in the drawn order, without those to pass over."""
    for place in _drawn_order(subtask.items, seed, source.name, subtask.name):
        text_id = f'{source.name}/{subtask.name}/{place}'
        try:
            text = subtask.render(place)
        except Exception as error:  # templates raise errors of any type
            passed_over[f'{type(error).__name__}: {error}'].append(text_id)
            continue
        squeezed = squeeze(text.text)
        if squeeze(question(text)) in subtask.examples:
            passed_over[SHOWN_AS_EXAMPLE].append(text_id)
        elif squeezed in seen:
            passed_over[REPEATED].append(text_id)
        else:
            seen.add(squeezed)
            yield replace(text, text_id=text_id, source=source.name)


def _drawn_order(candidates: Iterable[_T], *names: object) -> list[_T]:
    """Candidates in the order of digests of the names and of each of them."""

    def digest(candidate: _T) -> bytes:
        key = '\0'.join(map(str, (*names, candidate)))
        return hashlib.sha256(key.encode('utf-8')).digest()

    return sorted(candidates, key=digest)
