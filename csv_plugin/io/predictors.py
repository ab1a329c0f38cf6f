"""Predictors as safetensors files: arrays, and the rest as JSON.

Loading a file executes nothing in it, and needs neither torch nor the scoring
LM. docs/appendix/binary_files.md describes the layout. A file may come from
anyone, so types and shapes are checked, and all numbers that are taken as an
index.
"""
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Optional

import numpy as np
import scipy
from numpy.typing import NDArray

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
from csv_plugin.io.json_files import LARGEST, check_fields

KIND = 'csv_plugin.predictor'

_Arrays = Mapping[str, NDArray]

_HEADER_FIELDS = {
    'fingerprint': 'a text',
    'units': 'a list of texts',
    'texts': 'pairs of texts',
    'versions': 'texts by name',
    'benchmarks': 'a list',
    'training_families': 'a list of texts',
}
#: How the types of dataclasses are called in JSON.
_TYPES = {
    str: 'a text',
    int: 'a count',
    float: 'a number',
    bool: 'true or false',
    tuple[str, ...]: 'a list of texts',
}
#: Numbers that null stands for; no other field is null.
_NULLS = {
    'cv_mse': math.nan,
    'typical_error': math.nan,
    'penalty': math.inf,
    'score_low': math.inf,
    'score_high': -math.inf,
    'score_spread': math.inf,
}
#: Fields and arrays without negative numbers.
_NOT_NEGATIVE = ('chance', 'penalty', 'cv_mse', 'typical_error', 'rate',
                 'rise', 'score_spread', 'errors', 'error_variance', 'further')
#: Kind of number and axes of a benchmark's arrays: K units, F folds, N
#: errors.
_BENCHMARK = {
    'coefficients': 'fK',
    'curve': 'f3',
    'fold_coefficients': 'fFK',
    'fold_curves': 'fF3',
    'errors': 'fN',
    'error_fold': 'iN',
    'error_variance': 'f2',
    'further': 'f3',
}
#: The same where the benchmark has terms of logarithms.
_LOGS = {
    'log_coefficients': 'fK',
    'fold_log_coefficients': 'fFK',
    'typical': 'fK',
}
#: The same of tokens: S texts, T tokens, K units, E entries of the matrix.
_TOKENS = {
    'tokens.per_text': 'iS',
    'tokens.n_bytes': 'iS',
    'tokens.starts': 'iT',
    'tokens.ends': 'iT',
    'matrix.per_column': 'iK',
    'matrix.token': 'iE',
    'matrix.value': 'fE',
}
#: The same of the scores of n training models on B benchmarks; -1 for those
#: that there are not.
_SCORES = {'training.observed': 'fnB', 'training.held_out': 'fnB'}
_KINDS = {'f': 'floating-point numbers', 'i': 'whole numbers', 'b': 'booleans'}

_REMEDY = 'Train the predictor again or fetch an intact copy.'


def save_predictor(predictor: Predictor, path: FilePath) -> None:
    """Write a predictor; the file appears whole or not at all.

    Raises:
        InputError: The folder does not exist.
    """
    columns, scores = predictor.columns, predictor.training_scores
    targets, matrix = predictor.targets, predictor.matrix
    arrays: dict[str, NDArray] = {'uniform': columns.uniform}
    texts = []
    if columns.scored is not None:
        arrays['scored'] = columns.scored
    if targets is not None and matrix is not None:
        spans = targets.spans
        arrays |= {
            'tokens.per_text': spans.n_tokens,
            'tokens.n_bytes': spans.n_bytes,
            'tokens.starts': spans.starts,
            'tokens.ends': spans.ends,
            'matrix.per_column': np.diff(matrix.indptr),
            'matrix.token': matrix.indices,
            'matrix.value': matrix.data,
        }
        texts = list(zip(targets.text_ids, targets.hashes))
    for index, part in enumerate(predictor.benchmarks):
        for name, array in _arrays_of(part).items():
            arrays[f'{index}.{name}'] = array
    if scores is not None:
        for name in _SCORES:
            values = getattr(scores, name.removeprefix('training.'))
            arrays[name] = np.nan_to_num(values, nan=-1)
    if predictor.mean_losses is not None:
        arrays['mean_losses'] = predictor.mean_losses
    header = {
        'fingerprint': columns.fingerprint,
        'units': columns.units,
        'texts': texts,
        'versions': dict(predictor.versions),
        'training_families': [] if scores is None else scores.families,
        'benchmarks': [_json_of(part) for part in predictor.benchmarks],
    }
    write_container(path, KIND, header, arrays)


