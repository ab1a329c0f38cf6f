"""Losses and accuracies by step from the logs of training runs.

The names of logged values say which are losses on validation sets and which
accuracies, and their units.
"""
import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.extras.importers.log_rows import (REMEDY, STEP, number,
                                                  read_log_rows)
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos, known_benchmarks
from csv_plugin.triage.checkpoints import Checkpoint

#: Names of the step and of the tokens so far; the first that is there counts.
_STEPS = ('trainer/global_step', 'train/global_step', 'global_step', STEP,
          'iteration', 'iter', 'time/batch', '_step')
_TOKENS = ('num_input_tokens_seen', 'train/num_input_tokens_seen',
           'time/token', 'throughput/total_tokens', 'total_tokens',
           'tokens_seen', 'consumed_tokens', 'tokens')
#: A loss on a validation set has a word of an evaluation and one of a loss.
_EVALUATION = re.compile(
    r'(?<![a-z])(eval|validation|valid|val|heldout|test)(?![a-z])', re.I)
_LOSS = re.compile(
    r'(?<![a-z])(lm[ _]loss|ce[ _]loss|(language)?cross_?entropy(_?loss)?'
    r'|(?P<bits>bpb|bits_per_byte)|loss|nll)(?![a-z])', re.I)
#: Words of values that are derived from others, or of the training.
_NO_MEASURE = re.compile(
    r'(?<![a-z])(ppl|perplexity|vs|std|stderr|min|max|best|ema|aux|time'
    r'|runtime|train|token|step)(?![a-z])', re.I)
#: Accuracies as lm-evaluation-harness, OLMo and Composer call them, and those
#: of nanochat, which are 0 at chance.
_ACCURACY = re.compile(
    r'((metrics|eval|validation|valid|val|test|icl|lm[_-]eval|downstream)'
    r'[/_])*(?P<name>.+?)(/\d+-shot)?[/_ (]+(?P<kind>acc_norm|len_norm|acc'
    r'|(length-normalized )?accuracy|exact_match|incontextlearning'
    r'\w*accuracy)(,[\w-]+)?\)?', re.I)
_CENTERED = re.compile(r'centered_results[./](?P<name>.+)')

#: Values by column, by run and step.
_Cells = dict[tuple[str, int], dict[str, float]]


class _Measure(NamedTuple):
    """A logged value: its column, its unit, and whether another is better."""
    column: str
    unit: str
    is_second: bool = False


_NATS, _BITS = 'nats per token', 'bits per byte'
_FRACTION, _ABOVE_CHANCE = 'accuracy', 'accuracy above chance'


class TrainingLogs(NamedTuple):
    """Tables from logs of training runs; models are called `run@step`.

    Losses are in the units of the logs, accuracies at steps with losses.
    Notes say what was assumed, and what was left out.
    """
    features: Optional[FeatureTable]
    accuracies: Optional[AccuracyTable]
    checkpoints: dict[str, Checkpoint]
    notes: list[str]


def read_training_logs(
        paths: Mapping[str, FilePath],
        chance: Optional[Mapping[str, float]] = None,
        tokens_per_step: Optional[float] = None) -> TrainingLogs:
    """Read losses on validation sets and accuracies by step.

    A step counts if all validation sets were evaluated at it. Of sets with
    different steps, those are kept that give the most losses.

    Paths are files or folders of runs, by name; a file of several runs names
    them itself. `chance` has levels of benchmarks that are not in
    `io.known_benchmarks`. Logs may lack training tokens: `tokens_per_step`
    gives them.

    Raises:
        InputError: A file cannot be read or has neither such losses nor
            accuracies, a run is in two files, or a chance level is for a
            benchmark that is in none.
    """
    runs: dict[str, _Run] = {}
    notes: list[str] = []
    others: set[str] = set()
    for name, path in paths.items():
        found = _read(Path(path), name, notes, others)
        check_unique('names of runs', [*runs, *found])
        runs |= found
    if others:
        notes.append('Neither losses on validation sets nor accuracies, left '
                     f'out: {_listed(others)}.')
    measures = _measures(key for run in runs.values() for key in run.series)
    losses = _cells(runs, measures, _NATS, _BITS)
    scores = _cells(runs, measures, _FRACTION, _ABOVE_CHANCE)
    features = None
    if losses:
        losses = _without_gaps(losses, notes)
        features = _features(losses, measures, notes)
        late = scores.keys() - losses.keys()
        if late:
            notes.append(f'{counted(len(late), "step")} with accuracies and '
                         'without losses left out.')
        scores = {k: row for k, row in scores.items() if k not in late}
    return TrainingLogs(
        features, _accuracies(scores, measures, chance or {}, notes),
        _checkpoints([*(losses or scores)], runs, tokens_per_step, notes),
        notes)


