"""Find mistakes in the config of a run before its models run."""
import inspect
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import opencompass
from opencompass.configs.summarizers.groups.bbh import bbh_summary_groups
from opencompass.configs.summarizers.groups.ceval import ceval_summary_groups
from opencompass.configs.summarizers.groups.cmmlu import cmmlu_summary_groups
from opencompass.configs.summarizers.groups.mmlu import mmlu_summary_groups
from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import \
    model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from csv_plugin.core.conventions import InputError, check_choice, check_unique
from csv_plugin.core.formatting import shortened
from csv_plugin.core.predicting import Predictors, fitted_benchmarks
from csv_plugin.core.predictions import Missing, check_labels
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.known_benchmarks import known_benchmarks
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.oc.classes import BenchmarkName, Entry, class_name, class_of

#: Name of the summarizer whose arguments are checked.
_SUMMARIZER = 'PredictedSummarizer'
#: Its own options; it also has those of OpenCompass's summarizer.
_OPTIONS = ('type', 'predictors', 'benchmarks', 'known')
#: Classes of OpenCompass whose models run in LMDeploy.
_LMDEPLOY = ('TurboMindModel', 'TurboMindModelwithChatTemplate')
#: Groups of datasets whose averages every summary shows by default.
COMMON_GROUPS: list[Entry] = [
    *bbh_summary_groups, *mmlu_summary_groups, *cmmlu_summary_groups,
    *ceval_summary_groups
]
#: Inferencers that compute losses. The first scores the texts of a validation
#: set, the second the right answers of a benchmark.
LOSS_INFERENCERS = ('TokenLossInferencer', 'LabelLossInferencer')


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Let an `InputError` end the run with its one line.

    OpenCompass catches no errors of a config. It would end with a traceback.

    Raises:
        SystemExit: There was an `InputError`, whose message this has.
    """
    try:
        yield
    except InputError as error:
        raise SystemExit(f'error: {error}') from error


def check_run(config: Mapping[str, Any]) -> list[str]:
    """Check the names of models and the predictors of a whole config.

    Return possible mistakes, one line each: predictors that do not exist yet
    or whose texts are not in the run, benchmarks that are not in the run, and
    models that give no token losses. Raise an `InputError` for what is
    certainly a mistake.
    """
    models = config['models']
    datasets = config['datasets']
    check_models(models)
    warnings: list[str] = []
    summarizer = config.get('summarizer') or {}
    if 'type' in summarizer and class_name(summarizer) == _SUMMARIZER:
        warnings += _check_summarizer(summarizer, models, datasets)
    if any(map(is_texts, datasets)):
        _refuse_lmdeploy(models)
        for model in models:
            if _returns_no_losses(model):
                name = model_abbr_from_cfg(model)
                warnings.append(
                    f'model {name!r}: it gives no token losses, as an '
                    'API returns none. Wrap it as TokenLossModel with an '
                    'engine for its losses (docs/opencompass.md).')
    return warnings


def check_options(options: Iterable[str]) -> None:
    """Raise an `InputError` for an option that the summarizer does not have.

    `options` are the names of the options that a config gives it.
    """
    of_opencompass = inspect.signature(DefaultSummarizer).parameters
    known = [*_OPTIONS, *of_opencompass]
    # OpenCompass fills in the config.
    known.remove('config')
    for name in options:
        check_choice(f'option of {_SUMMARIZER}', name, known)


def _check_summarizer(summarizer: Entry, models: Sequence[Any],
                      datasets: Sequence[Any]) -> Iterator[str]:
    """Check predictors, names of benchmarks and known accuracies.

    Yield possible mistakes, one line each.
    """
    check_options(summarizer)
    present = list(map(dataset_abbr_from_cfg, datasets))
    benchmarks = summarizer.get('benchmarks', ())
    known = summarizer.get('known', False)
    files = predictor_files(
        summarizer.get('predictors', ()), benchmarks, known)
    predictors: dict[str, Predictor | Missing] = {}
    for label, path in files.items():
        if not os.path.lexists(path):
            predictors[label] = Missing('not trained yet')
            yield (f'predictor {label!r}: there is no file '
                   f'{os.path.abspath(path)}. Losses are recorded without it; '
                   'once it is there, -m viz -r shows its predictions.')
            continue
        predictor = load_predictor(path)
        predictors[label] = predictor
        texts = dataset_abbr(predictor.columns.fingerprint)
        if texts not in present:
            yield (f'predictor {label!r}: it predicts nothing, for its texts, '
                   f'{texts}, are not in this run.')
    groups = with_common_groups(summarizer.get('summary_groups', ()), datasets)
    predicted = fitted_benchmarks(predictors)
    names = names_in_run(benchmarks, datasets, groups, predicted)
    if isinstance(known, str) and predicted:
        columns = list(map(model_abbr_from_cfg_used_in_summarizer, models))
        _, notes = read_known(known, columns, predicted)
        yield from notes
    check_benchmarks(names, predictors)
    missing = _missing(names, [*present, *_names_of(groups)])
    if missing:
        yield ('no dataset or summary group of this run is called '
               f'{shortened(", ".join(missing), 200)}: predictions of these '
               'benchmarks have no accuracy beside them.')


def _refuse_lmdeploy(models: Sequence[Any]) -> None:
    """Refuse models in LMDeploy, which could not score the texts."""
    for model in models:
        kind = class_name(model)
        if kind in _LMDEPLOY:
            raise InputError(
                f'model {model_abbr_from_cfg(model)!r}',
                'an engine that gives token losses for the texts', f'{kind}, '
                'as LMDeploy returns no log-probabilities of given tokens',
                'Use vLLM (-a vllm) or transformers (no -a), or leave the '
                'texts out of this run (docs/opencompass.md).')


def _returns_no_losses(model: Entry) -> bool:
    """Return whether a model is behind an API that returns no losses."""
    kind = model['type']
    if class_name(model) == 'TokenLossModel':
        if model.get('engine') is not None:
            return False
        inner = model.get('llm', {})
        kind = inner.get('type')
    kind = class_of(kind)
    is_api = getattr(kind, 'is_api', False)
    return is_api and not hasattr(kind, 'get_token_loss')


def is_texts(dataset: Entry) -> bool:
    """Return whether a dataset of a config is a validation set of texts."""
    return _inferencer(dataset) == 'TokenLossInferencer'


def of_losses(dataset: Entry) -> bool:
    """Return whether the results of a dataset of a config are losses."""
    return _inferencer(dataset) in LOSS_INFERENCERS


def _inferencer(dataset: Entry) -> str:
    """Return the name of the class of a dataset's inferencer."""
    return class_name(dataset['infer_cfg']['inferencer'])


