"""Errors of all methods on zoo models that none of them has seen.

The tables of docs/appendix/zoo.md, from losses and accuracies in the package:

    python -m tools.studies.study_demo_zoo

The last one has errors that the predictor of the package states beside those
that it makes: `reported` are mean squared errors of families left out in
closed form, `expected` the squares of median errors that it expects.

In brackets stand 90 % intervals, for which the runs that are predicted are
drawn again and again. How true the stated errors are, on series of which no
model was fitted to:

    python -m tools.studies.study_demo_zoo --leave-series-out

The label-token loss of the exams' own items, as the paper has it, beside that
of the texts, on the series for which it is known:

    python -m tools.studies.study_demo_zoo --items
"""
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.options import add_flag
from csv_plugin.core.study import geometric_mean
from csv_plugin.demo import shipped
from csv_plugin.io.predictors import load_predictor
from tools.demo_maker.building import LABELLED
from tools.studies.common import error_ratio, parser_of
from tools.studies.zoo_study import (BASELINE, LABEL, LABEL_OF_ITEMS, PAPER,
                                     SALIENCE, TEXTS, TRAIN, VALIDATION,
                                     ZooStudy, reported)

METHODS = ('constant', BASELINE, LABEL, PAPER, TEXTS, SALIENCE)


def squared_errors(study: ZooStudy, *more: str) -> dict[str, NDArray]:
    """Squared errors of all models, `(M, B)`, by method, worst first."""
    fitted = study.models_in(TRAIN, VALIDATION)
    both = kinds_of(study)['both']
    found, means = {}, {}
    for method in (*METHODS, *more):
        predicted = study.by_method(method, fitted)
        found[method] = (predicted - study.observed)**2
        means[method] = geometric_mean(found[method][both].mean(axis=0))
    return {
        method: found[method]
        for method in sorted(found, key=lambda name: -means[name])
    }


def kinds_of(study: ZooStudy) -> dict[str, NDArray]:
    """Kinds of test models, and both together: masks of shape `(M,)`."""
    kinds = study.test_models()
    return {**kinds, 'both': np.any(list(kinds.values()), axis=0)}


def table(study: ZooStudy, squares: Mapping[str, NDArray]) -> str:
    """Errors x 1e-3 of every method, geometric means over the exams."""
    runs = np.array(
        [model.partition('@')[0] for model in study.collection.info])
    kinds = kinds_of(study)
    both = kinds['both']
    rows = []
    for method, part in squares.items():
        row = [method]
        for mask in kinds.values():
            error = 1e3 * geometric_mean(part[mask].mean(axis=0))
            row.append(f'{error:.2f}')
        for base in (BASELINE, LABEL):
            if method == base:
                row.append('1')
                continue
            ratio, low, high = error_ratio(part[both], squares[base][both],
                                           runs[both])
            row.append(f'{ratio:.2f} ({low:.2f} - {high:.2f})')
        rows.append(row)
    header = ['method', *kinds, 'of mean loss', 'of label-token']
    return tabulate(rows, header, 'pipe', disable_numparse=True)


def by_exam(study: ZooStudy, squares: Mapping[str, NDArray]) -> str:
    """Errors x 1e-3 of every exam, in Markdown."""
    rows = []
    for method, part in squares.items():
        for kind, mask in study.test_models().items():
            rows.append([method, kind, *(1e3 * part[mask].mean(axis=0))])
    return tabulate(
        rows, ['method', 'test models', *study.exams], 'pipe', floatfmt='.2f')


def stated_errors(study: ZooStudy) -> str:
    """Errors x 1e-3 that the predictor states and makes, by exam."""
    predictor = load_predictor(shipped.PREDICTOR)
    squares = (study.predicted(predictor) - study.observed)**2
    columns = reported(predictor, study.exams)
    for kind, mask in study.test_models().items():
        columns[kind] = squares[mask].mean(axis=0)
    errors = 1e3 * np.array(list(columns.values()))
    rows = [*zip(study.exams, *errors), ('mean', *errors.mean(axis=1))]
    return tabulate(rows, ['exam', *columns], 'pipe', floatfmt='.2f')


def series_left_out(study: ZooStudy) -> str:
    """Means of errors x 1e-3 over series, each left out, and exams."""
    info = study.collection.info
    errors: dict[str, list[NDArray]] = {}
    for family in tqdm(sorted({row.family for row in info.values()})):
        fitted = [model for model in info if info[model].family != family]
        rows = np.array([row.family == family for row in info.values()])
        ours = study.fit(fitted)
        predicted = {
            BASELINE: study.by_method(BASELINE, fitted),
            LABEL: study.by_method(LABEL, fitted),
            SALIENCE: study.predicted(ours),
        }
        for name, values in predicted.items():
            squares = (values - study.observed)[rows]**2
            errors.setdefault(name, []).append(squares.mean(axis=0))
        for name, stated in reported(ours, study.exams).items():
            errors.setdefault(name, []).append(stated)
    cells = [1e3 * np.concatenate(part) for part in errors.values()]
    rows = [['geometric mean', *map(geometric_mean, cells)],
            ['mean', *(part.mean() for part in cells)]]
    return tabulate(rows, ['series left out', *errors], 'pipe', floatfmt='.2f')


def main() -> None:
    parser = parser_of(__doc__)
    add_flag(parser, '--items', 'label-token losses of the items of exams')
    add_flag(parser, '--leave-series-out', 'fit to all other series for each')
    args = parser.parse_args()
    study = ZooStudy.load()
    if args.leave_series_out:
        print(series_left_out(study))
    elif args.items:
        study = study.of_series(LABELLED)
        print(table(study, squared_errors(study, LABEL_OF_ITEMS)))
    else:
        squares = squared_errors(study)
        for part in (table(study,
                           squares), by_exam(study,
                                             squares), stated_errors(study)):
            print(part, '\n')


if __name__ == '__main__':
    main()
