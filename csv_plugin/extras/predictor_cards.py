"""Cards of predictors: the content of a file as Markdown."""
import math
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from csv_plugin.core.escaping import markdown
from csv_plugin.core.formatting import (number, percent, shortened,
                                        whole_percents)
from csv_plugin.core.held_out_errors import ERROR_HEADER, ERROR_LEGEND
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.io.text_sets import forbidden_uses
from csv_plugin.report.notes import learning_notes

#: Most characters of a list of names.
_WIDTH = 300
_NOT_RECORDED = 'not recorded'


def predictor_card(name: str, predictor: Predictor) -> str:
    """Describe the training, the range and the errors of a predictor.

    Args:
        name (str): The title.
        predictor (Predictor): Such as `load_predictor` returns.

    Returns:
        str: Markdown with a line feed at its end.
    """
    parts = predictor.benchmarks
    lines = [
        f'# {markdown(name)}', '',
        f'Predicts accuracies on {_listed(predictor.names)} from '
        f'{_units(predictor)}.', '', *_origin(predictor), '',
        '## Benchmarks', '',
        *_table(('benchmark', 'chance', 'items', 'models', 'their accuracies',
                 'method', *ERROR_HEADER),
                map(_benchmark_row, parts)), '',
        f'Percent. {ERROR_LEGEND} Their accuracies '
        'are the range that was fitted to: predictions of models beyond it '
        'are marked, and may be far off.', ''
    ]  # yapf: disable
    lines += _families(parts)
    notes = [f'* {markdown(note)}' for note in learning_notes(predictor)]
    if notes:
        lines += ['## Notes', '', *notes, '']
    return '\n'.join(lines)


def _units(predictor: Predictor) -> str:
    columns = predictor.columns
    if predictor.targets is None:
        return f'losses on {len(columns.units)} units of a table'
    return (f'token losses on {len(predictor.targets.text_ids)} texts '
            f'({columns.fingerprint[:12]})')


def _origin(predictor: Predictor) -> list[str]:
    parts, units = predictor.benchmarks, predictor.columns.units
    models = {model for part in parts for model in part.fit_models}
    families = {one.family for part in parts for one in part.families}
    solvers = ', '.join(sorted({part.solver for part in parts}))
    versions = [f'{n} {v}' for n, v in sorted(predictor.versions.items())]
    rows = [
        ('fitted to', f'{len(models)} models'),
        ('families', _listed(sorted(families)) or _NOT_RECORDED),
        ('method', markdown(solvers)),
        ('columns', f'{len(units)}, such as {_listed(units[:3])}'),
        ('scoring LM', markdown(predictor.scoring_lm) or 'none'),
        ('texts', _licences(predictor) or f'licence {_NOT_RECORDED}'),
        ('versions', _listed(versions) or _NOT_RECORDED),
    ]
    return _table(('what', 'this predictor'), rows)


def _licences(predictor: Predictor) -> str:
    cells = []
    for source, licence in predictor.licences.items():
        uses = forbidden_uses(licence)
        forbids = f', which forbids {" and ".join(uses)}' if uses else ''
        cells.append(f'{markdown(source or "texts")} under '
                     f'{markdown(licence)}{forbids}')
    return '; '.join(cells)


def _benchmark_row(part: BenchmarkPredictor) -> tuple[str, ...]:
    accuracies = _NOT_RECORDED
    if part.families:
        accuracies = whole_percents(
            min(family.lowest for family in part.families),
            max(family.highest for family in part.families))
    return (markdown(part.benchmark), number(percent(part.chance)),
            str(part.n_items or '-'), str(len(part.fit_models)), accuracies,
            markdown(part.solver), *part.error_cells)


def _families(parts: Sequence[BenchmarkPredictor]) -> list[str]:
    """The table of errors by family and benchmark; empty without families."""
    known = [part for part in parts if part.families]
    if not known:
        return []
    cells: dict[str, list[str]] = {}
    models: dict[str, int] = {}
    for index, part in enumerate(known):
        for family in part.families:
            row = cells.setdefault(family.family, ['-'] * len(known))
            if not math.isnan(family.error):
                row[index] = (f'{number(percent(family.error))} '
                              f'({percent(family.bias):+.1f})')
            models[family.family] = max(
                models.get(family.family, 0), family.n_models)
    header = ('family', 'models', *(markdown(p.benchmark) for p in known))
    rows = ((markdown(name), str(models[name]), *row)
            for name, row in sorted(cells.items()))
    return [
        '## Errors by family', '', *_table(header, rows), '',
        'Root mean square in percent and, in brackets, the mean of predicted '
        'minus real accuracies; every family predicted by the others.', ''
    ]  # yapf: disable


def _listed(names: Sequence[str]) -> str:
    return markdown(shortened(', '.join(names), _WIDTH))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return tabulate(
        list(rows), header, tablefmt='pipe',
        disable_numparse=True).splitlines()
