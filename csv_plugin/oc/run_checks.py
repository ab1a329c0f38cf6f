"""Mistakes in the config of a run, found before its models run."""
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Union

from opencompass.configs.summarizers.groups.bbh import bbh_summary_groups
from opencompass.configs.summarizers.groups.ceval import ceval_summary_groups
from opencompass.configs.summarizers.groups.cmmlu import cmmlu_summary_groups
from opencompass.configs.summarizers.groups.mmlu import mmlu_summary_groups
from opencompass.summarizers.default import \
    model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from csv_plugin.core.conventions import InputError, check_unique, shortened
from csv_plugin.core.predicting import predictable_benchmarks
from csv_plugin.core.predictions import Missing, check_labels
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import dataset_abbr

_SUMMARIZER = 'PredictedSummarizer'
#: Groups of datasets whose averages every summary has by itself.
_COMMON: tuple[Mapping[str, Any],
               ...] = (*bbh_summary_groups, *mmlu_summary_groups,
                       *cmmlu_summary_groups, *ceval_summary_groups)
#: A benchmark's name in a run: of a dataset or group, perhaps with a metric.
Name = Union[str, tuple[str, str]]


def check_run(config: Mapping[str, Any]) -> list[str]:
    """Check the names of models and the predictors of a run.

    Args:
        config (Mapping[str, Any]): The whole config, as OpenCompass reads it.

    Returns:
        list[str]: Possible mistakes, one line each: predictors that do not
        exist yet, or whose texts are not run.

    Raises:
        InputError: Two models have one name, or the predictors or benchmarks
            of the summarizer are wrong.
    """
    check_models(config['models'])
    datasets = config['datasets']
    files = dict(_predictors_of_evaluators(datasets))
    names: dict[str, Name] = {}
    summarizer = config.get('summarizer') or {}
    if class_name(summarizer.get('type', '')) == _SUMMARIZER:
        files |= predictor_files(summarizer.get('predictors', ()))
        groups = with_common_groups(
            summarizer.get('summary_groups', ()), datasets)
        names = names_in_run(
            summarizer.get('benchmarks', ()), datasets, groups)
    absent = {
        label: path
        for label, path in files.items() if not os.path.lexists(path)
    }
    predictors = {
        label: load_predictor(path)
        for label, path in files.items() if label not in absent
    }
    if not absent:
        check_benchmarks(names, predictors)
    warnings = [
        f'predictor {label!r}: there is no file {os.path.abspath(path)}. '
        'Losses are recorded without it; once it is there, -m viz -r shows '
        'its predictions.' for label, path in absent.items()
    ]
    present = [*map(dataset_abbr_from_cfg, datasets)]
    for label, predictor in predictors.items():
        texts = dataset_abbr(predictor.columns.fingerprint)
        if texts not in present:
            warnings.append(f'predictor {label!r}: it predicts nothing, for '
                            f'its texts, {texts}, are not in this run.')
    return warnings


def class_name(kind: Any) -> str:
    """Return the name of a class, which a config may contain as a text."""
    return kind.rpartition('.')[2] if isinstance(kind, str) else kind.__name__


def is_texts(dataset: Any) -> bool:
    """Return whether an entry of a config is a validation set."""
    return class_name(
        dataset['infer_cfg']['inferencer']['type']) == 'TokenLossInferencer'


