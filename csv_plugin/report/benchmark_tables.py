"""How far benchmarks can be trusted, as tables and files."""
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any, Optional

import numpy as np
from tabulate import tabulate

from csv_plugin.core.escaping import markdown, visible
from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.benchmark_trust import (LAST, SURE_ORDER, Trust,
                                               shown_share)

#: Parts of the training that the table shows, or those next to them.
SHOWN = (0.05, 0.1, 0.25, 0.5)
_LEGEND = f"""\
signal to noise: largest minus smallest final score of the runs, over the
median standard deviation of a run's last {LAST} scores. rises: share of the
pairs of checkpoints of a run with the higher score later, in percent (50 is
noise). order at x %: share of the pairs of runs whose scores at x % of the
training are in the order of the final ones. by losses: the same of accuracies
predicted from losses by fits to other runs. by size: final scores of the
smallest run of each family as an order of the largest ones. Runs are told
apart from where on {SURE_ORDER:.0%} of the pairs or more are in order at
every checkpoint."""


def trust_table(rows: Sequence[Trust]) -> str:
    """One row for each benchmark, the largest signal to noise first.

    Args:
        rows (Sequence[Trust]): At least one.

    Returns:
        str: A Markdown table.
    """
    shares = _shown(sorted({share for row in rows for share in row.shares}))
    with_losses = any(row.order_by_losses for row in rows)
    with_sizes = any(np.isfinite(row.order_by_size) for row in rows)
    header = [
        'benchmark', 'signal to noise', 'rises',
        *(f'order at {shown_share(share)}'
          for share in shares), *(f'by losses at {shown_share(share)}'
                                  for share in shares if with_losses),
        *(['by size'] if with_sizes else []), 'verdict',
        *(['by losses from'] if with_losses else [])
    ]
    cells = [[
        markdown(row.benchmark), _number(row.signal_to_noise, 0),
        _percent(row.rising),
        *(_percent(_at(row, row.order, share)) for share in shares),
        *(_percent(_at(row, row.order_by_losses, share)) for share in shares
          if with_losses),
        *([_percent(row.order_by_size)] if with_sizes else []), row.verdict,
        *([_from(row.apart_from_by_losses)] if with_losses else [])
    ] for row in sorted(rows, key=lambda row: -np.nan_to_num(
        row.signal_to_noise, nan=-1))]  # yapf: disable
    words = {'benchmark', 'verdict'}
    return tabulate(
        cells,
        header,
        tablefmt='pipe',
        disable_numparse=True,
        colalign=['left' if name in words else 'right' for name in header])


def write_trust(folder: Path, rows: Sequence[Trust], title: str,
                command: str) -> list[Path]:
    """Write `benchmarks.md`, `.csv`, `order.csv` and, perhaps, a picture.

    Args:
        folder (Path): Created if it does not exist.
        rows (Sequence[Trust]): At least one.
        title (str): What was judged.
        command (str): The line that was typed.

    Returns:
        list[Path]: The files; without matplotlib there is no picture.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        f'# {title}',
        trust_table(rows), _LEGEND,
        indent(visible(command), '    ')
    ]
    write_text(folder / 'benchmarks.md', '\n\n'.join(parts) + '\n')
    records = [record(row) for row in rows]
    write_csv(folder / 'benchmarks.csv', list(records[0]),
              [['' if v is None else v for v in one.values()]
               for one in records])  # yapf: disable
    write_csv(folder / 'order.csv',
              ('benchmark', 'share', 'order', 'order_by_losses'),
              [(row.benchmark, share, row.order[i],
                row.order_by_losses[i] if row.order_by_losses else '')
               for row in rows for i, share in enumerate(row.shares)])
    files = ['benchmarks.md', 'benchmarks.csv', 'order.csv']
    try:
        from csv_plugin.extras.pictures.order_by_share import order_picture
        from csv_plugin.extras.pictures.style import save
    except ModuleNotFoundError as error:
        if str(error.name).partition('.')[0] != 'matplotlib':
            raise
        return [folder / name for name in files]
    save(order_picture(rows), folder / 'benchmarks.png')
    return [folder / name for name in (*files, 'benchmarks.png')]


def record(row: Trust) -> dict[str, Any]:
    """One benchmark as plain values; None where there is no number."""
    numbers = {
        'signal': row.signal,
        'noise': row.noise,
        'signal_to_noise': row.signal_to_noise,
        'rising': row.rising,
        'order_by_size': row.order_by_size,
        'apart_from': row.apart_from,
        'apart_from_by_losses': row.apart_from_by_losses
    }
    plain: dict[str, Optional[float]] = {
        name: value if np.isfinite(value) else None
        for name, value in numbers.items()
    }
    return {
        'benchmark': row.benchmark,
        'runs': len(row.runs),
        **plain, 'verdict': row.verdict
    }


def _shown(shares: Sequence[float]) -> list[float]:
    """The shares next to those of `SHOWN`, each once."""
    if not shares:
        return []
    nearest = [
        min(shares, key=lambda share: abs(np.log(share / wanted)))
        for wanted in SHOWN
    ]
    return list(dict.fromkeys(nearest))


def _at(row: Trust, order: Sequence[float], share: float) -> float:
    """An order at a share, NaN where the benchmark has no score there."""
    return order[row.shares.index(share)] if share in row.shares else np.nan


def _number(value: float, digits: int) -> str:
    return f'{value:.{digits}f}' if np.isfinite(value) else '-'


def _percent(value: float) -> str:
    return f'{100 * value:.0f}' if np.isfinite(value) else '-'


def _from(share: float) -> str:
    return shown_share(share, ' %') if np.isfinite(share) else '-'
