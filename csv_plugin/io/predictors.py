"""Predictors as safetensors files: arrays, and the rest as JSON.

Loading a file executes nothing in it, and needs neither torch nor the scoring
LM. docs/formats.md describes the layout.
"""
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns
from csv_plugin.core.intervals import Intervals
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.salience import SalienceModel
from csv_plugin.core.scaling_law import Curve
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.targets import TargetTokens
from csv_plugin.io.files import FilePath, atomic_path, check_fields

FORMAT = 'csv_plugin.predictor'
FORMAT_VERSION = 1

_Arrays = Mapping[str, NDArray]

_HEADER_FIELDS = {
    'fingerprint': 'a text',
    'units': 'a list of texts',
    'texts': 'pairs of texts',
    'versions': 'texts by name',
    'benchmarks': 'a list',
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
    'notes': 'a list of texts',
}
#: Axes of a benchmark's arrays: K units, F folds, N errors, b errors of the
#: back-test.
_SHAPES = {
    'coefficients': 'K',
    'curve': '3',
    'fold_coefficients': 'FK',
    'fold_curves': 'F3',
    'errors': 'N',
    'error_fold': 'N',
    'error_variance': '2',
    'backtest': 'b',
}
#: Axes of the arrays about tokens: S texts, T tokens, K units, E entries of
#: the matrix.
_TOKEN_SHAPES = {
    'tokens.per_text': 'S',
    'tokens.n_bytes': 'S',
    'tokens.starts': 'T',
    'tokens.ends': 'T',
    'matrix.per_column': 'K',
    'matrix.token': 'E',
    'matrix.value': 'E',
}

_REMEDY = 'Train the predictor again or fetch an intact copy.'


def save_predictor(predictor: Predictor, path: FilePath) -> None:
    """Write a predictor; the file appears whole or not at all.

    Args:
        predictor (Predictor): What `fit_predictor` returned.
        path (FilePath): The file to create or replace.

    Raises:
        InputError: The folder does not exist.
    """
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
    header = {
        'format': FORMAT,
        'format_version': FORMAT_VERSION,
        'fingerprint': columns.fingerprint,
        'units': columns.units,
        'texts': texts,
        'versions': dict(predictor.versions),
        'benchmarks': [_scalars(part) for part in predictor.benchmarks],
    }
    # safetensors writes arrays with strides wrongly, and raises no error.
    contiguous = {key: np.ascontiguousarray(arrays[key]) for key in arrays}
    text = json.dumps(header, allow_nan=False, ensure_ascii=False)
    with atomic_path(path) as temporary:
        # save_file would make a file that only its owner may read.
        temporary.write_bytes(save(contiguous, metadata={FORMAT: text}))


def load_predictor(path: FilePath) -> Predictor:
    """Read what `save_predictor` wrote.

    Raises:
        InputError: The file is missing, truncated, not a predictor or of a
            later format; or a field or an array in it is missing, of another
            type or shape, or not finite.
    """
    where = os.fspath(path)
    header, arrays = _read(where)
    lengths = {'K': len(header['units']), '2': 2, '3': 3}
    uniform = _array(where, arrays, 'uniform', 'K', lengths)
    benchmarks = tuple(
        _benchmark(where, scalars, index, arrays, lengths)
        for index, scalars in enumerate(header['benchmarks']))
    scored = None
    if 'scored' in arrays:
        scored = _array(where, arrays, 'scored', 'T', lengths).astype(bool)
    tokens = _tokens(where, header, arrays, lengths)
    try:
        columns = Columns(
            tuple(header['units']), uniform, header['fingerprint'], scored)
        return Predictor(columns, benchmarks, header['versions'], *tokens)
    except InputError as error:
        raise InputError(where, 'parts of a single predictor',
                         f'parts that do not fit ({error})',
                         _REMEDY) from error


def _tokens(
    where: str, header: Mapping[str, Any], arrays: _Arrays,
    lengths: dict[str,
                  int]) -> tuple[Optional[TargetTokens], Optional[csc_array]]:
    texts = header['texts']
    if not texts:
        return None, None
    lengths['S'] = len(texts)
    part = {
        name: _array(where, arrays, name, letters, lengths)
        for name, letters in _TOKEN_SHAPES.items()
    }
    try:
        return _unpack_tokens(part, texts, header['fingerprint'], lengths['K'])
    except (InputError, ValueError) as error:
        raise InputError(where, 'tokens that lie in their texts',
                         f'tokens that do not ({error})', _REMEDY) from error


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
    """The inverse of `_pack_tokens`.

    Args:
        part (Mapping): The arrays by name, in the shapes of `_TOKEN_SHAPES`.
        texts (Sequence): Id and SHA-256 of each of S texts.
        fingerprint (str): Of the validation set.
        n_columns (int): K.

    Raises:
        InputError: The tokens do not lie in their texts.
        ValueError: The parts do not fit each other.
    """
    ends = np.cumsum(part['tokens.per_text'])[:-1]
    spans = tuple(
        TokenSpans(*tokens) for tokens in zip(
            np.split(part['tokens.starts'], ends),
            np.split(part['tokens.ends'], ends), (
                int(n) for n in part['tokens.n_bytes'])))
    pointers = np.append(0, np.cumsum(part['matrix.per_column']))
    matrix = csc_array((part['matrix.value'], part['matrix.token'], pointers),
                       shape=(len(part['tokens.starts']), n_columns))
    matrix.check_format()
    ids, hashes = zip(*texts)
    return TargetTokens(ids, hashes, spans, fingerprint), matrix