def load_predictor(path: FilePath) -> Predictor:
    """Read what `save_predictor` wrote.

    Raises:
        InputError: The file is missing, damaged, not a predictor or of
            another format version; or a field or an array in it is missing,
            of another type or shape, or out of its range.
    """
    header, arrays = read_container(path, KIND, _REMEDY)
    check_fields(path, 'the header', header, _HEADER_FIELDS, _REMEDY)
    n_units = len(header['units'])
    uniform = _taken(path, arrays, {'uniform': 'fK'}, K=n_units)['uniform']
    benchmarks = tuple(
        _benchmark(path, scalars, index, arrays, n_units)
        for index, scalars in enumerate(header['benchmarks']))
    scored, targets, matrix, mean_losses = None, None, None, None
    if 'scored' in arrays:
        scored = _taken(path, arrays, {'scored': 'bT'})['scored']
    if 'mean_losses' in arrays:
        part = _taken(path, arrays, {'mean_losses': 'f2'})
        mean_losses = part['mean_losses']
    if header['texts']:
        targets, matrix = _tokens(path, header, arrays)
    with errors_name(path, 'parts of a single predictor', _REMEDY):
        columns = Columns(
            tuple(header['units']), uniform, header['fingerprint'], scored)
        return Predictor(columns, benchmarks,
                         header['versions'], targets, matrix,
                         _training_scores(path, header, arrays), mean_losses)


def _json_of(part: BenchmarkPredictor) -> dict[str, Any]:
    """The JSON part of a benchmark."""
    values = _plain(part) | _plain(part.intervals)
    del values['n_models']  # that of `fit_models`
    return values


