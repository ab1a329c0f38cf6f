"""Forecasts of pretraining runs as tables and files."""
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from textwrap import indent
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.escaping import markdown, visible
from csv_plugin.core.overall import ranks
from csv_plugin.core.resampling import mean_with_interval
from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.run_notes import as_sentences
from csv_plugin.triage.table_forecasts import (ACCURACY, BOTH, GAIN, LOSS,
                                               LOSSES, NOW, OBSERVED, SCORES,
                                               EndForecast, TableForecasts)

#: Methods in the order of the tables.
METHODS = (OBSERVED, GAIN, NOW, SCORES, LOSSES, BOTH)
#: Forecasts by name, of runs at parts of their training.
_Rows = dict[tuple[str, float], dict[str, EndForecast]]


def accuracies_table(forecasts: Sequence[EndForecast]) -> str:
    """Accuracies that are forecast of each run, in percent, and their mean.

    Runs are ranked by the mean over the benchmarks, each by the most that is
    known of it.

    Args:
        forecasts (Sequence[EndForecast]): At least one of an accuracy.

    Returns:
        str: A Markdown table with one row per run and part of its training.
    """
    rows = _by_run(forecasts, ACCURACY)
    means = {
        place: float(np.mean([one.forecast for one in row.values()]))
        for place, row in rows.items()
    }
    # The largest share of each run, as later pairs replace earlier ones.
    most_known = list(dict(sorted(means)).items())
    places = {
        place: f' ({rank:.0f})'
        for place, rank in zip(most_known,
                               ranks([means[place] for place in most_known]))
    } if len(most_known) > 1 else {}
    cells = [[
        *about, f'{100 * means[place]:.1f}{places.get(place, "")}', *ends
    ] for place, about, ends in _rows(rows)]
    mean = 'mean (rank)' if places else 'mean'
    return _table(cells, [*_header(rows), mean, *_names(rows)])


def losses_table(forecasts: Sequence[EndForecast]) -> str:
    """Mean losses that are forecast of each run.

    Args and Returns as in `accuracies_table`.
    """
    rows = _by_run(forecasts, LOSS)
    cells = [[*about, *ends] for _, about, ends in _rows(rows)]
    return _table(cells, [*_header(rows), *_names(rows)])


def _by_run(forecasts: Sequence[EndForecast], quantity: str) -> _Rows:
    """The forecasts of runs at parts of their training, by what is forecast.

    Those from losses and scores, if there are any, else from one of them.
    """
    rows: _Rows = {}
    for method in (SCORES, LOSSES, BOTH):
        for one in forecasts:
            if (one.quantity, one.method) == (quantity, method):
                rows.setdefault((one.run, one.share), {})[one.name] = one
    return rows


def _rows(
        rows: _Rows
) -> Iterator[tuple[tuple[str, float], list[str], list[str]]]:
    """Each place, the cells that say of what it is, and its forecasts."""
    for (run, share), row in sorted(rows.items()):
        one = next(iter(row.values()))
        about = [markdown(run), _percent(share), f'{one.end:.6g}', one.method]
        yield (run, share), about, [_cell(end) for end in row.values()]


def _header(rows: _Rows) -> list[str]:
    one = next(iter(next(iter(rows.values())).values()))
    return ['run', 'known', f'end, {one.measure}', 'from']


def _names(rows: _Rows) -> list[str]:
    return [markdown(name) for name in next(iter(rows.values()))]


def errors_table(tables: TableForecasts) -> Optional[str]:
    """Mean absolute errors of accuracies in points, by method and part.

    The parts are those that were asked for, which runs know up to their last
    checkpoints there. In brackets stand the 90 % intervals of the errors if
    the runs are drawn anew.

    Args:
        tables (TableForecasts): Of runs of which some ends may be known.

    Returns:
        Optional[str]: A Markdown table; None if no end is known.
    """
    known = _with_ends(tables, ACCURACY)
    shares = sorted({one.share for one in known})
    cells = []
    for method in METHODS:
        of_method = [_errors_by_run(known, method, share) for share in shares]
        if any(len(errors) for errors in of_method):
            made_from = 'forecast from ' * (method in (SCORES, LOSSES, BOTH))
            cells.append([made_from + method, *map(_with_interval, of_method)])
    if not cells:
        return None
    for name, measure in (('hold the end, %', _coverage), ('width, points',
                                                           _width)):
        cells += [[
            f'intervals, {method}: {name}', *(measure(known, method, share)
                                              for share in shares)
        ] for method in (LOSSES, BOTH)
                  if any(one.method == method for one in known)]
    return _table(cells,
                  ['MAE, points', *(_percent(share) for share in shares)])


