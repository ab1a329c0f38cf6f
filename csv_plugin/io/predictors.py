"""Predictors as safetensors files: arrays, and the rest as JSON.

Loading a file executes nothing in it, and needs neither torch nor the scoring
LM. docs/formats.md describes the layout. A file may come from anyone, so types
and shapes are checked, and all numbers that are taken as an index.
"""
import math
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns
from csv_plugin.core.intervals import Intervals
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.predictor import (BenchmarkPredictor, Predictor,
                                       TrainingScores)
from csv_plugin.core.salience_model import LogTerms, SalienceModel
from csv_plugin.core.scaling_law import Curve
from csv_plugin.core.spans import TextSpans
from csv_plugin.io.containers import (errors_name, read_container,
                                      write_container)
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import check_fields

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
}
#: How the types of dataclasses are called in JSON.
_TYPES = {
    str: 'a text',
    int: 'a count',
    float: 'a number or null',
    bool: 'true or false',
    tuple[str, ...]: 'a list of texts',
}
#: Fields of `Intervals` in the JSON of their benchmark.
_OF_INTERVALS = ('score_low', 'score_high', 'score_spread', 'n_families',
                 'rate', 'rise')
#: Numbers that null stands for where it is not NaN.
_NULLS = {
    'penalty': math.inf,
    'score_low': math.inf,
    'score_high': -math.inf,
    'score_spread': math.inf,
}
#: Kind of number and axes of a benchmark's arrays: K units, F folds, N
#: errors.
_SHAPES = {
    'coefficients': ('f', 'K'),
    'curve': ('f', '3'),
    'fold_coefficients': ('f', 'FK'),
    'fold_curves': ('f', 'F3'),
    'errors': ('f', 'N'),
    'error_fold': ('i', 'N'),
    'error_variance': ('f', '2'),
    'further': ('f', '3'),
}
#: The same of the arrays about logarithms, where the benchmark has them.
_LOG_SHAPES = {
    'log_coefficients': ('f', 'K'),
    'fold_log_coefficients': ('f', 'FK'),
    'typical': ('f', 'K'),
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
_KINDS = {'f': 'floating-point numbers', 'i': 'whole numbers', 'b': 'booleans'}
#: Larger numbers could have sums and products that are none.
_LARGEST = 1e60

_REMEDY = 'Train the predictor again or fetch an intact copy.'


def save_predictor(predictor: Predictor, path: FilePath) -> None:
    """Write a predictor; the file appears whole or not at all.

    Raises:
        InputError: The folder does not exist.
    """
    columns, scores = predictor.columns, predictor.training_scores
    arrays: dict[str, NDArray] = {'uniform': columns.uniform}
    if columns.scored is not None:
        arrays['scored'] = columns.scored
    texts = []
    if predictor.targets is not None and predictor.matrix is not None:
        arrays |= _pack_tokens(predictor.targets, predictor.matrix)
        texts = list(zip(predictor.targets.text_ids, predictor.targets.hashes))
    for index, part in enumerate(predictor.benchmarks):
        for name, array in _pack_benchmark(part).items():
            arrays[f'{index}.{name}'] = array
    if scores is not None:
        for name in _TRAINING_SHAPES:
            arrays[f'training.{name}'] = np.nan_to_num(
                getattr(scores, name), nan=-1)
    header = {
        'fingerprint': columns.fingerprint,
        'units': columns.units,
        'texts': texts,
        'versions': dict(predictor.versions),
        'scoring_lm': predictor.scoring_lm,
        'training_families': [] if scores is None else scores.families,
        'benchmarks': [_scalars(part) for part in predictor.benchmarks],
    }
    write_container(path, KIND, header, arrays)


def load_predictor(path: FilePath) -> Predictor:
    """Read what `save_predictor` wrote.

    Raises:
        InputError: The file is missing, damaged, not a predictor or of
            another format version; or a field or an array in it is missing,
            of another type or shape, or out of its range.
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
    with errors_name(where, 'parts of a single predictor', _REMEDY):
        columns = Columns(
            tuple(header['units']), uniform, header['fingerprint'], scored)
        return Predictor(columns, benchmarks, header['versions'], *tokens,
                         header['scoring_lm'], scores)


def _scalars(part: BenchmarkPredictor) -> dict[str, Any]:
    """The JSON part of a benchmark."""
    intervals = _to_json(part.intervals)
    return {
        **_to_json(part),
        **{name: intervals[name] for name in _OF_INTERVALS},
    }  # yapf: disable


def _to_json(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that are plain; null if not finite."""
    values = {name: getattr(record, name) for name in _plain_fields(record)}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value)
        else value
        for name, value in values.items()
    }  # yapf: disable