class _Run:
    """Measures of a run by name and step, and training tokens by step."""

    def __init__(self) -> None:
        self.series: dict[str, dict[int, float]] = defaultdict(dict)
        self.tokens: dict[int, float] = {0: 0.0}

    def add(self, step: int, row: Mapping[str, Any], skipped: Counter[str],
            others: set[str]) -> None:
        """Add the values of a row; later rows replace earlier ones."""
        for key, cell in row.items():
            value = number(cell)
            if value is None or key.lower() in _STEPS:
                continue
            if key.lower() in _TOKENS:
                self.tokens[step] = value
            elif _measure(key) is None:
                others.add(key)
            elif not math.isfinite(value):
                skipped['values that are no finite numbers'] += 1
            else:
                if self.series[key].get(step, value) != value:
                    skipped['values that later rows replace'] += 1
                self.series[key][step] = value


def _read(path: Path, name: str, notes: list[str],
          others: set[str]) -> dict[str, _Run]:
    skipped: Counter[str] = Counter()
    rows = [*read_log_rows(path, skipped)]
    keys = {key.lower(): key for _, row in rows for key in row}
    x = next((keys[key] for key in _STEPS + _TOKENS if key in keys), '')
    runs: dict[str, _Run] = defaultdict(_Run)
    for run, row in rows:
        step = number(row.get(x))
        if step is None or not step >= 0 or step % 1:
            skipped['rows without a step'] += 1
        else:
            runs[run].add(int(step), row, skipped, others)
    if not any(run.series for run in runs.values()):
        raise InputError(
            str(path), 'losses on a validation set, or accuracies, by step',
            _listed(keys) or 'no value', REMEDY)
    notes += [f'{path}: {n} {what}, skipped.' for what, n in skipped.items()]
    return runs if len(runs) > 1 else {name: run for run in runs.values()}


@functools.lru_cache(maxsize=1 << 12)
def _measure(key: str) -> Optional[_Measure]:
    """What a value of this name is; None for other values."""
    if found := _CENTERED.fullmatch(key):
        return _Measure(found['name'], _ABOVE_CHANCE)
    if _NO_MEASURE.search(key):
        return None
    if found := _ACCURACY.fullmatch(key):
        if _EVALUATION.fullmatch(found['name']):
            return None
        return _Measure(found['name'], _FRACTION, 'norm'
                        not in found['kind'].lower())
    losses, evaluation = [*_LOSS.finditer(key)], _EVALUATION.search(key)
    if not losses or not evaluation:
        return None
    loss = losses[-1]
    name = (key[:loss.start()] + key[loss.end():]).removeprefix('metrics/')
    name = _EVALUATION.sub('', name, 1).removesuffix('epoch')
    name = name.strip(' /_-.()') or evaluation[0]
    return _Measure(f'{name}_bpb', _BITS) if loss['bits'] else _Measure(
        name, _NATS)


def _measures(keys: Iterable[str]) -> dict[str, _Measure]:
    """The measures by key; of several with one column, the best gets it."""
    found = {key: measure for key in keys if (measure := _measure(key))}
    columns: dict[str, str] = {}
    for key in sorted(found, key=lambda key: (found[key].is_second, key)):
        columns.setdefault(found[key].column, key)
    own = found.keys() - columns.values()
    return found | {key: found[key]._replace(column=key) for key in own}


def _cells(runs: Mapping[str, _Run], measures: Mapping[str, _Measure], *units:
           str) -> _Cells:
    """The values in some units, sorted by run and step."""
    cells: _Cells = defaultdict(dict)
    for name, run in runs.items():
        for key, series in run.series.items():
            for step, value in series.items():
                if measures[key].unit in units:
                    cells[name, step][measures[key].column] = value
    return dict(sorted(cells.items()))


