"""Predictors as safetensors files: arrays, and the rest as JSON.

Loading a file executes nothing in it, and needs neither torch nor the scoring
LM. docs/formats.md describes the layout. A file may come from anyone, so all
that is in it is checked: every number that compiled code takes as an index,
and every value that a predictor cannot have.
"""
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.features import Columns
from csv_plugin.core.intervals import Intervals
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.predictor import (BenchmarkPredictor, Predictor,
                                       TrainingScores)
from csv_plugin.core.salience_model import (LEAST_TYPICAL, LogTerms,
                                            SalienceModel)
from csv_plugin.core.scaling_law import Curve
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.stated_errors import (ErrorsByReach, HeldOutFamily,
                                           StatedError)
from csv_plugin.core.witnesses import Witness
from csv_plugin.io.containers import (errors_name, read_container,
                                      write_container)
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import check_fields
from csv_plugin.io.text_sets import forbidden_uses

KIND = 'csv_plugin.predictor'

_Arrays = Mapping[str, NDArray]

_HEADER_FIELDS = {
    'fingerprint': 'a text',
    'units': 'a list of texts',
    'texts': 'pairs of texts',
    'versions': 'texts by name',
    'scoring_lm': 'a text',
    'benchmarks': 'a list',
    'training_families': 'a list of texts',
    'licences': 'texts by name',
}
_BENCHMARK_FIELDS = {
    'benchmark': 'a text',
    'chance': 'a number',
    'n_items': 'a count',
    'fit_models': 'a list of texts',
    'solver': 'a text',
    'penalty': 'a number or null',
    'cv_mse': 'a number or null',
    'score_low': 'a number or null',
    'score_high': 'a number or null',
    'score_spread': 'a number or null',
    'n_families': 'a count',
    'notes': 'a list of texts',
    'families': 'a list',
    'witnesses': 'a list of texts',
    'errors_by_reach': 'an object or null',
}
_FAMILY_FIELDS = {
    'family': 'a text',
    'n_models': 'a count',
    'lowest': 'a number',
    'highest': 'a number',
    'bias': 'a number or null',
    'error': 'a number or null',
}
_REACH_FIELDS = {
    'reach': 'a number',
    'within': 'an object',
    'beyond': 'an object'
}
_STATED_FIELDS = {
    'mse': 'a number or null',
    'n_models': 'a count',
    'n_families': 'a count',
}
#: Those of a benchmark and of its intervals, where they are kept in JSON.
_OF_PART = ('benchmark', 'chance', 'n_items', 'fit_models', 'solver',
            'penalty', 'cv_mse', 'notes')
_OF_INTERVALS = 'score_low', 'score_high', 'score_spread', 'n_families'
#: Kind of number and axes of a benchmark's arrays: K units, F folds, N
#: errors, b errors of the back-tests.
_SHAPES = {
    'coefficients': ('f', 'K'),
    'curve': ('f', '3'),
    'fold_coefficients': ('f', 'FK'),
    'fold_curves': ('f', 'F3'),
    'errors': ('f', 'N'),
    'error_fold': ('i', 'N'),
    'error_variance': ('f', '2'),
    'backtest': ('f', 'b'),
}
#: The same of the arrays about logarithms, where the benchmark has them.
_LOG_SHAPES = {
    'log_coefficients': ('f', 'K'),
    'fold_log_coefficients': ('f', 'FK'),
    'typical': ('f', 'K'),
}
#: The same of the highest losses fitted on, where the benchmark has them.
_HIGHEST_SHAPE = {'highest': ('f', 'K')}
#: The same of W witnesses, where the benchmark has some: coefficients, curves,
#: limits, and lowest and highest of their scores.
_WITNESS_SHAPES = {
    'witness_coefficients': ('f', 'WK'),
    'witness_curves': ('f', 'W3'),
    'witness_limits': ('f', 'W'),
    'witness_ranges': ('f', 'W2'),
}
#: Kind and axes of the arrays about tokens: S texts, T tokens, K units, E
#: entries of the matrix.
_TOKEN_SHAPES = {
    'tokens.per_text': ('i', 'S'),
    'tokens.n_bytes': ('i', 'S'),
    'tokens.starts': ('i', 'T'),
    'tokens.ends': ('i', 'T'),
    'matrix.per_column': ('i', 'K'),
    'matrix.token': ('i', 'E'),
    'matrix.value': ('f', 'E'),
}
#: Kind and axes of the scores of n models fitted on, on B benchmarks; -1 for
#: those that there are not.
_TRAINING_SHAPES = {'observed': ('f', 'nB'), 'held_out': ('f', 'nB')}
#: What an array of each kind holds.
_KINDS = {'f': 'floating-point numbers', 'i': 'whole numbers', 'b': 'booleans'}
#: Larger numbers could have sums and products that are none.
_LARGEST = 1e60