def _of_json(name: str, value: Any) -> Any:
    if value is None:
        return _NULLS.get(name, math.nan)
    return tuple(value) if isinstance(value, list) else value


def _plain_fields(kind: Any) -> dict[str, str]:
    """Names and types of the fields of a dataclass that JSON has."""
    return {
        field.name: _TYPES[field.type]
        for field in fields(kind) if field.type in _TYPES
    }


def _benchmark(where: str, scalars: Any, index: int, arrays: _Arrays,
               lengths: dict[str, int]) -> BenchmarkPredictor:
    what = f'benchmark {index}'
    own, types = _plain_fields(BenchmarkPredictor), _plain_fields(Intervals)
    types = own | {name: types[name] for name in _OF_INTERVALS}
    check_fields(where, what, scalars, types, _REMEDY)
    plain = {name: _of_json(name, scalars[name]) for name in types}
    layouts = dict(_SHAPES)
    if any(f'{index}.{name}' in arrays for name in _LOG_SHAPES):
        layouts |= _LOG_SHAPES
    if f'{index}.highest' in arrays:
        layouts['highest'] = ('f', 'K')
    # F and N are lengths of this benchmark alone.
    sizes = dict(lengths)
    part = {
        name: _array(where, arrays, f'{index}.{name}', layout, sizes)
        for name, layout in layouts.items()
    }
    with errors_name(where, f'a sound {what}', _REMEDY):
        intervals = Intervals(
            _model(part, 'fold_', part['fold_curves']),
            len(scalars['fit_models']),
            part['errors'],
            part['error_fold'],
            part['error_variance'],
            further=part['further'],
            highest=part.get('highest'),
            **{name: plain[name]
               for name in _OF_INTERVALS})
        _check_folds(intervals)
        return BenchmarkPredictor(
            **{name: plain[name]
               for name in own},
            model=_model(part, '', part['curve']),
            intervals=intervals)


def _check_folds(intervals: Intervals) -> None:
    """Refuse numbers of folds that there are not, which index an array."""
    n_folds = len(intervals.folds.coefficients)
    if np.any((intervals.fold < 0) | (intervals.fold >= n_folds)):
        raise InputError('error_fold', f'folds 0 to {n_folds - 1}', 'others',
                         _REMEDY)


def _pack_benchmark(part: BenchmarkPredictor) -> dict[str, NDArray]:
    folds, intervals = part.intervals.folds, part.intervals
    arrays = {
        'coefficients': part.model.coefficients,
        'curve': _parameters(part.model.curve),
        'fold_coefficients': folds.coefficients,
        'fold_curves': _parameters(folds.curve),
        'errors': intervals.errors,
        'error_fold': intervals.fold,
        'error_variance': intervals.variance,
        'further': intervals.further,
    }
    if part.model.logs is not None and folds.logs is not None:
        arrays['log_coefficients'] = part.model.logs.coefficients
        arrays['fold_log_coefficients'] = folds.logs.coefficients
        arrays['typical'] = part.model.logs.typical
    if intervals.highest is not None:
        arrays['highest'] = intervals.highest
    return arrays


def _parameters(curve: Curve) -> NDArray:
    """alpha, beta and floor along the last axis."""
    return np.stack([curve.alpha, curve.beta, curve.floor], axis=-1)


