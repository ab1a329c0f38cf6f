"""Builds a validation set from a recipe, with a record of how it was made."""
import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from csv_plugin import __version__
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.text_sets import write_texts
from csv_plugin.oc.validation_set.benchmark_texts import (Subtask,
                                                          load_subtask,
                                                          load_worked_examples)
from csv_plugin.oc.validation_set.dataset_configs import read_config
from csv_plugin.oc.validation_set.dataset_loading import (DataMissingError,
                                                          LoaderError)
from csv_plugin.oc.validation_set.text_recipes import TextSource
from csv_plugin.oc.validation_set.text_sampling import Sample, sample_texts

TEXTS, MANIFEST = 'texts.jsonl', 'manifest.json'
WORKED_EXAMPLES = 'worked examples of the prompt'
UNKNOWN = 'unknown'


@dataclass(frozen=True)
class ValidationSet:
    """Texts and how they were made.

    Args:
        texts (TextSet): In the order of source, sub-task and place in the
            split.
        manifest (dict[str, Any]): See docs/validation_sets.md.
    """
    texts: TextSet
    manifest: dict[str, Any]


def build_validation_set(recipe: Sequence[TextSource],
                         seed: int = 0,
                         skip_missing: bool = False,
                         progress: Progress = iter) -> ValidationSet:
    """Draw the texts of a validation set.

    Args:
        recipe (Sequence[TextSource]): Sources with different names.
        seed (int): Another seed draws other items.
        skip_missing (bool): Go on without the sources that cannot be loaded.
        progress (Progress): Shows how many sub-tasks are loaded.

    Returns:
        ValidationSet: The same for the same data, recipe and seed.

    Raises:
        InputError: If a dataset config cannot be used, if data is missing or
            a loader fails (all such sources are named), or if a source has
            too few items.
    """
    configs = {source.name: read_config(source.dataset) for source in recipe}
    subtasks, skipped = _load(recipe, configs, progress)
    loadable = len(skipped) < len(recipe)
    if skipped and not (skip_missing and loadable):
        reasons = '; '.join(f'{name} ({why})' for name, why in skipped.items())
        raise InputError(
            'the recipe', 'datasets that can be loaded',
            f'{len(skipped)} that cannot: {reasons}',
            'Fetch or repair their data as OpenCompass describes it' +
            (', or leave them out with --skip-missing.' if loadable else '.'))
    seen: set[str] = set()
    samples = {
        source.name: sample_texts(source, subtasks[source.name], seed, seen)
        for source in recipe if source.name not in skipped
    }
    texts = TextSet(
        tuple(
            replace(text, licence=_licence(text, configs[name]))
            for name, sample in samples.items() for text in sample.texts))
    manifest = dict(
        fingerprint=texts.fingerprint,
        n_texts=len(texts),
        seed=seed,
        versions=dict(
            csv_plugin=__version__, opencompass=version('opencompass')),
        recipe=[asdict(source) for source in recipe],
        sources=[
            _record(source, configs[source.name], subtasks[source.name],
                    samples[source.name]) for source in recipe
            if source.name in samples
        ],
        skipped=skipped)
    return ValidationSet(texts, manifest)


def write_validation_set(folder: FilePath,
                         validation_set: ValidationSet) -> None:
    """Write `texts.jsonl`, then `manifest.json`, each whole or not at all.

    Args:
        folder (FilePath): Is made if it does not exist.
        validation_set (ValidationSet): What to write.
    """
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    # If the writing is interrupted, no old manifest stays beside new texts.
    (out / MANIFEST).unlink(missing_ok=True)
    write_texts(out / TEXTS, validation_set.texts)
    record = json.dumps(validation_set.manifest, indent=1, ensure_ascii=False)
    write_text(out / MANIFEST, record + '\n')


def _load(
        recipe: Sequence[TextSource], configs: dict[str, dict[str, Any]],
        progress: Progress) -> tuple[dict[str, list[Subtask]], dict[str, str]]:
    """Sub-tasks by source, and by source the reason it cannot be loaded."""
    loaded: dict[str, list[Subtask]] = {source.name: [] for source in recipe}
    skipped: dict[str, str] = {}
    jobs = [(source, name, config) for source in recipe
            for name, config in configs[source.name].items()]
    for source, name, config in progress(jobs):
        if source.name in skipped:
            continue
        load = (
            load_worked_examples if source.chain_of_thought else load_subtask)
        try:
            loaded[source.name].append(load(name, config))
        except DataMissingError as error:
            skipped[source.name] = f'{name}: missing: {error}'
        except LoaderError as error:
            skipped[source.name] = f'{name}: failed to load: {error}'
        except InputError as error:
            raise InputError(f'dataset {source.dataset!r}, {name}',
                             'a dataset that can be used',
                             f'this error: {error}',
                             'Choose another dataset config.') from error
    return loaded, skipped


def _record(source: TextSource, configs: dict[str, Any],
            subtasks: Sequence[Subtask], sample: Sample) -> dict[str, Any]:
    """What the manifest says of a source."""
    counts = Counter(map(_subtask_name, sample.texts))
    used = [configs[name] for name in counts]
    return dict(
        name=source.name,
        dataset=source.dataset,
        split=WORKED_EXAMPLES if source.chain_of_thought else _distinct(
            config['reader_cfg'].get('test_split', 'test') for config in used),
        licence=_distinct(licence(config.get('path', '')) for config in used),
        n_texts=len(sample.texts),
        n_subtasks=len(counts),
        subtasks=dict(counts),
        n_unanswered=sum(subtask.n_unanswered for subtask in subtasks),
        passed_over=sample.passed_over)


def _distinct(names: Iterable[str]) -> str:
    """Every name once, in the order of its first occurrence."""
    return ', '.join(dict.fromkeys(names))


def _licence(text: Text, configs: dict[str, Any]) -> str:
    """The licence of a text; empty if it is not known."""
    known = licence(configs[_subtask_name(text)].get('path', ''))
    return '' if known == UNKNOWN else known


def _subtask_name(text: Text) -> str:
    return text.text_id.partition('/')[2].rpartition('/')[0]


def licence(path: str) -> str:
    """The licence of a dataset's texts.

    Args:
        path (str): The `path` of the dataset in OpenCompass's configs.

    Returns:
        str: The name of the licence, or 'unknown'.

    >>> licence('opencompass/gsm8k'), licence('elsewhere')
    ('MIT', 'unknown')
    """
    return _licences().get(path, UNKNOWN)


@cache
def _licences() -> dict[str, str]:
    table = files('csv_plugin.data').joinpath('licences.csv')
    rows = csv.DictReader(table.read_text('utf-8').splitlines())
    return {row['path']: row['licence'] for row in rows}
