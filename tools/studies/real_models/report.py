"""The tables and the picture of the documentation."""
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

import csv_plugin as cp
from tools.studies.real_models.analysis import (Errors, Fold, Method,
                                                TokenStudy, compare, errors,
                                                folds, one_model, text_methods)
from tools.studies.real_models.tables import LOSSES, SHIPPED, RealModels

#: Numbers of texts and models, 0 = all, and draws of each.
ALL = 0
FEWER_TEXTS, FEWER_MODELS = (50, 150, 450), (8, 16)
DRAWS = 3


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
            cells += [
                f'{e.error:.2f}', f'{100 * e.coverage:.0f}', f'{e.width:.1f}',
                '-' if np.isnan(e.spearman) else f'{e.spearman:.2f}'
            ]
        lines.append(cells)
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in lines)


def ratios(found: Mapping[str, Errors]) -> str:
    """MSE of the mean loss, divided by that of each method."""
    return 'MSE of the mean loss, times that of: ' + ', '.join(
        f'{name} {found["mean loss"].mse / e.mse:.2f}'
        for name, e in found.items())


def fewer(models: RealModels) -> str:
    """Errors with fewer texts or models, families left out, in Markdown."""
    parts = list(folds(models.models, models.families))
    lines = ['| texts | models | error |', '|---:|---:|---:|']
    sizes = [(n, ALL) for n in FEWER_TEXTS] + [(ALL, n) for n in FEWER_MODELS]
    for n_texts, n_models in sizes:
        found = [
            _error_with_fewer(models, parts, n_texts, n_models,
                              np.random.default_rng(seed))
            for seed in range(DRAWS)
        ]
        lines.append(f'| {n_texts or "all"} | {n_models or "all"} | '
                     f'{np.mean(found):.2f} |')
    shipped = one_model(models, models.part(LOSSES, SHIPPED))
    alone = errors(models.accuracies, parts, list(map(shipped, parts)))
    lines.append(f'| those that ship | all | {alone.error:.2f} |')
    return '\n'.join(lines)


def _error_with_fewer(models: RealModels, parts: Sequence[Fold], n_texts: int,
                      n_models: int, generator: np.random.Generator) -> float:
    method = one_model(models, _some_texts(models, n_texts, generator))
    chosen = []
    for part in parts:
        rows = sorted(
            generator.permutation(len(part.train))[:n_models or None])
        chosen.append(
            part._replace(
                train=[part.train[i] for i in rows],
                groups=[part.groups[i] for i in rows]))
    return errors(models.accuracies, parts, list(map(method, chosen))).error


def _some_texts(models: RealModels, n_texts: int,
                generator: np.random.Generator) -> cp.FeatureTable:
    """The columns of texts that are drawn; 0 = all."""
    texts = models.part(LOSSES)
    units = texts.columns.units
    drawn = np.sort(generator.permutation(len(units))[:n_texts or None])
    return cp.FeatureTable.of_losses(models.models, [units[i] for i in drawn],
                                     texts.values[:, drawn])


def picture(found: Mapping[str, Mapping[str, Errors]], file: Path) -> None:
    """Mean absolute errors of all methods, both protocols."""
    methods = sorted(
        found['families'], key=lambda name: -found['families'][name].error)
    with style.context(['default', {'font.size': 10}]):
        figure = Figure((8, 4.2), dpi=150, layout='constrained')
        axes = figure.subplots()
        for (name, by_method), colour, marker in zip(found.items(),
                                                     ('#0072B2', '#D55E00'),
                                                     'os'):
            axes.plot([by_method[m].error for m in methods],
                      methods,
                      marker,
                      color=colour,
                      label=f'{name} left out')
        axes.set(xlabel='mean absolute error, points of accuracy')
        axes.set_xlim(left=0)
        axes.grid(axis='x', color='#dddddd')
        axes.spines[['top', 'right', 'left']].set_visible(False)
        axes.legend(frameon=False)
        figure.suptitle(
            _finding(found['families']),
            x=0.01,
            ha='left',
            fontsize=11,
            fontweight='bold')
        figure.savefig(file, metadata={'Software': None})


def _finding(found: Mapping[str, Errors]) -> str:
    best = min(found, key=lambda name: found[name].error)
    return (f'Real models: {found[best].error:.1f} points by {best}, '
            f'{found["loss on Wikipedia"].error:.1f} by the loss on '
            'Wikipedia')