def _predictors_of_evaluators(
        datasets: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for dataset in filter(is_texts, datasets):
        path = dataset['eval_cfg']['evaluator'].get('predictor')
        if path is not None:
            yield f'of the evaluator of {dataset_abbr_from_cfg(dataset)}', path


def with_common_groups(groups: Sequence[Mapping[str, Any]],
                       datasets: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return the groups of a run, and OpenCompass's of bbh, mmlu and so on.

    Those of OpenCompass are left out if none of their datasets is in the run,
    or if a group or a dataset of the run has their name.

    Args:
        groups (Sequence[Mapping]): The `summary_groups` of the run.
        datasets (Sequence[Any]): Configs of the datasets of the run.
    """
    present = {*map(dataset_abbr_from_cfg, datasets)}
    taken = present | {group['name'] for group in groups}
    return [
        *groups, *(group for group in _COMMON if group['name'] not in taken
                   and not present.isdisjoint(group['subsets']))
    ]


def check_models(models: Sequence[Any]) -> None:
    """Refuse models that would share a folder or a column of the summary.

    Raises:
        InputError: A name occurs twice.
    """
    check_unique('abbr of models', map(model_abbr_from_cfg, models))
    check_unique('summarizer_abbr of models',
                 map(model_abbr_from_cfg_used_in_summarizer, models))


def predictor_files(pairs: Any) -> dict[str, str]:
    """Return the files of predictors by label, the main one first.

    Args:
        pairs (Any): The `predictors` of a config.

    Raises:
        InputError: They are not pairs of a label and a path, there is none,
            or a label occurs twice.
    """
    pairs = _pairs('predictors', pairs,
                   "such as [('predicted', 'predictor.safetensors')]")
    if not pairs:
        raise InputError(_SUMMARIZER, 'a predictor or more', 'none',
                         'Give pairs of a label and a path.')
    check_labels('labels of predictors', [label for label, _ in pairs])
    return dict(pairs)


def names_in_run(pairs: Any, datasets: Sequence[Any],
                 groups: Sequence[Any]) -> dict[str, Name]:
    """Return names in the run by benchmark of the predictors.

    Args:
        pairs (Any): The `benchmarks` of a config.
        datasets (Sequence[Any]): Configs of the datasets of the run.
        groups (Sequence[Any]): The `summary_groups` of the run.

    Raises:
        InputError: They are not pairs as `PredictedSummarizer` takes them,
            a benchmark occurs twice, or a name is nearly that of a dataset or
            group.
    """
    pairs = _pairs('benchmarks', pairs, "such as [('mmlu', 'my_mmlu')]")
    check_unique('benchmarks of PredictedSummarizer',
                 (benchmark for benchmark, _ in pairs))
    present = [
        *map(dataset_abbr_from_cfg, datasets),
        *(group['name'] for group in groups)
    ]
    for _, name in pairs:
        if not isinstance(name, str):
            [name] = _pairs('benchmarks', [name],
                            "such as ('my_mmlu', 'accuracy') for a metric")
            name = name[0]
        # A run of the texts alone has none of the benchmarks.
        if get_close_matches(name, present):
            _check_name(name, present, 'dataset or summary group of this run')
    return dict(pairs)


def check_benchmarks(
        names: Iterable[str],
        predictors: Mapping[str, Union[Predictor, Missing]]) -> None:
    """Refuse benchmarks that no predictor predicts.

    Args:
        names (Iterable[str]): Benchmarks that a config gives other names.
        predictors (Mapping): All predictors of the config, by label. If one
            of them is unusable, nothing is refused.

    Raises:
        InputError: No predictor predicts the benchmark.
    """
    if not any(isinstance(part, Missing) for part in predictors.values()):
        for name in names:
            _check_name(name, predictable_benchmarks(predictors),
                        'benchmark of the predictors')


def _check_name(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        near = get_close_matches(name, known) or known
        raise InputError(f'benchmarks of {_SUMMARIZER}',
                         f'a {what}: {shortened(", ".join(near), 200)}',
                         repr(name), 'Correct the name.')


def _pairs(what: str, values: Any, example: str) -> list[tuple[str, Any]]:
    """Check that values of a config are pairs that begin with a text."""
    if not isinstance(values, (list, tuple)) or not all(
            isinstance(pair, (list, tuple)) and len(pair) == 2
            and isinstance(pair[0], str) for pair in values):
        raise InputError(f'{what} of {_SUMMARIZER}', f'pairs, {example}',
                         repr(values)[:80], 'Write a list of pairs.')
    return [(first, second) for first, second in values]
