"""Builds a validation set from a recipe, with a record of how it was made."""
import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from csv_plugin import __version__
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.licences import is_permissive
from csv_plugin.io.validation_sets import ValidationSet, subtask_name
from csv_plugin.oc.text_sampling.benchmark_texts import (Subtask, load_subtask,
                                                         load_worked_examples)
from csv_plugin.oc.text_sampling.dataset_configs import read_config
from csv_plugin.oc.text_sampling.dataset_loading import (DataMissingError,
                                                         LoaderError)
from csv_plugin.oc.text_sampling.drawing import Sample, sample_texts
from csv_plugin.oc.text_sampling.recipes import TextSource

WORKED_EXAMPLES = 'worked examples of the prompt'
UNKNOWN = 'unknown'


def build_validation_set(recipe: Sequence[TextSource],
                         seed: int = 0,
                         skip_missing: bool = False,
                         progress: Progress = iter,
                         permissive: bool = False) -> ValidationSet:
    """Draw the texts of a validation set.

    Args:
        recipe (Sequence[TextSource]): Sources with different names.
        seed (int): Another seed draws other items.
        skip_missing (bool): Go on without the sources that cannot be loaded.
        progress (Progress): Shows how many sub-tasks are loaded.
        permissive (bool): Go on without the sources whose licence is not
            known to allow any use; see `is_permissive`.

    Returns:
        ValidationSet: The same for the same data, recipe and seed.

    Raises:
        InputError: If a dataset config cannot be used, if data is missing or
            a loader fails (all such sources are named), if a source has too
            few items, or if no source is permissive.
    """
    configs = {source.name: read_config(source.dataset) for source in recipe}
    left_out = {
        name: f'not permissive: {_licences_of(parts.values())}'
        for name, parts in configs.items() if permissive and not all(
            is_permissive(_licence_of(part)) for part in parts.values())
    }
    wanted = [source for source in recipe if source.name not in left_out]
    if not wanted:
        raise InputError(
            'the recipe', 'a source whose licence allows any use',
            _listed(left_out),
            'Choose other sources, leave out --permissive, or take the texts '
            'of --shipped.')
    subtasks, skipped = _load(wanted, configs, progress)
    loadable = len(skipped) < len(wanted)
    if skipped and not (skip_missing and loadable):
        raise InputError(
            'the recipe', 'datasets that can be loaded',
            f'{len(skipped)} that cannot: {_listed(skipped)}',
            'Fetch or repair their data as OpenCompass describes it' +
            (', or leave them out with --skip-missing.' if loadable else '.'))
    seen: set[str] = set()
    samples = {
        source.name: sample_texts(source, subtasks[source.name], seed, seen)
        for source in wanted if source.name not in skipped
    }
    texts = TextSet(
        tuple(
            _licensed(text, configs[name][subtask_name(text)])
            for name, sample in samples.items() for text in sample.texts))
    manifest = dict(
        fingerprint=texts.fingerprint,
        n_texts=len(texts),
        seed=seed,
        versions=dict(
            csv_plugin=__version__, opencompass=version('opencompass')),
        recipe=[asdict(source) for source in recipe],
        sources=[
            _record(source, configs[source.name], samples[source.name])
            for source in recipe if source.name in samples
        ],
        skipped=left_out | skipped)
    return ValidationSet(texts, manifest)


def _listed(reasons: Mapping[str, str]) -> str:
    return '; '.join(f'{name} ({why})' for name, why in reasons.items())


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
            sample: Sample) -> dict[str, Any]:
    """What the manifest says of a source."""
    counts = Counter(map(subtask_name, sample.texts))
    used = [configs[name] for name in counts]
    splits = [
        config['reader_cfg'].get('test_split', 'test') for config in used
    ]
    return dict(
        name=source.name,
        dataset=source.dataset,
        split=WORKED_EXAMPLES if source.chain_of_thought else ', '.join(
            dict.fromkeys(splits)),
        licence=_licences_of(used),
        n_texts=len(sample.texts),
        n_subtasks=len(counts),
        subtasks=dict(counts),
        passed_over=sample.passed_over)


def _licences_of(configs: Iterable[Any]) -> str:
    """Every licence once, in the order of its first occurrence."""
    return ', '.join(dict.fromkeys(map(_licence_of, configs)))


def _licensed(text: Text, config: Any) -> Text:
    """The text with its licence, where that is known."""
    known = _licence_of(config)
    return text if known == UNKNOWN else replace(text, licence=known)


def _licence_of(config: Any) -> str:
    return licence(config.get('path', ''))


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
