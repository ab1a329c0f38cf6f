"""The tables and the picture of the documentation."""
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

import csv_plugin as cp
from csv_plugin.core.salience import SOLVERS
from tools.studies.real_models.analysis import (Errors, Method, TokenStudy,
                                                compare, method_on,
                                                text_methods)
from tools.studies.real_models.tables import RealModels

#: Texts and models of the smaller studies, and draws of each number.
FEWER_TEXTS = (50, 100, 200, 400, 800)
FEWER_MODELS = (10, 15, 20, 30)
DRAWS = 5


def protocols(models: RealModels) -> dict[str, Sequence[str]]:
    """Groups of models that are left out together, by name."""
    return {'families': models.families, 'degradations': models.kinds}


def all_errors(models: RealModels,
               tokens: TokenStudy | None) -> dict[str, dict[str, Errors]]:
    """Errors of all methods by protocol; those on tokens need the run."""
    methods: dict[str, Method] = text_methods(models)
    if tokens is not None:
        methods |= tokens.methods()
    return {
        name: compare(models, methods, groups)
        for name, groups in protocols(models).items()
    }


def table(found: Mapping[str, Mapping[str, Errors]]) -> str:
    """Both protocols side by side, in Markdown."""
    head = ['method'] + [
        f'{name}: {what}' for name in found
        for what in ('error', 'coverage, %', 'width', 'ranks')
    ]
    lines = [head, [':---'] + ['---:'] * (len(head) - 1)]
    for method in next(iter(found.values())):
        cells = [method]
        for by_method in found.values():
            e = by_method[method]
            cells += [f'{e.error:.2f}', f'{100 * e.coverage:.0f}',
                      f'{e.width:.1f}', f'{e.spearman:.2f}']  # yapf: disable
        lines.append(cells)
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in lines)


def fewer(models: RealModels) -> str:
    """Errors with fewer texts, families left out, mean over draws."""
    generator = np.random.default_rng(0)
    units = models.losses.columns.units
    ids = sorted({unit.split(': ')[1] for unit in units})
    lines = ['| texts | error |', '|---:|---:|']
    for n_texts in FEWER_TEXTS:
        found = []
        for _ in range(DRAWS):
            kept = set(generator.choice(ids, n_texts, replace=False))
            columns = [
                i for i, unit in enumerate(units)
                if unit.split(': ')[1] in kept
            ]
            features = cp.FeatureTable.of_losses(
                models.models, [units[i] for i in columns],
                models.losses.values[:, columns])
            method = method_on(models, features, SOLVERS['averaged'])
            found.append(
                compare(models, {'texts': method},
                        models.families)['texts'].error)
        lines.append(f'| {n_texts} | {np.mean(found):.2f} |')
    return '\n'.join(lines)


def picture(found: Mapping[str, Mapping[str, Errors]], file: Path) -> None:
    """Mean absolute errors of all methods, both protocols."""
    methods = sorted(
        found['families'], key=lambda name: -found['families'][name].error)
    with style.context(['default', {'font.size': 10}]):
        figure = Figure((8, 4.2), dpi=150, layout='constrained')
        axes = figure.subplots()
        for (name, errors), colour, marker in zip(found.items(),
                                                  ('#0072B2', '#D55E00'),
                                                  'os'):
            axes.plot([errors[m].error for m in methods],
                      methods,
                      marker,
                      color=colour,
                      label=f'{name} left out')
        axes.set(xlabel='mean absolute error, points of accuracy')
        axes.set_xlim(left=0)
        axes.grid(axis='x', color='#dddddd')
        axes.spines[['top', 'right', 'left']].set_visible(False)
        axes.legend(frameon=False)
        axes.set_title(
            _finding(found['families']),
            loc='left',
            fontsize=11,
            fontweight='bold')
        figure.savefig(file, metadata={'Software': None})


def _finding(errors: Mapping[str, Errors]) -> str:
    best = min(errors, key=lambda name: errors[name].error)
    return (f'Real models: {errors[best].error:.1f} points by {best}, '
            f'{errors["loss on Wikipedia"].error:.1f} by the loss on '
            'Wikipedia')
