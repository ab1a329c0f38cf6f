"""Draw a validation set from a recipe, and record how it was made."""
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

#: Reasons why an item that was drawn is passed over.
SHOWN_AS_EXAMPLE = 'prompts show it as an example'
REPEATED = 'an earlier text is the same'


@dataclass(frozen=True)
class TextSource:
    """A benchmark, and how many of its items are drawn.

    `name` is the name of the source; if it is the name of a benchmark, the
    label-token loss of this benchmark is computed on the texts of this source.
    `dataset` is a dataset config as `host_datasets.find_config` takes it, and
    `count` is the number of items to draw. With `chain_of_thought`, items are
    drawn from the worked examples in the prompts, not from the test split.
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

#: The recipe of the paper's 550 texts (section 4.1). It has CMMLU rather than
#: C-Eval, because the test split of CMMLU has answers.
PAPER_RECIPE = tuple(source for name, source in SOURCES.items()
                     if name != 'ceval')


def recipe_of_samples(
        samples: Sequence[tuple[str, int]]) -> tuple[TextSource, ...]:
    """Return a recipe from the names and counts of the command line.

    A name is a key of `SOURCES` or a dataset config. The source of a dataset
    config has the name `host_datasets.benchmark_name(config)`.
    """
    recipe = []
    names = []
    for name, count in samples:
        if name in SOURCES:
            source = replace(SOURCES[name], count=count)
        else:
            source = TextSource(benchmark_name(name), name, count)
        recipe.append(source)
        names.append(source.name)
    check_unique('sources of --sample', names)
    return tuple(recipe)


class ValidationSet(NamedTuple):
    """Texts, and the manifest that records how they were drawn.

    Texts are ordered by source, sub-task and index of the item.
    """
    texts: TextSet
    manifest: dict[str, Any]


def build_validation_set(recipe: Sequence[TextSource],
                         seed: int = 0,
                         progress: Progress = iter) -> ValidationSet:
    """Draw the texts of a validation set.

    The result depends only on the data, the recipe and the seed. `progress`
    wraps the iteration over the sub-tasks while they are loaded.
    """
    configs = {}
    for source in recipe:
        configs[source.name] = read_config(source.dataset)
    subtasks = _load(recipe, configs, progress)
    seen: set[str] = set()
    texts: list[Text] = []
    records = []
    for source in recipe:
        of_source = subtasks[source.name]
        drawn, passed_over = sample_texts(source, of_source, seed, seen)
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
    """Load the sub-tasks of each source.

    `configs` are the dataset configs by source and sub-task. If some sources
    cannot be loaded, one `InputError` lists them all.
    """
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
            f'{len(failed)} that cannot be loaded: {reasons}',
            'Fetch or repair their data as OpenCompass describes it, or '
            'choose other dataset configs.')
    return loaded


def sample_texts(source: TextSource, subtasks: Sequence[Subtask], seed: int,
                 seen: set[str]) -> tuple[list[Text], dict[str, list[str]]]:
    """Draw the texts of a source.

    In each round, one item is drawn from every sub-task; the sub-tasks take
    turns in an order that changes with the round. So the counts of two
    sub-tasks differ by at most one, unless a sub-task has no more items.
    Sub-tasks and items are drawn in the order of SHA-256 digests of the seed
    and their names. This order is the same on every machine and does not
    depend on other sources.

    `seen` has all earlier texts, in the form that `squeeze` returns; the new
    texts are added to it.

    Returns:
        tuple: The texts, with ids 'source/sub-task/index', ordered by
        sub-task and index; and the ids of the items that were drawn but
        passed over, by the reason.
    """
    passed_over: dict[str, list[str]] = defaultdict(list)
    supplies = {}
    texts: dict[str, list[Text]] = {}
    for subtask in subtasks:
        usable = _usable(source, subtask, seed, seen, passed_over)
        supplies[subtask.name] = usable
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
        remedy = 'Choose another dataset config.'
        if n_texts:
            remedy = 'Ask for fewer items.'
        raise InputError(f'source {source.name!r}', f'{source.count} items',
                         found, remedy)
    drawn: list[Text] = []
    for taken in texts.values():
        drawn += sorted(taken, key=_index_of_item)
    return drawn, dict(passed_over)


def _index_of_item(text: Text) -> int:
    """Return the index of a text's item, the last part of the text's id."""
    _, _, index = text.text_id.rpartition('/')
    return int(index)


def _usable(source: TextSource, subtask: Subtask, seed: int, seen: set[str],
            passed_over: dict[str, list[str]]) -> Iterator[Text]:
    """Yield the usable texts of a sub-task in the order of the draw.

    Items that cannot be used are added to `passed_over`, and the texts that
    are yielded are added to `seen`.
    """
    order = _drawn_order(subtask.items, seed, source.name, subtask.name)
    for index in order:
        text_id = f'{source.name}/{subtask.name}/{index}'
        try:
            text = subtask.render(index)
        except Exception as error:  # templates raise errors of any type
            reason = f'{type(error).__name__}: {error}'
            passed_over[reason].append(text_id)
            continue
        squeezed = squeeze(text.text)
        asked = squeeze(question(text))
        if asked in subtask.examples:
            passed_over[SHOWN_AS_EXAMPLE].append(text_id)
        elif squeezed in seen:
            passed_over[REPEATED].append(text_id)
        else:
            seen.add(squeezed)
            yield replace(text, text_id=text_id, source=source.name)


def _drawn_order(candidates: Iterable[_T], *names: object) -> list[_T]:
    """Return candidates in an order that looks random but is reproducible.

    The candidates are sorted by a digest of `names` and the candidate.
    """

    def digest(candidate: _T) -> bytes:
        key = '\0'.join(map(str, (*names, candidate)))
        return hashlib.sha256(key.encode('utf-8')).digest()

    return sorted(candidates, key=digest)