_REMEDY = 'Train the predictor again or fetch an intact copy.'


def save_predictor(predictor: Predictor, path: FilePath) -> None:
    """Write a predictor; the file appears whole or not at all.

    Args:
        predictor (Predictor): What `fit_predictor` returned.
        path (FilePath): The file to create or replace.

    Raises:
        InputError: The folder does not exist.
    """
    write_container(path, KIND, *_packed(predictor))


def _packed(predictor: Predictor) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """What the JSON and the arrays of its file hold."""
    columns = predictor.columns
    arrays: dict[str, NDArray] = {'uniform': columns.uniform}
    if columns.scored is not None:
        arrays['scored'] = columns.scored
    texts = []
    if predictor.targets is not None and predictor.matrix is not None:
        arrays.update(_pack_tokens(predictor.targets, predictor.matrix))
        texts = list(zip(predictor.targets.text_ids, predictor.targets.hashes))
    for index, part in enumerate(predictor.benchmarks):
        for name, array in _arrays(part).items():
            arrays[f'{index}.{name}'] = array
    header: dict[str, Any] = {
        'fingerprint': columns.fingerprint,
        'units': columns.units,
        'texts': texts,
        'versions': dict(predictor.versions),
        'scoring_lm': predictor.scoring_lm,
        'licences': dict(predictor.licences),
        'training_families': [],
        'benchmarks': [_scalars(part) for part in predictor.benchmarks],
    }
    if predictor.training_scores is not None:
        header['training_families'] = predictor.training_scores.families
        arrays.update({
            f'training.{name}':
            np.nan_to_num(getattr(predictor.training_scores, name), nan=-1)
            for name in _TRAINING_SHAPES
        })
    return header, arrays


def load_predictor(path: FilePath) -> Predictor:
    """Read what `save_predictor` wrote.

    A warning says where the licence of the texts of the training forbids a
    use.

    Raises:
        InputError: The file is missing, damaged, not a predictor or of
            another format version; or a field or an array in it is missing,
            of another type or shape, or holds what no predictor has.
    """
    where = os.fspath(path)
    header, arrays = read_container(path, KIND, _REMEDY)
    check_fields(where, 'the header', header, _HEADER_FIELDS, _REMEDY)
    lengths = {'K': len(header['units']), '2': 2, '3': 3}
    uniform = _array(where, arrays, 'uniform', ('f', 'K'), lengths)
    benchmarks = tuple(
        _benchmark(where, scalars, index, arrays, lengths)
        for index, scalars in enumerate(header['benchmarks']))
    scored = None
    if 'scored' in arrays:
        scored = _array(where, arrays, 'scored', ('b', 'T'), lengths)
    tokens = _tokens(where, header, arrays, lengths)
    scores = _training_scores(where, header, arrays)
    _warn_of_licences(where, header['licences'])
    with errors_name(where, 'parts of a single predictor', _REMEDY):
        columns = Columns(
            tuple(header['units']), uniform, header['fingerprint'], scored)
        return Predictor(columns, benchmarks, header['versions'], *tokens,
                         header['scoring_lm'], scores, header['licences'])


def _warn_of_licences(where: str, licences: Mapping[str, str]) -> None:
    for licence in sorted(set(licences.values())):
        if uses := forbidden_uses(licence):
            sources = ', '.join(s for s in licences if licences[s] == licence)
            warnings.warn(
                f'{where} was trained on texts of {sources} under {licence}, '
                f'which forbids {" and ".join(uses)}',
                stacklevel=3)


def _training_scores(where: str, header: Mapping[str, Any],
                     arrays: _Arrays) -> Optional[TrainingScores]:
    families = header['training_families']
    if not families:
        return None
    lengths = {'n': len(families), 'B': len(header['benchmarks'])}
    parts = {}
    for name, layout in _TRAINING_SHAPES.items():
        part = _array(where, arrays, f'training.{name}', layout, lengths)
        if np.any(part > 1):
            raise InputError(where, f"fractions in 'training.{name}'",
                             f'{part.max()}', _REMEDY)
        parts[name] = np.where(part < 0, np.nan, part)
    return TrainingScores(tuple(families), **parts)