def with_common_groups(groups: Sequence[Entry],
                       datasets: Sequence[Entry]) -> list[Entry]:
    """Return the groups of a run, followed by `COMMON_GROUPS`.

    A common group is left out if none of its datasets is in the run, or if a
    group or a dataset of the run has the same name.
    """
    present = set(map(dataset_abbr_from_cfg, datasets))
    taken = present.union(_names_of(groups))
    found = list(groups)
    for group in COMMON_GROUPS:
        has_dataset = not present.isdisjoint(group['subsets'])
        if has_dataset and group['name'] not in taken:
            found.append(group)
    return found


def _names_of(groups: Sequence[Entry]) -> list[str]:
    """Return the names of summary groups."""
    return [group['name'] for group in groups]


def check_models(models: Sequence[Any]) -> None:
    """Refuse models that would share a folder or a column of the summary."""
    check_unique('abbr of models', map(model_abbr_from_cfg, models))
    check_unique('summarizer_abbr of models',
                 map(model_abbr_from_cfg_used_in_summarizer, models))


def predictor_files(pairs: Any,
                    benchmarks: Any = (),
                    known: bool | str = False) -> dict[str, str]:
    """Return the files of predictors by label, the main predictor first.

    `pairs`, `benchmarks` and `known` are the arguments `predictors`,
    `benchmarks` and `known` of a `PredictedSummarizer`.

    Raises:
        InputError: An element of `pairs` is not a pair, a label is not allowed
            or occurs twice, or `benchmarks` or `known` is given without a
            predictor.
    """
    pairs = _pairs('predictors', pairs,
                   "such as [('predicted', 'predictor.safetensors')]")
    if not pairs and (benchmarks or known):
        raise InputError(
            _SUMMARIZER, 'at least one predictor, because benchmarks or known '
            'is set', 'no predictor', 'Set predictors to pairs of a label and '
            'a path, or leave benchmarks and known out.')
    labels = [label for label, _ in pairs]
    check_labels('labels of predictors', labels)
    return dict(pairs)


