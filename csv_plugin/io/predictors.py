"""Predictors as one safetensors file: arrays, and the rest as JSON.

Nothing in it is executed on loading, and neither torch nor the scoring LM
is needed. docs/formats.md describes the layout.
"""
import json
import math
import os
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from csv_plugin.core.errors import InputError
from csv_plugin.core.intervals import Intervals
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.salience import SalienceModel
from csv_plugin.io.atomic import atomic_path

FORMAT = 'csv_plugin.predictor'
FORMAT_VERSION = 1

_REMEDY = 'Train the predictor again or fetch an intact copy.'


def save_predictor(predictor: Predictor, path: str | os.PathLike[str]) -> None:
    """Write a predictor; the file appears whole or not at all.

    Args:
        predictor (Predictor): What `fit_predictor` returned.
        path (str | os.PathLike[str]): The file to create or replace.

    Raises:
        InputError: If the folder does not exist.
    """
    arrays = {'uniform': predictor.uniform}
    for index, known in enumerate(predictor.benchmarks):
        for name, array in _arrays(known).items():
            arrays[f'{index}.{name}'] = np.ascontiguousarray(array)
    header = {
        'format': FORMAT,
        'format_version': FORMAT_VERSION,
        'fingerprint': predictor.fingerprint,
        'units': predictor.units,
        'versions': dict(predictor.versions),
        'benchmarks': [_scalars(known) for known in predictor.benchmarks],
    }
    text = json.dumps(header, allow_nan=False, ensure_ascii=False)
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, metadata={FORMAT: text})


def load_predictor(path: str | os.PathLike[str]) -> Predictor:
    """Read what `save_predictor` wrote.

    Raises:
        InputError: If the file is missing, truncated, not a predictor, of
            a later format, or holds arrays that are absent, misshapen or
            not finite.
    """
    where = os.fspath(path)
    header, arrays = _read(where)
    if header.get('format_version') != FORMAT_VERSION:
        raise InputError(
            where, f'format version {FORMAT_VERSION}',
            f'version {header.get("format_version")!r}',
            'Install the version of csv_plugin that wrote it: '
            f'{header.get("versions")}.')
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(where, 'finite arrays',
                             f'NaN or infinity in {name!r}', _REMEDY)
    try:
        benchmarks = tuple(
            _benchmark(scalars, index, arrays)
            for index, scalars in enumerate(header['benchmarks']))
        predictor = Predictor(
            tuple(header['units']), arrays['uniform'], header['fingerprint'],
            benchmarks, header['versions'])
    except (KeyError, TypeError) as error:
        raise InputError(where, 'a complete predictor', f'no {error}',
                         _REMEDY) from error
    _check_shapes(where, predictor)
    return predictor


def _arrays(known: BenchmarkPredictor) -> dict[str, NDArray]:
    folds, intervals = known.intervals.folds, known.intervals
    return {
        'coefficients': known.model.coefficients,
        'curve': _curve(known.model),
        'fold_coefficients': folds.coefficients,
        'fold_curves': _curve(folds),
        'errors': intervals.errors,
        'error_fold': intervals.fold,
        'backtest': intervals.backtest,
    }


def _curve(model: SalienceModel) -> NDArray:
    """alpha, beta and floor along the last axis."""
    return np.stack([model.alpha, model.beta, model.floor], axis=-1)


def _model(coefficients: NDArray, curve: NDArray) -> SalienceModel:
    return SalienceModel(coefficients, curve[..., 0], curve[..., 1], curve[...,
                                                                           2])


def _scalars(known: BenchmarkPredictor) -> dict[str, Any]:
    """The JSON part of a benchmark; null stands for 'not finite'."""
    return {
        'benchmark': known.benchmark,
        'chance': known.chance,
        'n_items': known.n_items,
        'fit_models': known.fit_models,
        'solver': known.solver,
        'penalty': _finite(known.penalty),
        'cv_mse': _finite(known.cv_mse),
        'score_low': known.intervals.score_low,
        'score_high': known.intervals.score_high,
        'notes': known.notes,
    }


def _finite(number: float) -> Optional[float]:
    return number if math.isfinite(number) else None


def _benchmark(scalars: Mapping[str, Any], index: int,
               arrays: Mapping[str, NDArray]) -> BenchmarkPredictor:
    part = {
        name.partition('.')[2]: array
        for name, array in arrays.items() if name.startswith(f'{index}.')
    }
    penalty, cv_mse = scalars['penalty'], scalars['cv_mse']
    return BenchmarkPredictor(
        scalars['benchmark'], scalars['chance'], scalars['n_items'],
        tuple(scalars['fit_models']), scalars['solver'],
        math.inf if penalty is None else penalty,
        math.nan if cv_mse is None else cv_mse,
        _model(part['coefficients'], part['curve']),
        Intervals(
            _model(part['fold_coefficients'],
                   part['fold_curves']), part['errors'], part['error_fold'],
            part['backtest'], scalars['score_low'], scalars['score_high']),
        tuple(scalars['notes']))


def _read(where: str) -> tuple[dict[str, Any], dict[str, NDArray]]:
    try:
        with safe_open(where, framework='numpy') as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}
        header = json.loads(metadata[FORMAT])
    except (OSError, SafetensorError) as error:
        raise InputError(where, 'a readable safetensors file', f'{error}',
                         'Check the path; fetch an intact copy.') from error
    except (KeyError, ValueError) as error:
        raise InputError(where, 'a predictor of csv_plugin',
                         'another safetensors file',
                         'Give the file that a training wrote.') from error
    return header, arrays


def _check_shapes(where: str, predictor: Predictor) -> None:
    n_units = len(predictor.units)
    for known in predictor.benchmarks:
        folds = known.intervals.folds
        n_folds, n_errors = len(folds.alpha), len(known.intervals.errors)
        shapes = {
            'uniform': (predictor.uniform.shape, (n_units, )),
            'coefficients': (known.model.coefficients.shape, (n_units, )),
            'fold_coefficients':
            (folds.coefficients.shape, (n_folds, n_units)),
            'error_fold': (known.intervals.fold.shape, (n_errors, )),
        }
        for name, (found, expected) in shapes.items():
            if found != expected:
                raise InputError(
                    where, f'{name} of shape {expected} for '
                    f'{known.benchmark!r}', str(found), _REMEDY)
