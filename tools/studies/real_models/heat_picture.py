"""Weights of tokens laid over real texts, as a picture."""
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from csv_plugin.extras.heat_maps import HeatMap, full_weight, strongest_maps
from csv_plugin.lm.methods import train_auto
from tools.studies.real_models.analysis import Fold, TokenStudy

BENCHMARKS = ('arc_easy', 'sciq', 'basic_skills_arithmetic')
#: Letters in a line.
COLUMNS = 86
#: Inches; a letter of DejaVu Sans Mono is .602 of its size wide.
WIDTH, HEIGHT = 0.09, 0.2
SIZE = 72 * WIDTH / 0.602


class Letter(NamedTuple):
    """A letter, its place, and the weight of its token."""
    line: int
    column: int
    letter: str
    weight: float


def heat_picture(study: TokenStudy, file: Path) -> None:
    """Train on all models and draw the strongest text of each benchmark."""
    models = study.models
    predictor = train_auto(
        study.training(Fold([*models.models], [*models.families], [])),
        study.states)
    draw([
        strongest_maps(predictor, name, study.losses.texts, 1)[0]
        for name in BENCHMARKS
    ], BENCHMARKS, file)


def draw(maps: Sequence[HeatMap], titles: Sequence[str], file: Path) -> None:
    """One text below the other: blue of weights above 0, orange below."""
    blocks = [list(letters(heat_map)) for heat_map in maps]
    heights = [block[-1].line + 3 for block in blocks]
    figure = Figure((COLUMNS * WIDTH, sum(heights) * HEIGHT), dpi=150)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, COLUMNS), ylim=(sum(heights), 0))
    axes.set_axis_off()
    for block, title, top in zip(blocks, titles, np.cumsum([0, *heights])):
        axes.text(0, top + 0.5, title, size=SIZE, weight='bold', va='center')
        full = full_weight(np.array([letter.weight for letter in block]))
        for line, column, letter, weight in block:
            place = column, top + 1 + line
            shade = 0.7 * min(abs(np.nan_to_num(weight)) / full, 1)
            colour = '#0072B2' if weight > 0 else '#D55E00'
            axes.add_patch(
                Rectangle(place, 1, 1, color=colour, alpha=shade, lw=0))
            axes.text(place[0], place[1] + 0.5, letter, size=SIZE,
                      family='DejaVu Sans Mono', va='center')  # yapf: disable
    figure.savefig(file, metadata={'Software': None})


def letters(heat_map: HeatMap) -> Iterator[Letter]:
    """Letters of a text in lines of at most `COLUMNS`."""
    line = column = 0
    for piece in heat_map.pieces:
        for letter in piece.text:
            if letter == '\n' or column == COLUMNS:
                line, column = line + 1, 0
            if letter != '\n':
                yield Letter(line, column, letter, piece.weight)
                column += 1