def loss_errors_table(tables: TableForecasts) -> Optional[str]:
    """Median relative errors of losses in percent, by source and part.

    The last row says how many of the ends lie in their intervals. Args and
    Returns as in `errors_table`.
    """
    known = _with_ends(tables, LOSS)
    shares = sorted({one.share for one in known})
    cells = [[
        markdown(name),
        *(f'{100 * np.median(errors):.1f}' for share in shares for errors in [[
            abs(one.forecast / one.real - 1)
            for one in known if (one.name, one.share) == (name, share)
        ]])
    ] for name in dict.fromkeys(one.name for one in known)]
    cells.append([
        'intervals: hold the end, %',
        *(_coverage(known, LOSSES, share) for share in shares)
    ])
    header = ['loss, % off', *(_percent(share) for share in shares)]
    return _table(cells, header) if known else None


def as_report(tables: TableForecasts) -> str:
    """All tables, with a line on each, and the notes."""
    forecasts = tables.forecasts
    parts = [
        'Accuracies at the end of the training, percent, with 90 % '
        'intervals:',
        accuracies_table(forecasts),
        'Mean losses at the end by source, in the unit of the table of '
        'losses, with 90 % intervals:',
        losses_table(forecasts)
    ]
    errors, of_losses = errors_table(tables), loss_errors_table(tables)
    if errors and of_losses:
        parts += [
            'Errors on runs whose ends are known, with 90 % intervals over '
            'runs:', errors, of_losses
        ]
    if tables.notes:
        parts.append('\n'.join(f'* {markdown(note)}'
                               for note in as_sentences(tables.notes)))
    return '\n\n'.join(parts)


def write_forecasts(folder: Path, tables: TableForecasts, title: str,
                    command: str) -> list[Path]:
    """Write `forecasts.md` and `forecasts.csv`.

    Args:
        folder (Path): Created if it does not exist.
        tables (TableForecasts): The forecasts.
        title (str): What was forecast.
        command (str): The line that was typed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # A block of code behind the notes would be a part of the last one.
    parts = [f'# {title}', indent(visible(command), '    '), as_report(tables)]
    write_text(folder / 'forecasts.md', '\n\n'.join(parts) + '\n')
    write_csv(folder / 'forecasts.csv', EndForecast._fields, tables.forecasts)
    return [folder / 'forecasts.md', folder / 'forecasts.csv']


def _with_ends(tables: TableForecasts, quantity: str) -> list[EndForecast]:
    """Those whose ends are known, at parts that were asked for as shown."""
    asked: dict[tuple[str, float], list[float]] = {}
    for (run, part), share in tables.known.items():
        asked.setdefault((run, share), []).append(_shown(part))
    return [
        one._replace(share=part) for one in tables.forecasts
        if one.quantity == quantity and not isnan(one.real)
        for part in asked[one.run, one.share]
    ]


def _errors_by_run(known: Sequence[EndForecast], method: str,
                   share: float) -> NDArray[np.float64]:
    """Mean absolute error on each run, over the benchmarks, in points."""
    errors: dict[str, list[float]] = {}
    for one in known:
        if (one.method, one.share) == (method, share):
            errors.setdefault(one.run, []).append(abs(one.forecast - one.real))
    means = [float(np.mean(values)) for values in errors.values()]
    return np.array(means) * 100.0


def _with_interval(errors: NDArray) -> str:
    """A mean with its interval over runs, such as '1.4 (1.1 - 1.8)'.

    One run has no interval.
    """
    if len(errors) < 2:
        return f'{errors[0]:.2f}' if len(errors) else '-'
    mean, low, high = mean_with_interval(errors)
    return f'{mean:.2f} ({low:.2f} - {high:.2f})'


def _coverage(known: Sequence[EndForecast], method: str, share: float) -> str:
    inside = [
        one.low <= one.real <= one.high for one in known
        if (one.method, one.share) == (method, share)
    ]
    return f'{100 * np.mean(inside):.0f}' if inside else '-'


def _width(known: Sequence[EndForecast], method: str, share: float) -> str:
    widths = [
        one.high - one.low for one in known
        if (one.method, one.share) == (method, share)
    ]
    return f'{100 * np.mean(widths):.1f}' if widths else '-'


def _cell(one: EndForecast) -> str:
    """A forecast with its interval."""
    factor, digits = (100, 1) if one.quantity == ACCURACY else (1, 2)
    value, low, high = (f'{factor * number:.{digits}f}'
                        for number in (one.forecast, one.low, one.high))
    return f'{value} ({low} - {high})'


def _shown(share: float) -> float:
    """A part of the training to a percent, a small one to a tenth of it."""
    return round(share, 2 if share >= 0.01 else 3)


def _percent(share: float) -> str:
    return f'{100 * _shown(share):.3g} %'


def _table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    return tabulate(
        rows,
        header,
        tablefmt='pipe',
        disable_numparse=True,
        colalign=['left'] + ['right'] * (len(header) - 1))