def _arrays(part: BenchmarkPredictor) -> dict[str, NDArray]:
    folds, intervals = part.intervals.folds, part.intervals
    return {
        'coefficients': part.model.coefficients,
        'curve': _parameters(part.model.curve),
        'fold_coefficients': folds.coefficients,
        'fold_curves': _parameters(folds.curve),
        'errors': intervals.errors,
        'error_fold': intervals.fold,
        'error_variance': intervals.variance,
        'backtest': intervals.backtest,
    }


def _parameters(curve: Curve) -> NDArray:
    """alpha, beta and floor along the last axis."""
    return np.stack([curve.alpha, curve.beta, curve.floor], axis=-1)


def _model(coefficients: NDArray, parameters: NDArray) -> SalienceModel:
    return SalienceModel(coefficients, Curve(*np.moveaxis(parameters, -1, 0)))


def _scalars(part: BenchmarkPredictor) -> dict[str, Any]:
    """The JSON part of a benchmark; null stands for what is not finite."""
    return {
        'benchmark': part.benchmark,
        'chance': part.chance,
        'n_items': part.n_items,
        'fit_models': part.fit_models,
        'solver': part.solver,
        'penalty': _finite(part.penalty),
        'cv_mse': _finite(part.cv_mse),
        'score_low': _finite(part.intervals.score_low),
        'score_high': _finite(part.intervals.score_high),
        'notes': part.notes,
    }


def _finite(number: float) -> Optional[float]:
    return number if math.isfinite(number) else None


def _benchmark(where: str, scalars: Any, index: int, arrays: _Arrays,
               lengths: Mapping[str, int]) -> BenchmarkPredictor:
    check_fields(where, f'benchmark {index}', scalars, _BENCHMARK_FIELDS,
                 _REMEDY)
    # F, N and b are lengths of this benchmark alone.
    sizes = dict(lengths)
    part = {
        name: _array(where, arrays, f'{index}.{name}', letters, sizes)
        for name, letters in _SHAPES.items()
    }
    fold, n_folds = part['error_fold'], len(part['fold_curves'])
    if fold.dtype.kind != 'i' or np.any((fold < 0) | (fold >= n_folds)):
        raise InputError(where, f'whole numbers below {n_folds} in error_fold',
                         f'{fold.dtype} {fold.tolist()}'[:80], _REMEDY)
    return BenchmarkPredictor(
        scalars['benchmark'], scalars['chance'], scalars['n_items'],
        tuple(scalars['fit_models']), scalars['solver'],
        _number(scalars['penalty'], math.inf),
        _number(scalars['cv_mse'], math.nan),
        _model(part['coefficients'], part['curve']),
        Intervals(
            _model(part['fold_coefficients'], part['fold_curves']),
            len(scalars['fit_models']), part['errors'], fold,
            part['error_variance'], part['backtest'],
            _number(scalars['score_low'], math.inf),
            _number(scalars['score_high'], -math.inf)),
        tuple(scalars['notes']))


def _number(value: Optional[float], null: float) -> float:
    return null if value is None else value


def _array(where: str, arrays: _Arrays, key: str, letters: str,
           lengths: dict[str, int]) -> NDArray:
    """An array, checked.

    Args:
        where (str): The file, for errors.
        arrays (_Arrays): All arrays of the file.
        key (str): Name of the array.
        letters (str): A letter or digit for each of its axes.
        lengths (dict[str, int]): Length of an axis by letter. Letters that it
            lacks are added with the lengths that this array has.

    Raises:
        InputError: There is no such array, an axis has another length, or a
            number is not finite.
    """
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
    return array


def _read(where: str) -> tuple[dict[str, Any], _Arrays]:
    if os.path.isdir(where):
        raise InputError(where, 'a file', 'a folder',
                         'Name the predictor in it.')
    try:
        with safe_open(where, framework='numpy') as file:
            header = _header(where, file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}
    # TypeError: an array of a type that numpy does not have.
    except (OSError, SafetensorError, TypeError) as error:
        raise InputError(where, 'a readable safetensors file', f'{error}',
                         'Check the path; fetch an intact copy.') from error
    return header, arrays


def _header(where: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        header = json.loads(metadata[FORMAT])
    except (KeyError, ValueError) as error:
        raise InputError(where, 'a predictor of csv_plugin',
                         'another safetensors file',
                         'Give the file that a training wrote.') from error
    check_fields(where, 'the header', header, {}, _REMEDY)
    if header.get('format_version') != FORMAT_VERSION:
        raise InputError(
            where, f'format version {FORMAT_VERSION}',
            f'version {header.get("format_version")!r}',
            'Install the version of csv_plugin that wrote it: '
            f'{header.get("versions")}.')
    check_fields(where, 'the header', header, _HEADER_FIELDS, _REMEDY)
    return header