def _tokens(
    where: str, header: Mapping[str, Any], arrays: _Arrays,
    lengths: dict[str,
                  int]) -> tuple[Optional[TargetTokens], Optional[csc_array]]:
    texts = header['texts']
    if not texts:
        return None, None
    lengths['S'] = len(texts)
    part = {
        name: _array(where, arrays, name, layout, lengths)
        for name, layout in _TOKEN_SHAPES.items()
    }
    with errors_name(where, 'tokens that lie in their texts', _REMEDY):
        return _unpack_tokens(part, texts, header['fingerprint'], lengths['K'])


def _pack_tokens(targets: TargetTokens,
                 matrix: csc_array) -> dict[str, NDArray]:
    """Target tokens and the matrix of `TokenColumns`, by name."""
    spans = targets.spans
    return {
        'tokens.per_text': np.array([len(tokens) for tokens in spans]),
        'tokens.n_bytes': np.array([tokens.n_bytes for tokens in spans]),
        'tokens.starts': np.concatenate([t.starts for t in spans]),
        'tokens.ends': np.concatenate([t.ends for t in spans]),
        'matrix.per_column': np.diff(matrix.indptr),
        'matrix.token': matrix.indices,
        'matrix.value': matrix.data,
    }


def _unpack_tokens(part: Mapping[str, NDArray], texts: Sequence[Sequence[str]],
                   fingerprint: str,
                   n_columns: int) -> tuple[TargetTokens, csc_array]:
    """The inverse of `_pack_tokens`, for K columns."""
    n_tokens = len(part['tokens.starts'])
    ends = _offsets(part, 'tokens.per_text', n_tokens)[1:-1]
    spans = tuple(
        TokenSpans(*tokens) for tokens in zip(
            np.split(part['tokens.starts'], ends),
            np.split(part['tokens.ends'], ends), (
                int(n) for n in part['tokens.n_bytes'])))
    tokens = part['matrix.token']
    # Compiled code takes them as indices, and does not look.
    if np.any((tokens < 0) | (tokens >= n_tokens)):
        raise InputError('matrix.token', f'tokens 0 to {n_tokens - 1}',
                         f'{tokens.min()} to {tokens.max()}', _REMEDY)
    pointers = _offsets(part, 'matrix.per_column', len(tokens))
    matrix = csc_array((part['matrix.value'], tokens, pointers),
                       shape=(n_tokens, n_columns))
    ids, hashes = zip(*texts)
    return TargetTokens(ids, hashes, spans, fingerprint), matrix


def _offsets(part: Mapping[str, NDArray], name: str, total: int) -> NDArray:
    """Where each of some runs of items starts, and the end of the last."""
    counts = part[name]
    if np.any((counts < 0) | (counts > total)) or counts.sum() != total:
        raise InputError(name, f'counts, {total} in all', f'{counts}'[:80],
                         _REMEDY)
    return np.append(0, np.cumsum(counts))


def _arrays(part: BenchmarkPredictor) -> dict[str, NDArray]:
    folds, intervals = part.intervals.folds, part.intervals
    arrays = {}
    if part.model.logs is not None and folds.logs is not None:
        arrays = {
            'log_coefficients': part.model.logs.coefficients,
            'fold_log_coefficients': folds.logs.coefficients,
            'typical': part.model.logs.typical,
        }
    if intervals.highest is not None:
        arrays['highest'] = intervals.highest
    if part.witnesses:
        arrays |= _pack_witnesses(part.witnesses)
    return arrays | {
        'coefficients': part.model.coefficients,
        'curve': _parameters(part.model.curve),
        'fold_coefficients': folds.coefficients,
        'fold_curves': _parameters(folds.curve),
        'errors': intervals.errors,
        'error_fold': intervals.fold,
        'error_variance': intervals.variance,
        'backtest': intervals.backtest,
    }


def _pack_witnesses(witnesses: Sequence[Witness]) -> dict[str, NDArray]:
    stack = SalienceModel.stack([witness.model for witness in witnesses])
    return {
        'witness_coefficients':
        stack.coefficients,
        'witness_curves':
        _parameters(stack.curve),
        'witness_limits':
        np.array([witness.limit for witness in witnesses]),
        'witness_ranges':
        np.array([[witness.score_low, witness.score_high]
                  for witness in witnesses])
    }