def _without_gaps(cells: _Cells, notes: list[str]) -> _Cells:
    """The most losses of which every step has those on every set."""
    counts = Counter(name for row in cells.values() for name in row)
    sets = [name for name, _ in counts.most_common()]

    def complete(n: int) -> _Cells:
        return {
            key: {
                name: row[name]
                for name in sets[:n]
            }
            for key, row in cells.items() if row.keys() >= set(sets[:n])
        }

    best = max(
        range(1,
              len(sets) + 1), key=lambda n: (n * len(complete(n)), n))
    kept = complete(best)
    if sets[best:]:
        notes.append('Validation sets that were evaluated at other steps, '
                     f'left out: {_listed(sets[best:])}.')
    if len(kept) < len(cells):
        notes.append(f'{counted(len(cells) - len(kept), "step")} without a '
                     'loss on every validation set left out.')
    return kept


def _features(cells: _Cells, measures: Mapping[str, _Measure],
              notes: list[str]) -> FeatureTable:
    """Losses as columns; logs state no unit other than bits per byte."""
    sets = sorted(next(iter(cells.values())))
    in_bits = {m.column for m in measures.values() if m.unit == _BITS}
    for unit, names in (('bits per byte (as named)', in_bits & {*sets}),
                        ('nats per token (assumed; they compare between runs '
                         'with one tokenizer)', {*sets} - in_bits)):
        if names:
            notes.append(f'Losses in {unit}: {_listed(names)}.')
    return FeatureTable.of_losses([_model(key) for key in cells], sets,
                                  [[row[name] for name in sets]
                                   for row in cells.values()])


def _accuracies(cells: _Cells, measures: Mapping[str, _Measure],
                chance: Mapping[str, float],
                notes: list[str]) -> Optional[AccuracyTable]:
    found = sorted({name for row in cells.values() for name in row})
    known = known_benchmarks().keys() | chance.keys()
    without = [name for name in found if name not in known]
    names = [name for name in found if name in known]
    if without:
        notes.append('Accuracies without a chance level, left out: '
                     f'{_listed(without)}. Give it, such as --chance '
                     f'{without[0]}=0.25.')
    infos = benchmark_infos(names, chance)
    if not names:
        return None
    values = np.array([[row.get(name, np.nan) for name in names]
                       for row in cells.values()])
    levels = np.array([info.chance for info in infos.values()])
    centered = {m.column for m in measures.values() if m.unit == _ABOVE_CHANCE}
    values = np.where([name in centered for name in names],
                      np.maximum(values * (1 - levels) + levels, 0), values)
    percent = np.nanmax(values, axis=0) > 1
    if percent.any():
        notes.append(f'Taken as percent: {_listed(np.array(names)[percent])}.')
    return AccuracyTable(
        tuple(map(_model, cells)), tuple(names),
        np.where(percent, values / 100, values), levels,
        np.array([info.n_items for info in infos.values()], np.int64))


def _checkpoints(places: Sequence[tuple[str, int]], runs: Mapping[str, _Run],
                 tokens_per_step: Optional[float],
                 notes: list[str]) -> dict[str, Checkpoint]:
    """The checkpoints by model; with tokens if those of all are known.

    Between two steps with tokens, they rise evenly.
    """
    curves = {
        name: np.array(sorted(run.tokens.items())).T
        for name, run in runs.items()
    }
    tokens = [
        step * tokens_per_step if tokens_per_step else float(
            np.interp(step, curves[run][0], curves[run][1], right=np.nan))
        for run, step in places
    ]
    if np.isnan(tokens).any():
        notes.append('The training tokens of some steps are not in the logs, '
                     'so steps count; --tokens-per-step gives tokens.')
        tokens = [math.nan] * len(places)
    return {
        _model(place): Checkpoint(*place, n)
        for place, n in zip(places, tokens)
    }


def _model(place: tuple[str, int]) -> str:
    return f'{place[0]}@{place[1]}'


def _listed(names: Iterable[str]) -> str:
    return shortened(', '.join(sorted(names)), 150)
