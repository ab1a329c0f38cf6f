"""Save and load predictors as safetensors files with a JSON header.

A file contains the training data (losses and accuracies) and the result of the
fit: the hyper-parameters, which mean losses each benchmark follows, and the
mode of the posterior. Loading a file executes nothing in it, and needs neither
torch nor the scoring LM. docs/appendix/binary_files.md describes the layout.
As a file may come from anyone, the types and shapes of all arrays are checked,
and also whether all indices are inside of the arrays that they point into.
"""
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.accuracy_model import AccuracyModel
from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve_model import CurveModel, Curves
from csv_plugin.core.features import Columns
from csv_plugin.core.fitting import benchmark_fits
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.observed import Observed
from csv_plugin.core.predictor import Fit, Predictor, Units, check_predictor
from csv_plugin.core.settings import Form, Settings
from csv_plugin.core.spans import TextSpans
from csv_plugin.io.containers import (errors_name, read_container,
                                      write_container)
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import LARGEST, check_fields

KIND = 'csv_plugin.predictor'

#: Maps names to arrays.
_Arrays = Mapping[str, NDArray]

#: Types of the fields of the header.
_HEADER_FIELDS = {
    'fingerprint': 'a text',
    'units': 'a list of texts',
    'texts': 'pairs of texts',
    'versions': 'texts by name',
    'models': 'a list of texts',
    'families': 'a list of texts',
    'benchmarks': 'a list of texts',
    'main': 'a list of texts',
    'notes': 'a list',
    'sources': 'a list of texts',
    'settings': 'values by name',
}
#: Layouts of arrays. The first letter is the kind of number (see `_KINDS`).
#: Then follows, for each axis, a letter for its length, or the length itself.
#: K is the number of columns, n of models, B of benchmarks, U of units, F of
#: forms, A of tokens of answers, and C of all other columns.
_FIT = {
    'uniform': 'fK',
    'mean_losses': 'f2',
    'fit.losses': 'fnC',
    'fit.tokens': 'fnA',
    'fit.accuracies': 'fnB',
    'fit.chance': 'fB',
    'fit.n_items': 'iB',
    'units.columns': 'iU',
}
#: Layouts of the arrays of an `AccuracyModel`, and of the arrays of each of
#: its forms. H is the number of hyper-parameters. Here, C is the number of
#: mean losses.
_MODEL = {'model.floor': 'fB', 'model.shares': 'fFB'}
_FORM = {'hyper': 'fH', 'shares': 'fCB', 'tangent_dual': 'fBn', 'doubt': 'fnB'}
#: Layouts of the arrays of a `CurveModel`. `left_out` is -1 where there is no
#: left-out prediction.
_CURVES = {
    'curves.alpha': 'fB',
    'curves.beta': 'fB',
    'curves.floor': 'fB',
    'curves.left_out': 'fnB',
}
#: Layouts of the arrays of predictors from token losses. S is the number of
#: texts, T of tokens, and E of entries of the sparse matrix.
_TOKENS = {
    'tokens.per_text': 'iS',
    'tokens.n_bytes': 'iS',
    'tokens.starts': 'iT',
    'tokens.ends': 'iT',
    'matrix.per_column': 'iK',
    'matrix.token': 'iE',
    'matrix.value': 'fE',
}
_KINDS = {'f': 'floating-point numbers', 'i': 'whole numbers', 'b': 'booleans'}

#: The largest number below 1.
BELOW_1 = float(np.nextafter(1, 0))
#: Largest absolute value that is accepted for exponents and for logarithms of
#: hyper-parameters. Even the square of e to this power is far from overflow.
LARGEST_LOG = 50.

_REMEDY = 'Train the predictor again or fetch an intact copy.'