def _unpack_witnesses(names: Sequence[str],
                      part: Mapping[str, NDArray]) -> tuple[Witness, ...]:
    """The inverse of `_pack_witnesses`, for witnesses of these names."""
    return tuple(
        Witness(
            name,
            SalienceModel(part['witness_coefficients'][w],
                          Curve(*part['witness_curves'][w])),
            float(part['witness_limits'][w]),
            *map(float, part['witness_ranges'][w]))
        for w, name in enumerate(names))


def _parameters(curve: Curve) -> NDArray:
    """alpha, beta and floor along the last axis."""
    return np.stack([curve.alpha, curve.beta, curve.floor], axis=-1)


def _model(part: Mapping[str, NDArray], prefix: str,
           parameters: NDArray) -> SalienceModel:
    """The model of all fitted models, or with 'fold_' those of the folds."""
    logs = None
    if 'typical' in part:
        logs = LogTerms(part[f'{prefix}log_coefficients'], part['typical'])
    return SalienceModel(part[f'{prefix}coefficients'],
                         Curve(*np.moveaxis(parameters, -1, 0)), logs)


def _scalars(part: BenchmarkPredictor) -> dict[str, Any]:
    """The JSON part of a benchmark; null stands for what is not finite."""
    return {
        **{name: _finite(getattr(part, name)) for name in _OF_PART},
        **{name: _finite(getattr(part.intervals, name))
           for name in _OF_INTERVALS},
        'families': [_fields(family) for family in part.families],
        'witnesses': [witness.name for witness in part.witnesses],
        'errors_by_reach': None if part.errors_by_reach is None else
        reach_scalars(part.errors_by_reach),
    }  # yapf: disable


def reach_scalars(errors: ErrorsByReach) -> dict[str, Any]:
    """The errors in JSON, with null where none is stated.

    Args:
        errors (ErrorsByReach): Of one benchmark.
    """
    return {
        'reach': errors.reach,
        'within': _fields(errors.within),
        'beyond': _fields(errors.beyond)
    }


def _fields(record: Any) -> dict[str, Any]:
    return {name: _finite(value) for name, value in vars(record).items()}


def _finite(value: Any) -> Any:
    """The value as JSON has it."""
    is_number = isinstance(value, float)
    return None if is_number and not math.isfinite(value) else value


def _benchmark(where: str, scalars: Any, index: int, arrays: _Arrays,
               lengths: dict[str, int]) -> BenchmarkPredictor:
    check_fields(where, f'benchmark {index}', scalars, _BENCHMARK_FIELDS,
                 _REMEDY)
    for family in scalars['families']:
        check_fields(where, f'a family of benchmark {index}', family,
                     _FAMILY_FIELDS, _REMEDY)
    # F, N and b are lengths of this benchmark alone.
    sizes = lengths | {'W': len(scalars['witnesses'])}
    part = {
        name: _array(where, arrays, f'{index}.{name}', layout, sizes)
        for name, layout in _benchmark_layouts(arrays, index,
                                               scalars['witnesses']).items()
    }
    with errors_name(where, f'a sound benchmark {index}', _REMEDY):
        benchmark = BenchmarkPredictor(
            scalars['benchmark'], scalars['chance'], scalars['n_items'],
            tuple(scalars['fit_models']), scalars['solver'],
            _number(scalars['penalty'], math.inf),
            _number(scalars['cv_mse'], math.nan),
            _model(part, '', part['curve']),
            Intervals(
                _model(part, 'fold_', part['fold_curves']),
                len(scalars['fit_models']), part['errors'], part['error_fold'],
                part['error_variance'], part['backtest'],
                scalars['n_families'], _number(scalars['score_low'], math.inf),
                _number(scalars['score_high'],
                        -math.inf), _number(scalars['score_spread'], math.inf),
                part.get('highest')), tuple(scalars['notes']),
            tuple(
                _record(HeldOutFamily, _FAMILY_FIELDS, values)
                for values in scalars['families']),
            _unpack_witnesses(scalars['witnesses'], part),
            _errors_by_reach(where, index, scalars['errors_by_reach']))
        _check_ranges(benchmark)
        return benchmark