def _model(part: _Arrays, prefix: str, parameters: NDArray) -> SalienceModel:
    """The model of all fitted models, or with 'fold_' those of the folds."""
    logs = None
    if 'typical' in part:
        logs = LogTerms(part[f'{prefix}log_coefficients'], part['typical'])
    return SalienceModel(part[f'{prefix}coefficients'],
                         Curve(*np.moveaxis(parameters, -1, 0)), logs)


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


def _pack_tokens(targets: TargetTokens,
                 matrix: csc_array) -> dict[str, NDArray]:
    """Target tokens and the matrix of `TokenColumns`, by name."""
    spans = targets.spans
    return {
        'tokens.per_text': spans.n_tokens,
        'tokens.n_bytes': spans.n_bytes,
        'tokens.starts': spans.starts,
        'tokens.ends': spans.ends,
        'matrix.per_column': np.diff(matrix.indptr),
        'matrix.token': matrix.indices,
        'matrix.value': matrix.data,
    }


def _tokens(
    where: str, header: Mapping[str, Any], arrays: _Arrays,
    lengths: dict[str, int]
) -> tuple[Optional[TargetTokens], Optional[csc_array]]:  # yapf: disable
    """The inverse of `_pack_tokens`; None for a predictor of tables."""
    texts = header['texts']
    if not texts:
        return None, None
    lengths['S'] = len(texts)
    part = {
        name: _array(where, arrays, name, layout, lengths)
        for name, layout in _TOKEN_SHAPES.items()
    }
    n_tokens, tokens = len(part['tokens.starts']), part['matrix.token']
    with errors_name(where, 'tokens that lie in their texts', _REMEDY):
        _offsets(part, 'tokens.per_text', n_tokens)
        spans = TextSpans(part['tokens.starts'], part['tokens.ends'],
                          part['tokens.per_text'], part['tokens.n_bytes'])
        # Compiled code takes them as indices, and does not look.
        if np.any((tokens < 0) | (tokens >= n_tokens)):
            raise InputError('matrix.token', f'tokens 0 to {n_tokens - 1}',
                             f'{tokens.min()} to {tokens.max()}', _REMEDY)
        pointers = _offsets(part, 'matrix.per_column', len(tokens))
        matrix = csc_array((part['matrix.value'], tokens, pointers),
                           shape=(n_tokens, lengths['K']))
        ids, hashes = zip(*texts)
        return TargetTokens(ids, hashes, spans, header['fingerprint']), matrix


def _offsets(part: _Arrays, name: str, total: int) -> NDArray:
    """Where each of some runs of items starts, and the end of the last."""
    counts = part[name]
    if np.any((counts < 0) | (counts > total)) or counts.sum() != total:
        raise InputError(name, f'counts, {total} in all', f'{counts}'[:80],
                         _REMEDY)
    return np.append(0, np.cumsum(counts))


def _array(where: str, arrays: _Arrays, key: str, layout: tuple[str, str],
           lengths: dict[str, int]) -> NDArray:
    """An array of the file, checked.

    Lengths of axes are by letter; missing ones are added, as the array has
    them.
    """
    kind, letters = layout
    if key not in arrays:
        raise InputError(where, f'an array {key!r}', 'none', _REMEDY)
    array = arrays[key]
    for letter, length in zip(letters, array.shape):
        lengths.setdefault(letter, length)
    expected = tuple(lengths.get(letter, 'any') for letter in letters)
    if array.shape != expected or array.dtype.kind != kind:
        raise InputError(where, f'{_KINDS[kind]} of shape {expected} in '
                         f'{key!r}', f'{array.dtype} of shape {array.shape}',
                         _REMEDY)  # yapf: disable
    if not np.all(np.abs(array) <= _LARGEST):
        raise InputError(where,
                         f'finite numbers of at most {_LARGEST:g} in {key!r}',
                         'others', _REMEDY)
    return array