def save_predictor(predictor: Predictor, path: FilePath) -> None:
    """Write a predictor; the file appears completely or not at all.

    Raises:
        InputError: The folder does not exist, or no predictor is given.
    """
    check_predictor(predictor)
    columns = predictor.columns
    fit = predictor.fit
    model = predictor.model
    targets = predictor.targets
    matrix = predictor.matrix
    tokens = fit.units.tokens
    arrays: dict[str, NDArray] = {
        'uniform': columns.uniform,
        'mean_losses': predictor.mean_losses,
        'fit.losses': np.delete(fit.losses, tokens, axis=1),
        'fit.tokens': fit.losses[:, tokens].astype(np.float32),
        'fit.accuracies': np.nan_to_num(fit.observed.accuracies, nan=-1),
        'fit.chance': fit.observed.chance,
        'fit.n_items': fit.observed.n_items,
        'units.columns': fit.units.columns,
    }
    for b, name in enumerate(fit.benchmarks):
        if name in fit.units.answers:
            arrays[f'units.answers.{b}'] = fit.units.answers[name]
    if isinstance(model, CurveModel):
        left_out = np.nan_to_num(model.checked_accuracies, nan=-1)
        arrays |= {
            'curves.alpha': model.curves.alpha,
            'curves.beta': model.curves.beta,
            'curves.floor': model.curves.floor,
            'curves.left_out': left_out,
        }
    else:
        arrays['model.floor'] = model.floor
        arrays['model.shares'] = model.shares
        for f, member in enumerate(model.members):
            for name, array in member.state.items():
                arrays[f'{f}.{name}'] = array
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
    header = {
        'fingerprint': columns.fingerprint,
        'units': columns.units,
        'texts': texts,
        'versions': dict(predictor.versions),
        'models': fit.models,
        'families': list(fit.observed.families),
        'benchmarks': fit.benchmarks,
        'main': fit.main,
        'notes': [part.notes for part in predictor.benchmarks],
        'sources': fit.units.sources.tolist(),
        'settings': asdict(model.settings),
    }
    write_container(path, KIND, header, arrays)


def load_predictor(path: FilePath) -> Predictor:
    """Read a predictor that `save_predictor` wrote.

    Raises:
        InputError: The file is missing, damaged, not a predictor or of
            another format version; or a field or an array in it is missing,
            has a wrong type or shape, or has values outside of its range.
    """
    header, arrays = read_container(path, KIND, _REMEDY)
    check_fields(path, 'the header', header, _HEADER_FIELDS, _REMEDY)
    names = tuple(header['benchmarks'])
    part = _taken(
        path,
        arrays,
        _FIT,
        K=len(header['units']),
        n=len(header['models']),
        B=len(names),
        U=len(header['sources']))
    with errors_name(path, 'parts of a single predictor', _REMEDY):
        units = _units(header, arrays, part['units.columns'])
        fit = _fit(header, part, units)
        model = _model(path, header, arrays, fit)
        notes = _notes(path, header['notes'], names)
        scored = None
        targets = None
        matrix = None
        lengths: dict[str, int] = {}
        if header['texts']:
            targets, matrix = _tokens(path, header, arrays)
            lengths = dict(T=targets.n_tokens)
        if 'scored' in arrays:
            part |= _taken(path, arrays, {'scored': 'bT'}, **lengths)
            scored = part['scored']
        columns = Columns(
            tuple(header['units']), part['uniform'], header['fingerprint'],
            scored)
        return Predictor(
            columns=columns,
            fit=fit,
            model=model,
            benchmarks=benchmark_fits(fit, model, notes),
            versions=header['versions'],
            mean_losses=part['mean_losses'],
            targets=targets,
            matrix=matrix)