def _check_ranges(part: BenchmarkPredictor) -> None:
    """Refuse numbers that no fit makes, and those that index an array."""
    intervals, n_models = part.intervals, len(part.fit_models)
    check_unique(f'models of {part.benchmark!r}'[:80], part.fit_models)
    sound = {
        'benchmark': bool(part.benchmark),
        'chance': 0 <= part.chance < 1,
        'penalty': part.penalty >= 0,
        'cv_mse': not part.cv_mse < 0,
        'errors': (intervals.errors >= 0).all(),
        'error_variance': (intervals.variance >= 0).all(),
        'backtest': (intervals.backtest >= 0).all(),
        'score_spread': intervals.score_spread >= 0,
        'error_fold': ((intervals.fold >= 0)
                       & (intervals.fold < len(intervals.folds.coefficients))
                       ).all(),
        'number of errors': len(intervals.errors) == 0
        or n_models > 0 and len(intervals.errors) % n_models == 0,
        'family': all(
            f.n_models >= 1 and 0 <= f.lowest <= f.highest <= 1
            and not abs(f.bias) > 1 and not (f.error < 0 or f.error > 1)
            for f in part.families),
        'witness': all(w.limit >= 0 and w.score_low <= w.score_high
                       for w in part.witnesses),
        'errors_by_reach': part.errors_by_reach is None or _is_sound(
            part.errors_by_reach),
        'typical': part.model.logs is None or (
            part.model.logs.typical >= LEAST_TYPICAL).all(),
    }  # yapf: disable
    for name in (name for name in sound if not sound[name]):
        raise InputError(f'predictor of {part.benchmark!r}'[:80],
                         f'{name} in its range', 'another', _REMEDY)


def _is_sound(errors: ErrorsByReach) -> bool:
    return 0 <= errors.reach <= 1 and all(
        not (part.mse < 0 or math.isinf(part.mse))
        and 0 <= part.n_families <= part.n_models
        for part in (errors.within, errors.beyond))


def _errors_by_reach(where: str, index: int,
                     values: Any) -> Optional[ErrorsByReach]:
    """As recorded; None where nothing was held out."""
    if values is None:
        return None
    name = f'errors_by_reach of benchmark {index}'
    check_fields(where, name, values, _REACH_FIELDS, _REMEDY)
    for part in ('within', 'beyond'):
        check_fields(where, f'{part}, {name}', values[part], _STATED_FIELDS,
                     _REMEDY)
    return ErrorsByReach(
        values['reach'],
        *(_record(StatedError, _STATED_FIELDS, values[part])
          for part in ('within', 'beyond')))


def _record(kind: Any, fields: Iterable[str], values: Mapping[str,
                                                              Any]) -> Any:
    """The inverse of `_fields`."""
    return kind(**{name: _number(values[name], math.nan) for name in fields})


def _benchmark_layouts(arrays: _Arrays, index: int,
                       witnesses: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The arrays of a benchmark: all about logarithms, or none."""
    layouts = _SHAPES
    if any(f'{index}.{name}' in arrays for name in _LOG_SHAPES):
        layouts = layouts | _LOG_SHAPES
    if f'{index}.highest' in arrays:
        layouts = layouts | _HIGHEST_SHAPE
    if witnesses:
        layouts = layouts | _WITNESS_SHAPES
    return layouts


def _number(value: Any, null: float) -> Any:
    return null if value is None else value


def _array(where: str, arrays: _Arrays, key: str, layout: tuple[str, str],
           lengths: dict[str, int]) -> NDArray:
    """An array, checked.

    Args:
        where (str): The file, for errors.
        arrays (_Arrays): All arrays of the file.
        key (str): Name of the array.
        layout (tuple[str, str]): Its kind of numbers, and a letter or digit
            for each of its axes.
        lengths (dict[str, int]): Length of an axis by letter. Letters that it
            lacks are added with the lengths that this array has.

    Raises:
        InputError: There is no such array, an axis has another length, or
            the numbers are of another kind, not finite or beyond all
            measure.
    """
    kind, letters = layout
    if key not in arrays:
        raise InputError(where, f'an array {key!r}', 'none', _REMEDY)
    array = arrays[key]
    for letter, length in zip(letters, array.shape):
        lengths.setdefault(letter, length)
    expected = tuple(lengths.get(letter, 'any') for letter in letters)
    if array.shape != expected:
        raise InputError(where, f'{key!r} of shape {expected}',
                         str(array.shape), _REMEDY)
    if not np.isfinite(array).all():
        raise InputError(where, f'finite numbers in {key!r}',
                         'NaN or infinity', _REMEDY)
    if np.any(np.abs(array) > _LARGEST):
        raise InputError(where, f'numbers of at most {_LARGEST:g} in {key!r}',
                         'larger ones', _REMEDY)
    if array.dtype.kind != kind:
        raise InputError(where, f'{_KINDS[kind]} in {key!r}', str(array.dtype),
                         _REMEDY)
    return array