def _plain(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that are in `_TYPES`; null if not finite."""
    values = {name: getattr(record, name) for name in _plain_types(record)}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value)
        else value
        for name, value in values.items()
    }  # yapf: disable


def _plain_types(kind: Any) -> dict[str, str]:
    return {
        field.name: _TYPES[field.type] + ' or null' * (field.name in _NULLS)
        for field in fields(kind) if field.type in _TYPES
    }


def _of_plain(where: FilePath, part: str, kind: Any,
              values: Any) -> dict[str, Any]:
    """The inverse of `_plain`, checked, to be given to the dataclass."""
    types = _plain_types(kind)
    check_fields(where, part, values, types, _REMEDY)
    found = {name: values[name] for name in types}
    return {
        name: _NULLS[name] if value is None else
        tuple(value) if isinstance(value, list) else value
        for name, value in found.items()
    }  # yapf: disable


def _benchmark(where: FilePath, scalars: Any, index: int, arrays: _Arrays,
               n_units: int) -> BenchmarkPredictor:
    what = f'benchmark {index}'
    plain = _of_plain(where, what, BenchmarkPredictor, scalars)
    of_intervals = _of_plain(where, what, Intervals, {
        **scalars, 'n_models': len(plain['fit_models'])
    })
    layouts = dict(_BENCHMARK)
    if f'{index}.typical' in arrays:
        layouts |= _LOGS
    if f'{index}.highest' in arrays:
        layouts['highest'] = 'fK'
    part = _taken(where, arrays, layouts, f'{index}.', K=n_units)
    with errors_name(where, f'a sound {what}', _REMEDY):
        _check_signs(plain | of_intervals | part)
        scores = [of_intervals[name] for name in ('score_low', 'score_high')]
        if len(part['errors']) and not np.isfinite(scores).all():
            raise InputError('score_low and score_high', 'finite numbers',
                             'null beside errors', _REMEDY)
        folds = _model(part, 'fold_', part['fold_curves'])
        _check_places('error_fold', part['error_fold'],
                      len(part['fold_curves']))
        return BenchmarkPredictor(
            **plain,
            model=_model(part, '', part['curve']),
            intervals=Intervals(
                folds,
                errors=part['errors'],
                fold=part['error_fold'],
                variance=part['error_variance'],
                further=part['further'],
                highest=part.get('highest'),
                **of_intervals))


def _check_signs(values: Mapping[str, Any]) -> None:
    for name in _NOT_NEGATIVE:
        least = np.min(values[name], initial=0)
        if least < 0:
            raise InputError(name, 'numbers of 0 or more', f'{least:g}',
                             _REMEDY)


def _arrays_of(part: BenchmarkPredictor) -> dict[str, NDArray]:
    model, intervals = part.model, part.intervals
    folds = intervals.folds
    arrays = {
        'coefficients': model.coefficients,
        'curve': _parameters(model.curve),
        'fold_coefficients': folds.coefficients,
        'fold_curves': _parameters(folds.curve),
        'errors': intervals.errors,
        'error_fold': intervals.fold,
        'error_variance': intervals.variance,
        'further': intervals.further,
    }
    if model.logs is not None and folds.logs is not None:
        arrays['log_coefficients'] = model.logs.coefficients
        arrays['fold_log_coefficients'] = folds.logs.coefficients
        arrays['typical'] = model.logs.typical
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


def _training_scores(where: FilePath, header: Mapping[str, Any],
                     arrays: _Arrays) -> Optional[TrainingScores]:
    families = header['training_families']
    if not families:
        return None
    scores = _taken(
        where, arrays, _SCORES, n=len(families), B=len(header['benchmarks']))
    for name, values in scores.items():
        if np.any(values > 1):
            raise InputError(name, 'fractions', f'{values.max()}', _REMEDY)
    return TrainingScores(
        tuple(families),
        *(np.where(part < 0, np.nan, part) for part in scores.values()))


def _tokens(where: FilePath, header: Mapping[str, Any],
            arrays: _Arrays) -> tuple[TargetTokens, 'scipy.sparse.csc_array']:
    """Target tokens, and the matrix of `TokenColumns`."""
    texts, n_units = header['texts'], len(header['units'])
    part = _taken(where, arrays, _TOKENS, S=len(texts), K=n_units)
    n_tokens, tokens = len(part['tokens.starts']), part['matrix.token']
    with errors_name(where, 'tokens that lie in their texts', _REMEDY):
        _offsets(part, 'tokens.per_text', n_tokens)
        spans = TextSpans(part['tokens.starts'], part['tokens.ends'],
                          part['tokens.per_text'], part['tokens.n_bytes'])
        # Compiled code takes them as indices, and does not look.
        _check_places('matrix.token', tokens, n_tokens)
        pointers = _offsets(part, 'matrix.per_column', len(tokens))
        matrix = scipy.sparse.csc_array(
            (part['matrix.value'], tokens, pointers),
            shape=(n_tokens, n_units))
        ids, hashes = zip(*texts)
        return TargetTokens(ids, hashes, spans, header['fingerprint']), matrix


def _check_places(name: str, places: NDArray, n: int) -> None:
    """Refuse indices outside of an array of length n."""
    if np.any((places < 0) | (places >= n)):
        raise InputError(name, f'indices 0 to {n - 1}',
                         f'{places.min()} to {places.max()}', _REMEDY)


def _offsets(part: _Arrays, name: str, total: int) -> NDArray:
    """Where each of some runs of items starts, and the end of the last."""
    counts = part[name]
    if np.any((counts < 0) | (counts > total)) or counts.sum() != total:
        raise InputError(name, f'counts, {total} in all', f'{counts}'[:80],
                         _REMEDY)
    return np.append(0, np.cumsum(counts))


def _taken(where: FilePath,
           arrays: _Arrays,
           layouts: Mapping[str, str],
           prefix: str = '',
           **lengths: int) -> dict[str, NDArray]:
    """Arrays of the file by the names of their layouts, checked.

    Axes of one letter have one length: the given one, or that of the first.
    """
    for name, layout in layouts.items():
        kind, letters = layout[0], layout[1:]
        key = f'{prefix}{name}'
        if key not in arrays:
            raise InputError(where, f'an array {key!r}', 'none', _REMEDY)
        array = arrays[key]
        for letter, length in zip(letters, array.shape):
            lengths.setdefault(letter,
                               int(letter) if letter.isdigit() else length)
        expected = tuple(lengths.get(letter, 'any') for letter in letters)
        if array.shape != expected or array.dtype.kind != kind:
            raise InputError(where,
                             f'{_KINDS[kind]} of shape {expected} in {key!r}',
                             f'{array.dtype} of shape {array.shape}', _REMEDY)
        if not np.all(np.abs(array) <= LARGEST):
            raise InputError(
                where, f'finite numbers of at most {LARGEST:g} in {key!r}',
                'others', _REMEDY)
    return {name: arrays[f'{prefix}{name}'] for name in layouts}