def _notes(path: FilePath, notes: list[Any],
           names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the notes on each benchmark, by its name."""
    if len(notes) != len(names):
        raise InputError('notes', f'{len(names)} lists', f'{len(notes)}',
                         _REMEDY)
    found = {}
    for name, texts in zip(names, notes):
        check_fields(path, f'the notes of {name!r}', {'notes': texts},
                     {'notes': 'a list of texts'}, _REMEDY)
        found[name] = tuple(texts)
    return found


def _units(header: Mapping[str, Any], arrays: _Arrays,
           columns: NDArray) -> Units:
    """Read which columns are units, and which are tokens of answers."""
    n_columns = len(header['units'])
    _check_indices('units.columns', columns, n_columns)
    answers = {}
    for b, name in enumerate(header['benchmarks']):
        key = f'units.answers.{b}'
        if key in arrays:
            part = _taken('units', arrays, {key: 'iA'})
            _check_indices(key, part[key], n_columns)
            answers[name] = part[key]
    sources = np.array(header['sources'], dtype=np.str_)
    return Units(columns, sources, answers)


def _fit(header: Mapping[str, Any], part: _Arrays, units: Units) -> Fit:
    """Read the training models, and check the ranges of their accuracies."""
    accuracies = part['fit.accuracies']
    chance = part['fit.chance']
    n_items = part['fit.n_items']
    models = tuple(header['models'])
    families = tuple(header['families'])
    if np.any(accuracies > 1):
        raise InputError('fit.accuracies', 'fractions', f'{accuracies.max()}',
                         _REMEDY)
    _check_range('fit.n_items', n_items, 0, LARGEST)
    _check_range('fit.chance', chance, 0, BELOW_1)
    if len(families) != len(models):
        raise InputError('families', f'{len(models)} names',
                         f'{len(families)}', _REMEDY)
    accuracies = np.where(accuracies < 0, np.nan, accuracies)
    observed = Observed(accuracies, families, chance, n_items)
    return Fit(
        models=models,
        benchmarks=tuple(header['benchmarks']),
        main=tuple(header['main']),
        losses=_losses(part, units),
        observed=observed,
        units=units)


def _losses(part: _Arrays, units: Units) -> Floats:
    """Join the losses of all columns, `(n, K)`.

    In the file, the columns of tokens of answers are in an array of their own.
    """
    of_others = part['fit.losses']
    of_tokens = part['fit.tokens']
    n_columns = len(part['uniform'])
    tokens = units.tokens
    others = np.delete(np.arange(n_columns), tokens)
    n_stored = of_others.shape[1], of_tokens.shape[1]
    if n_stored != (len(others), len(tokens)):
        raise InputError('fit.losses and fit.tokens',
                         f'{len(others)} and {len(tokens)} columns',
                         f'{n_stored[0]} and {n_stored[1]}', _REMEDY)
    found = np.zeros((len(of_others), n_columns))
    found[:, others] = of_others
    found[:, tokens] = of_tokens
    return found


def _model(path: FilePath, header: Mapping[str, Any], arrays: _Arrays,
           fit: Fit) -> AccuracyModel | CurveModel:
    """Read the `AccuracyModel` or the `CurveModel` of a predictor."""
    n_models, n_benchmarks = fit.observed.accuracies.shape
    lengths = dict(n=n_models, B=n_benchmarks)
    settings = _settings(path, header['settings'])
    if 'curves.alpha' in arrays:
        part = _taken(path, arrays, _CURVES, **lengths)
        curves = Curves(part['curves.alpha'], part['curves.beta'],
                        part['curves.floor'])
        left_out = part['curves.left_out']
        _check_range('curves.left_out', left_out, -1, 1)
        # A flat curve (alpha 0) lies half-way between its floor and 1. It
        # needs a floor below 0 to be at an accuracy below 1/2.
        lowest = np.where(curves.alpha == 0, -1, 0)
        _check_range('curves.floor', curves.floor, lowest, BELOW_1)
        left_out = np.where(left_out < 0, np.nan, left_out)
        return CurveModel(curves, left_out, fit.observed, settings)
    n_forms = len(settings.forms)
    part = _taken(path, arrays, _MODEL, F=n_forms, **lengths)
    found = []
    for f in range(n_forms):
        found.append(_taken(path, arrays, _FORM, f'{f}.', **lengths))
    _check_range('fit.losses', fit.losses, 0, LARGEST)
    _check_range('model.floor', part['model.floor'], 0, fit.observed.chance)
    _check_range('model.shares', part['model.shares'], 0, 1)
    for each in found:
        _check_range('hyper', each['hyper'], -LARGEST_LOG, LARGEST_LOG)
        _check_range('shares', each['shares'], 0, 1)
        _check_range('doubt', each['doubt'], 0, LARGEST)
    losses = fit.units.losses(fit.losses, fit.benchmarks)
    try:
        with np.errstate(all='ignore'):
            model = AccuracyModel.restored(losses, fit.observed, settings,
                                           part['model.floor'],
                                           part['model.shares'], found)
    except np.linalg.LinAlgError as error:
        raise InputError(path, 'a positive definite covariance matrix',
                         f'{error}', _REMEDY) from error
    deviations = [model.usual_deviations, model.noise]
    if not np.isfinite(deviations).all():
        raise InputError(path, 'finite standard deviations',
                         'infinite deviations or NaN', _REMEDY)
    return model


def _check_range(name: str, values: NDArray, low: float | NDArray,
                 high: float | NDArray) -> None:
    """Raise an `InputError` unless all numbers are in `low`..`high`."""
    is_outside = (values < low) | (values > high)
    if is_outside.any():
        first = values[is_outside][0]
        raise InputError(name, f'numbers in {low}..{high}'[:80], f'{first:g}',
                         _REMEDY)


def _settings(path: FilePath, values: Mapping[str, Any]) -> Settings:
    """Read the settings of the fit, and check their types."""
    usual = Settings()
    names = list(vars(usual))
    if set(values) != set(names):
        raise InputError('settings', f'{sorted(names)}', f'{sorted(values)}',
                         _REMEDY)
    kinds = dict.fromkeys(names, 'a number')
    kinds |= {'forms': 'a list', 'floors': 'a list', 'most_models': 'a count'}
    check_fields(path, 'the settings', values, kinds, _REMEDY)
    numbers = dict(values)
    form_fields = numbers.pop('forms')
    floors = numbers.pop('floors')
    for name, value in numbers.items():
        # A setting whose default is above 0 must be above 0.
        if getattr(usual, name) > 0 and not value > 0:
            raise InputError(f'settings, {name}', 'a number above 0',
                             f'{value}', _REMEDY)
    kinds_of_form = {'logarithms': 'true or false', 'straight': 'a number'}
    forms = []
    for i, form in enumerate(form_fields):
        check_fields(path, f'form {i}', form, kinds_of_form, _REMEDY)
        straight = form['straight']
        _check_range('straight', np.array(straight), 1, LARGEST_LOG)
        forms.append(Form(form['logarithms'], straight))
    if not forms:
        raise InputError('settings', 'one form or more', 'none', _REMEDY)
    for floor in floors:
        check_fields(path, 'the settings', {'floors': floor},
                     {'floors': 'a number'}, _REMEDY)
    return Settings(forms=tuple(forms), floors=tuple(floors), **numbers)


def _tokens(where: FilePath, header: Mapping[str, Any],
            arrays: _Arrays) -> tuple[TargetTokens, 'scipy.sparse.csc_array']:
    """Read the tokens of the scoring LM, and the matrix of the columns.

    An entry of the matrix, `(T, K)`, says how much a column grows if the loss
    of a token grows by one nat.
    """
    texts = header['texts']
    n_units = len(header['units'])
    part = _taken(where, arrays, _TOKENS, S=len(texts), K=n_units)
    n_tokens = len(part['tokens.starts'])
    tokens = part['matrix.token']
    with errors_name(where, 'tokens that lie in their texts', _REMEDY):
        _offsets(part, 'tokens.per_text', n_tokens)
        spans = TextSpans(part['tokens.starts'], part['tokens.ends'],
                          part['tokens.per_text'], part['tokens.n_bytes'])
        # Compiled code of scipy uses these indices without checking them.
        _check_indices('matrix.token', tokens, n_tokens)
        pointers = _offsets(part, 'matrix.per_column', len(tokens))
        matrix = scipy.sparse.csc_array(
            (part['matrix.value'], tokens, pointers),
            shape=(n_tokens, n_units))
        ids, hashes = zip(*texts)
        targets = TargetTokens(ids, hashes, spans, header['fingerprint'])
        return targets, matrix


def _check_indices(name: str, indices: NDArray, n: int) -> None:
    """Raise an `InputError` for an index outside of an array of length n."""
    is_outside = (indices < 0) | (indices >= n)
    if is_outside.any():
        raise InputError(name, f'indices 0 to {n - 1}',
                         f'{indices.min()} to {indices.max()}', _REMEDY)


def _offsets(part: _Arrays, name: str, total: int) -> NDArray:
    """Return the cumulative sums of an array of counts, with 0 in front.

    Raises:
        InputError: The counts do not add up to `total`.
    """
    counts = part[name]
    is_outside = (counts < 0) | (counts > total)
    if is_outside.any() or counts.sum() != total:
        raise InputError(name, f'counts, {total} in all', f'{counts}'[:80],
                         _REMEDY)
    return np.append(0, np.cumsum(counts))


def _taken(where: FilePath,
           arrays: _Arrays,
           layouts: Mapping[str, str],
           prefix: str = '',
           /,
           **lengths: int) -> dict[str, NDArray]:
    """Return the arrays of a file that have these layouts, by their names.

    In the file, the prefix stands before each name. All axes with the same
    letter must have the same length. It is the length in `lengths`, or if the
    letter is not there, the length of the first such axis. All numbers must be
    finite.
    """
    for name, layout in layouts.items():
        kind = layout[0]
        letters = layout[1:]
        key = f'{prefix}{name}'
        if key not in arrays:
            raise InputError(where, f'an array {key!r}', 'none', _REMEDY)
        array = arrays[key]
        for letter, length in zip(letters, array.shape):
            if letter.isdigit():
                length = int(letter)
            lengths.setdefault(letter, length)
        expected = tuple(lengths.get(letter, 'any') for letter in letters)
        if array.shape != expected or array.dtype.kind != kind:
            raise InputError(where,
                             f'{_KINDS[kind]} of shape {expected} in {key!r}',
                             f'{array.dtype} of shape {array.shape}', _REMEDY)
        is_moderate = np.abs(array) <= np.float64(LARGEST)
        if not is_moderate.all():
            raise InputError(
                where, f'finite numbers of at most {LARGEST:g} in {key!r}',
                'larger numbers or NaN', _REMEDY)
    return {name: arrays[f'{prefix}{name}'] for name in layouts}