def names_in_run(pairs: Any, datasets: Sequence[Any],
                 groups: Sequence[Any], predicted: Sequence[str] = ()
                 ) -> dict[str, BenchmarkName]:  # yapf: disable
    """Map benchmarks, as the predictors name them, to their names in the run.

    `pairs` are the `benchmarks` of a summarizer; other benchmarks are not in
    the result. `datasets` and `groups` are the datasets and groups of the run,
    and `predicted` are the benchmarks of the predictors.

    Raises:
        InputError: `pairs` are not pairs, a benchmark occurs twice, or a name
            is probably mistyped: it is not a known benchmark, and differs by
            one typing error from exactly one name in the run.
    """
    pairs = _pairs('benchmarks', pairs, "such as [('mmlu', 'my_mmlu')]")
    benchmarks = []
    with_metric = []
    for benchmark, name in pairs:
        benchmarks.append(benchmark)
        if not isinstance(name, str):
            with_metric.append(name)
    # Only checked: names with a metric must be pairs, too.
    _pairs('benchmarks', with_metric,
           "such as ('my_mmlu', 'accuracy') for a metric")
    check_unique('benchmarks of PredictedSummarizer', benchmarks)
    names = dict(pairs)
    known = _known_names().union(
        map(_plain, benchmarks), map(_plain, predicted))
    present = set(map(dataset_abbr_from_cfg, datasets))
    present.update(_names_of(groups))
    for name in _missing(names, present):
        near = []
        for other in present:
            if _one_typing_error(name, other):
                near.append(other)
        if len(near) == 1 and _plain(name) not in known:
            raise _wrong_name(name, near,
                              'dataset or summary group of the run')
    return names


def _missing(names: Mapping[str, BenchmarkName],
             present: Collection[str]) -> list[str]:
    """Return the names in the run, without metrics, that are not `present`."""
    missing = []
    for name in names.values():
        abbr = name if isinstance(name, str) else name[0]
        if abbr not in present:
            missing.append(abbr)
    return missing


def _one_typing_error(first: str, second: str) -> bool:
    """Return whether two names differ by at most one typing error.

    An error changes, adds or leaves out a character, or swaps it with its
    neighbour.
    """
    shortest, longest = sorted([len(first), len(second)])
    same_start = os.path.commonprefix([first, second])
    backward = [first[::-1], second[::-1]]
    same_end = os.path.commonprefix(backward)
    same = len(same_start) + len(same_end)
    swapped = same == longest - 2 and sorted(first) == sorted(second)
    # The common beginning and end may overlap, as in 'aa' and 'aaa', so the
    # shorter name limits them.
    return swapped or min(same, shortest) >= longest - 1


@cache
def _known_names() -> frozenset[str]:
    """Return names of benchmarks that this package or OpenCompass knows."""
    configs = Path(opencompass.__file__).with_name('configs')
    folders = os.listdir(configs / 'datasets')
    names = [*known_benchmarks(), *folders]
    return frozenset(map(_plain, names))


def _plain(name: str) -> str:
    """Return a name in small letters, with underscores for hyphens."""
    return name.casefold().replace('-', '_')


def check_benchmarks(names: Iterable[str], predictors: Predictors) -> None:
    """Refuse benchmarks that no predictor predicts.

    `names` are the benchmarks whose name in the run is set in the config.
    Nothing is refused if a predictor cannot be read.
    """
    # A predictor that cannot be read may predict any benchmark.
    for predictor in predictors.values():
        if isinstance(predictor, Missing):
            return
    known = fitted_benchmarks(predictors)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known) or known
            raise _wrong_name(name, near, 'benchmark of the predictors')


def _wrong_name(name: str, near: Sequence[str], what: str) -> InputError:
    """Return an error that offers the names `near` in place of `name`."""
    return InputError(
        f'benchmarks of {_SUMMARIZER}',
        f'a {what}: {shortened(", ".join(near), 200)}', repr(name),
        'Correct this name in the argument benchmarks of the summarizer.')


def _pairs(what: str, values: Any, example: str) -> list[tuple[str, Any]]:
    """Return values of a config as pairs whose first element is a string.

    Raises an `InputError`, which shows the `example` of such pairs, if they
    are anything else.
    """
    error = InputError(f'{what} of {_SUMMARIZER}', f'pairs, {example}',
                       repr(values)[:80], f'Write {what} as a list of pairs.')
    if not isinstance(values, (list, tuple)):
        raise error
    pairs = []
    for pair in values:
        is_sequence = isinstance(pair, (list, tuple))
        if not is_sequence or len(pair) != 2 or not isinstance(pair[0], str):
            raise error
        pairs.append(tuple(pair))
    return pairs
