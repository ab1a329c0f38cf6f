"""The paper's figures, drawn from the demonstration's models.

    python -m tools.studies.paper_figures --out docs/pictures

draws the pictures of docs/paper_figures.md, Fig. 1, 2 and 4 to 9, on light and
on dark ground, and prints the figures of that page. Heads are trained by
Algorithm 2 with the learning rate that predicts the validation models best.
Errors are roots of mean squared errors, in points.
"""
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray
from tqdm import tqdm

from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.extras.pictures.style import GREY
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.paper_head import PaperTraining
from csv_plugin.lm.head.training_steps import SPLITS, TEST, TrainingSteps
from csv_plugin.lm.loading import load_scoring_lm
from csv_plugin.lm.methods import train_paper
from tools.studies import study_texts
from tools.studies.options import parser_of
from tools.studies.results_pictures import THEMES, save_themes
from tools.studies.zoo_study import (BASELINE, FIRST_SERIES, HEAD, LABEL, OURS,
                                     ZooStudy)

PAPER = "the paper's head"
#: The series of Fig. 1, whose mixtures of texts differ most.
TWO_SERIES = ('b', 'c')
#: The exams of Fig. 2.
BY_LOSS = ('chinese', 'scenes')
#: The step of Fig. 6 between the first and the chosen one.
BETWEEN = 10
#: Series that are predicted after their first checkpoints, and those that
#: choose the step (Fig. 5); the first pair is drawn.
PAIRS = ('ab', 'bc', 'cd', 'da')
EARLY = 35
#: The text of Fig. 9 and its exam.
TEXT, EXAM = 'swaps-001', 'swaps'
COLOURS = ('red', 'green', 'blue')
#: Losses are equal if they differ by less than this share.
EQUAL = 0.01
N_DRAWS = 3
#: Inches: width of a picture, heights of a row of panels and of a line.
WIDTH, ROW, LINE = 5.6, 1.45, 0.2

#: Errors by method in points, of each draw of texts, by a number.
ByNumber = Mapping[int, Sequence[Mapping[str, float]]]


class Ink(NamedTuple):
    """Colours of a theme: ground, words, lines and two for models."""
    ground: str
    words: str
    lines: str
    blue: str
    orange: str
    #: Of models in the background, and of the words that name them.
    grey: str = GREY


@dataclass(frozen=True, eq=False)
class Zoo:
    """The demonstration's models, and trainings by Algorithm 2 on them."""
    study: ZooStudy
    settings: HeadSettings = HEAD

    @classmethod
    def load(cls) -> 'Zoo':
        return cls(
            ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER))

    @property
    def exams(self) -> tuple[str, ...]:
        return self.study.collection.accuracies.benchmarks

    @cached_property
    def scoring_lm(self) -> tuple[Any, Any]:
        return load_scoring_lm(shipped.SCORING_LM, shipped.SCORING_TOKENIZER)

    @cached_property
    def training(self) -> PaperTraining:
        """Algorithm 2 on the shipped splits."""
        models = self.study.models_in
        return self._train(
            models('train', 'validation'), models('validation'),
            models('test'))

    def _train(self, fitted: Sequence[str], validation: Sequence[str],
               watched: Sequence[str]) -> PaperTraining:
        whole = self.study.collection
        accuracies = whole.accuracies.select([*fitted, *watched])
        return train_paper(whole.losses, accuracies, whole.families,
                           self.scoring_lm, validation, watched, self.settings,
                           partial(tqdm, desc='steps'))

    @property
    def tokens(self) -> dict[str, list['Token']]:
        """Tokens of the exam of Fig. 9, by text."""
        return tokens_of(self.training.predictor, self.study.collection.texts,
                         EXAM)

    @cached_property
    def own_series(self) -> dict[str, TrainingSteps]:
        """Steps of the trainings of Fig. 5, by pair of series."""
        found = {}
        for pair in PAIRS:
            models = [
                model for model in self.study.collection.info
                if model.partition('-')[0] in FIRST_SERIES
            ]
            test, validation = ([
                model for model in models
                if model[0] == series and percent_of(model) > EARLY
            ] for series in pair)
            fitted = [model for model in models if model not in test]
            found[pair] = self._train(fitted, validation, test).steps
        return found

    @cached_property
    def compute(self) -> dict[str, float]:
        """Floating-point operations of each model's training, `6 N D`."""
        manifest = json.loads(
            (shipped.ZOO / 'manifest.json').read_text('utf-8'))
        found = {}
        for model in self.study.collection.info:
            trained = manifest['models'][model.partition('@')[0]]
            found[model] = (6 * trained['parameters'] * trained['tokens'] *
                            percent_of(model) / 100)
        return found

    @cached_property
    def by_texts(self) -> dict[str, ByNumber]:
        """Errors by method on draws of texts (Fig. 8), in points.

        By number of texts of all kinds, and by number of kinds that `FIXED`
        texts come from.
        """
        study = self.study.of_series(FIRST_SERIES)
        drawn = {
            (len(part[0].texts), part[0].n_sources): part
            for part in study_texts.draws(study.collection.texts, study_texts.
                                          NUMBERS, study_texts.FIXED, N_DRAWS)
        }
        errors = {
            sizes: [_errors_of(study, one.texts) for one in part]
            for sizes, part in tqdm(sorted(drawn.items()), desc='texts')
        }
        n_all = max(n_kinds for _, n_kinds in errors)
        return {
            'texts': {
                n_texts: part
                for (n_texts, n_kinds), part in errors.items()
                if n_kinds == n_all
            },
            'kinds': {
                n_kinds: part
                for (n_texts, n_kinds), part in errors.items()
                if n_texts == study_texts.FIXED
            }
        }


def percent_of(model: str) -> int:
    """How far a checkpoint is in its training."""
    return int(model.partition('@')[2])


def _errors_of(study: ZooStudy, texts: tuple[Any, ...]) -> dict[str, float]:
    """Errors of all test models by method, on some texts, in points."""
    part = study.of_texts(texts)
    fitted = part.models_in('train', 'validation')
    rows = np.any([*part.test_models().values()], axis=0)
    predicted = {
        BASELINE: part.predicted(part.fit(fitted, baseline=True)),
        PAPER: part.by_head(),
        OURS: part.predicted(part.fit(fitted)),
    }
    observed = part.collection.accuracies.values
    return {
        method: points((values - observed)[rows])
        for method, values in predicted.items()
    }


def points(errors: NDArray) -> float:
    """Return the root mean square of fractions, in points."""
    return 100 * float(np.sqrt(np.mean(errors**2)))


@contextmanager
def _sheet(theme: str,
           title: str,
           notes: Sequence[Mapping[str, str]],
           shape: tuple[int, int],
           foot: float = 0.5,
           row: float = ROW,
           gap: float = 0.55) -> Iterator[tuple[Figure, NDArray, Ink]]:
    """A figure with a title, lines of coloured words, and panels.

    `gap` is the space between rows of panels, in heights of a panel.
    """
    ink = Ink(*THEMES[theme])
    words = {
        name: ink.words
        for name in ('axes.labelcolor', 'text.color', 'xtick.color',
                     'ytick.color')
    }
    look = {
        'axes.edgecolor': ink.lines,
        'axes.facecolor': ink.ground,
        'axes.titlesize': 9,
        'axes.spines.right': False,
        'axes.spines.top': False,
        'font.size': 10,
        'xtick.labelsize': 9,
        'ytick.labelsize': 9
    }
    n_rows, n_columns = shape
    n_lines = title.count('\n') + 1
    head = 0.1 + 0.22 * n_lines + LINE * len(notes) + 0.45
    height = head + n_rows * row + foot
    with style.context(['default', words | look]):
        figure = Figure((WIDTH, height), dpi=200, facecolor=ink.ground)
        FigureCanvasAgg(figure)
        grid = figure.subplots(n_rows, n_columns, squeeze=False)
        figure.subplots_adjust(0.115, foot / height, 0.975, 1 - head / height,
                               0.3, gap)
        figure.text(
            0.02,
            1 - 0.1 / height,
            title,
            va='top',
            fontsize=12,
            fontweight='bold')
        for i, line in enumerate(notes):
            top = 0.12 + 0.22 * n_lines + LINE * i
            _write_line(figure, line, 1 - top / height, ink)
        yield figure, grid, ink
        # Tick labels take their colours from the settings of this moment.
        figure.draw_without_rendering()


def _write_line(figure: Figure, line: Mapping[str, str], y: float,
                ink: Ink) -> None:
    """Write words side by side, each in the colour that it is given."""
    left = 0.02
    for words, colour in line.items():
        written = figure.text(
            left, y, words, va='top', color=getattr(ink, colour))
        left += written.get_window_extent().width / figure.bbox.width + 0.03


def _label(figure: Figure, x: str, y: str) -> None:
    """Name the axes that all panels share."""
    height = figure.get_figheight()
    figure.text(0.54, 0.1 / height, x, ha='center')
    low, high = figure.subplotpars.bottom, figure.subplotpars.top
    figure.text(0.012, (low + high) / 2, y, va='center', rotation='vertical')


def _log_scores(axes: Axes, scores: NDArray) -> tuple[float, float]:
    """A logarithmic axis with better models on the right; return its ends."""
    low, high = scores.min() / 1.1, scores.max() * 1.1
    axes.set(xscale='log', xlim=(high, low))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=3))
    axes.xaxis.set_major_formatter('{x:g}')
    axes.xaxis.set_minor_formatter(NullFormatter())
    return low, high


def _accuracies(axes: Axes) -> None:
    axes.set(ylim=(-4, 104), yticks=(0, 50, 100))


def draw_compute(zoo: Zoo, theme: str) -> Figure:
    """Fig. 1: two mixtures of texts at equal compute."""
    accuracies = zoo.study.collection.accuracies
    gap, _, _ = largest_gap(zoo)
    title = f'At equal compute, two series are up to {gap:.0f} points apart'
    notes = [{
        f'series {series}': colour
        for series, colour in zip(TWO_SERIES, ('blue', 'orange'))
    }]
    with _sheet(theme, title, notes, (2, 3)) as (figure, grid, ink):
        for axes, name in zip(grid.flat, zoo.exams):
            for series, colour in zip(TWO_SERIES, (ink.blue, ink.orange)):
                models = [
                    model for model in zoo.compute
                    if model.partition('-')[0] == series
                ]
                values = accuracies.select(models, [name]).values[:, 0]
                axes.plot([zoo.compute[model] for model in models],
                          100 * values,
                          'o',
                          ms=3.5,
                          color=colour)
            axes.set(title=name, xscale='log')
            axes.xaxis.set_major_locator(LogLocator(numticks=4))
            axes.xaxis.set_minor_formatter(NullFormatter())
            _accuracies(axes)
        grid[-1, -1].remove()
        _label(figure, 'training compute, floating-point operations',
               'accuracy, %')
    return figure


def largest_gap(zoo: Zoo) -> tuple[float, str, str]:
    """Largest gap of the two series of Fig. 1 in points, and where it is.

    Compared are checkpoints of one size after one share of the training.
    """
    accuracies = zoo.study.collection.accuracies
    first = [m for m in zoo.compute if m.startswith(f'{TWO_SERIES[0]}-')]
    second = [TWO_SERIES[1] + m[1:] for m in first]
    gaps = np.abs(
        accuracies.select(first).values - accuracies.select(second).values)
    m, b = np.unravel_index(gaps.argmax(), gaps.shape)
    return 100 * float(gaps[m, b]), first[m], accuracies.benchmarks[b]


def _size(model: str) -> str:
    return model.partition('-')[2].partition('@')[0]


def draw_mean_loss(zoo: Zoo, theme: str) -> Figure:
    """Fig. 2: accuracy against the mean loss."""
    steps = zoo.training.steps
    losses = steps.scores[0, :, 0]
    gaps = {exam: gap_at_equal_loss(steps, exam) for exam in BY_LOSS}
    series = np.array([model[0] for model in steps.models])
    title = (f'Models of equal mean loss are up to {max(gaps.values()):.0f} '
             'points apart')
    notes = [{
        'series b': 'blue',
        'series d': 'orange',
        'all other series': 'grey'
    }]
    with _sheet(theme, title, notes, (1, 2), row=2) as (figure, grid, ink):
        for axes, exam in zip(grid.flat, BY_LOSS):
            observed = 100 * steps.accuracies[:, steps.benchmarks.index(exam)]
            for mask, colour in ((~np.isin(series, ['b', 'd']), ink.grey),
                                 (series == 'b', ink.blue), (series == 'd',
                                                             ink.orange)):
                axes.plot(losses[mask], observed[mask], 'o', ms=3.5,
                          color=colour)  # yapf: disable
            axes.set_title(f'{exam}: up to {gaps[exam]:.0f} points apart')
            _log_scores(axes, losses)
            _accuracies(axes)
        _label(figure, 'mean loss, nats per character (better to the right)',
               'accuracy, %')
    return figure


def gap_at_equal_loss(steps: TrainingSteps, exam: str) -> float:
    """Largest gap between two models of equal mean loss, in points."""
    losses = np.log(steps.scores[0, :, 0])
    observed = steps.accuracies[:, steps.benchmarks.index(exam)]
    equal = np.abs(losses[:, None] - losses) < EQUAL
    gaps = np.abs(observed[:, None] - observed)
    return 100 * float(gaps[equal].max())


def _draw_steps(axes: Axes, steps: TrainingSteps, step: int, b: int,
                ink: Ink) -> None:
    """Accuracies by capability score at a step, and the curve."""
    scores = steps.scores[step, :, b]
    for split, colour in zip(SPLITS, (ink.grey, ink.blue, ink.orange)):
        mask = steps.splits == split
        axes.plot(scores[mask], 100 * steps.accuracies[mask, b], 'o', ms=3,
                  color=colour)  # yapf: disable
    ends = _log_scores(axes, scores)
    grid = np.geomspace(*ends, 200)
    axes.plot(grid, 100 * steps.curve[step, b].accuracies(grid),
              color=ink.words, lw=1)  # yapf: disable
    _accuracies(axes)


def error_at(steps: TrainingSteps,
             exam: str,
             step: int,
             split: str = TEST) -> float:
    """Root mean squared error on an exam at a step, in points."""
    b = steps.benchmarks.index(exam)
    return 100 * float(np.sqrt(steps.mse(split)[step, b]))


def _chosen(steps: TrainingSteps, exam: str) -> int:
    return int(steps.best_step[steps.benchmarks.index(exam)])


_SPLIT_NOTES = [{
    'training models': 'grey',
    'validation models': 'blue',
    'test models, with their errors': 'orange'
}]
_BY_SCORE = 'capability score, nats per character (better to the right)'


def _capability_figure(steps: TrainingSteps, theme: str, title: str,
                       notes: Sequence[Mapping[str, str]]) -> Figure:
    """Test models at the chosen step, one panel per exam."""
    with _sheet(theme, title, notes, (2, 3)) as (figure, grid, ink):
        for axes, exam in zip(grid.flat, steps.benchmarks):
            step = _chosen(steps, exam)
            _draw_steps(axes, steps, step, steps.benchmarks.index(exam), ink)
            axes.set_title(f'{exam}: {error_at(steps, exam, step):.1f} points')
        for axes in grid.flat[len(steps.benchmarks):]:
            axes.remove()
        _label(figure, _BY_SCORE, 'accuracy, %')
    return figure


def errors_at_chosen(steps: TrainingSteps) -> dict[str, float]:
    """Errors on the test models by exam, in points."""
    return {
        exam: error_at(steps, exam, _chosen(steps, exam))
        for exam in steps.benchmarks
    }


def draw_capability(zoo: Zoo, theme: str) -> Figure:
    """Fig. 4: all series against the capability score."""
    steps = zoo.training.steps
    errors = errors_at_chosen(steps)
    worst = max(errors, key=errors.__getitem__)
    most = max(value for exam, value in errors.items() if exam != worst)
    return _capability_figure(
        steps, theme, f'One curve holds for all series within {most:.0f} '
        f'points,\nbut not on {worst}', _SPLIT_NOTES)


def draw_own_series(zoo: Zoo, theme: str) -> Figure:
    """Fig. 5: the rest of a training run."""
    test, validation = PAIRS[0]
    steps = zoo.own_series[PAIRS[0]]
    errors = [*errors_at_chosen(steps).values()]
    title = (f'Series {test} after {EARLY} % of its training:\noff by '
             f'{min(errors):.0f} to {max(errors):.0f} points')
    notes = [{
        'training models': 'grey',
        f'series {validation}, which chooses the step': 'blue',
    }, {
        f'series {test}, with its errors': 'orange'
    }]
    return _capability_figure(steps, theme, title, notes)


def draw_steps(zoo: Zoo, theme: str) -> Figure:
    """Fig. 6: accuracies and errors by step, from best to worst exam."""
    steps = zoo.training.steps
    errors = errors_at_chosen(steps)
    ranked = sorted(errors, key=errors.__getitem__)
    exams = best, _, worst = ranked[0], ranked[len(ranked) // 2], ranked[-1]
    title = (f'Training takes {best} from {error_at(steps, best, 0):.0f} to '
             f'{errors[best]:.0f} points,\nbut {worst} only from '
             f'{error_at(steps, worst, 0):.0f} to {errors[worst]:.0f}')
    with _sheet(theme, title, _SPLIT_NOTES, (4, 3)) as (figure, grid, ink):
        for column, exam in zip(grid.T, exams):
            b, chosen = steps.benchmarks.index(exam), _chosen(steps, exam)
            for axes, step in zip(column, (0, BETWEEN, chosen)):
                _draw_steps(axes, steps, step, b, ink)
                axes.set_title(f'step {step}: '
                               f'{error_at(steps, exam, step):.1f} points')
            column[0].set_title(f'{exam}\n{column[0].get_title()}')
            _draw_errors(column[-1], steps, b, ink)
        grid[-1, 0].set_ylabel('error, points')
        grid[-1, 1].set_xlabel('step')
        for axes in grid[:-1, 0]:
            axes.set_ylabel('accuracy, %')
        grid[2, 1].set_xlabel(_BY_SCORE)
        figure.subplots_adjust(hspace=0.62)
    return figure


def _draw_errors(axes: Axes, steps: TrainingSteps, b: int, ink: Ink) -> None:
    """Errors by step, on an axis that is logarithmic from step 1 on."""
    for split, colour in zip(SPLITS, (ink.grey, ink.blue, ink.orange)):
        axes.plot(100 * np.sqrt(steps.mse(split)[:, b]), color=colour, lw=1.3)
    axes.axvline(steps.best_step[b], color=ink.words, lw=0.8, ls=':')
    axes.set_xscale('symlog', linthresh=1)
    axes.set(xlim=(0, len(steps.scores)), ylim=(0, None),
             xticks=(0, 1, 10, 100))  # yapf: disable
    axes.xaxis.set_major_formatter('{x:g}')


def method_errors(zoo: Zoo) -> dict[str, tuple[NDArray, NDArray]]:
    """Predicted and observed accuracies of test models, by method."""
    study = zoo.study
    rows = np.any([*study.test_models().values()], axis=0)
    observed = study.collection.accuracies.values[rows]
    fitted = study.models_in('train', 'validation')
    predicted = {
        BASELINE: study.predicted(study.fit(fitted, baseline=True)),
        LABEL: study.label_token_loss(fitted),
        PAPER: _by_chosen_steps(zoo),
        OURS: study.predicted(study.fit(fitted)),
    }
    return {
        method: (values[rows], observed)
        for method, values in predicted.items()
    }


def _by_chosen_steps(zoo: Zoo) -> NDArray:
    """Accuracies of all models by Eq. 2 of the chosen steps, `(M, B)`."""
    steps = zoo.training.steps
    predicted = steps.predicted()[steps.best_step, :,
                                  range(len(steps.benchmarks))].T
    order = [steps.models.index(model) for model in zoo.study.table.models]
    columns = [steps.benchmarks.index(exam) for exam in zoo.exams]
    return predicted[np.ix_(order, columns)]


#: Names of the methods of Fig. 7.
_METHODS = {
    BASELINE: 'mean loss (all tokens)',
    LABEL: 'label-token loss',
    PAPER: "capability score (the paper's method)",
    OURS: 'salience (the default here)'
}


def draw_methods(zoo: Zoo, theme: str) -> Figure:
    """Fig. 7: predicted against observed accuracies by method."""
    parts = method_errors(zoo)
    errors = {
        method: points(predicted - observed)
        for method, (predicted, observed) in parts.items()
    }
    title = (f'Salience is off by {errors[OURS]:.0f} points, label tokens by '
             f'{errors[LABEL]:.0f},\ncapability scores by '
             f'{errors[PAPER]:.0f}, the mean loss by {errors[BASELINE]:.0f}')
    notes = [{'80 test models on five exams': 'words'}]
    with _sheet(
            theme, title, notes, (2, 2), row=2.3,
            gap=0.36) as (figure, grid, ink):
        for axes, (method, name) in zip(grid.flat, _METHODS.items()):
            predicted, observed = parts[method]
            axes.plot((0, 100), (0, 100), color=ink.lines, lw=1)
            axes.plot(
                100 * observed.ravel(),
                100 * predicted.ravel(),
                'o',
                ms=2.5,
                alpha=0.5,
                mew=0,
                color=ink.blue)
            axes.set_title(f'{name}:\n{errors[method]:.1f} points')
            axes.set(xlim=(-4, 104), xticks=(0, 50, 100))
            _accuracies(axes)
        _label(figure, 'observed accuracy, %', 'predicted accuracy, %')
    return figure


def draw_texts(zoo: Zoo, theme: str) -> Figure:
    """Fig. 8: errors by kinds of texts, and by number of texts."""
    return texts_figure(zoo.by_texts, theme)


def texts_figure(by_texts: Mapping[str, ByNumber], theme: str) -> Figure:
    """The picture of `Zoo.by_texts`."""
    kinds = by_texts['kinds']
    first = _mean(kinds[min(kinds)], OURS)
    last = _mean(kinds[max(kinds)], OURS)
    title = ('From one kind of texts to five, the error of\n'
             f'salience falls from {first:.0f} to {last:.0f} points')
    notes = [{
        'mean loss': 'grey',
        "the paper's method": 'orange',
        'salience': 'blue'
    }]
    with _sheet(theme, title, notes, (1, 2), row=2.2) as (figure, grid, ink):
        left, right = grid.flat
        for axes, name in ((left, 'kinds'), (right, 'texts')):
            for method, colour in ((BASELINE, ink.grey), (PAPER, ink.orange),
                                   (OURS, ink.blue)):
                _draw_draws(axes, by_texts[name], method, colour)
            axes.set(xlabel=name)
        right.sharey(left)
        left.set(
            ylim=(0, None),
            title=f'{study_texts.FIXED} texts',
            xlabel='kinds of texts',
            ylabel='error, points')
        right.set(title='of all five kinds', xscale='log')
        right.set_xticks(study_texts.NUMBERS)
        right.xaxis.set_major_formatter('{x:g}')
        right.minorticks_off()
    return figure


def _draw_draws(axes: Axes, by_number: ByNumber, method: str,
                colour: str) -> None:
    """Mean errors of a method with their range, by number."""
    drawn = [[one[method] for one in part] for part in by_number.values()]
    axes.fill_between([*by_number], [*map(min, drawn)], [*map(max, drawn)],
                      color=colour, alpha=0.2, lw=0)  # yapf: disable
    axes.plot([*by_number], [*map(np.mean, drawn)], 'o-', ms=3.5, lw=1.3,
              color=colour)  # yapf: disable


def _mean(drawn: Sequence[Mapping[str, float]], method: str) -> float:
    return float(np.mean([one[method] for one in drawn]))


class Token(NamedTuple):
    """A token of a text, and its salience weight (1 is the mean)."""
    word: str
    weight: float
    #: The words of the text before it.
    before: str


def tokens_of(predictor: Predictor, texts: TextSet,
              exam: str) -> dict[str, list[Token]]:
    """The tokens of the texts of an exam's own kind, by text."""
    targets = predictor.targets
    assert targets is not None
    weights = np.nan_to_num(predictor.token_weights(exam))
    of_texts = np.split(weights, targets.spans.token_offsets[1:-1])
    found = {}
    for text, spans, part in zip(texts, targets.spans, of_texts):
        data = text.text.encode()
        if text.source == exam:
            found[text.text_id] = [
                Token(data[start:end].decode(), float(weight),
                      data[:start].decode())
                for start, end, weight in zip(spans.starts, spans.ends, part)
            ]
    return found


def swap_weights(tokens: Mapping[str, Sequence[Token]]) -> dict[str, float]:
    """Mean weights of three kinds of tokens of the texts of swaps.

    Colours that a step swaps have to be looked up in the step before; those
    that come out of it follow from these.
    """
    kinds: dict[str, list[float]] = {'swapped': [], 'result': [], 'other': []}
    for token in (token for part in tokens.values() for token in part):
        kind = 'other'
        if token.word.strip() in COLOURS and 'Steps: ' in token.before:
            step = token.before.rpartition('\n')[2].removeprefix('Steps: ')
            kind = 'result' if ': ' in step + ' ' else 'swapped'
        kinds[kind].append(token.weight)
    return {kind: float(np.mean(part)) for kind, part in kinds.items()}


#: Points of the words of Fig. 9; inches of a line, its indent, a character.
_FONT_SIZE, _TEXT_LINE, _INDENT = 8.6, 0.21, 0.15
_CHARACTER = 0.602 * _FONT_SIZE / 72


def draw_words(zoo: Zoo, theme: str) -> Figure:
    """Fig. 9: the weights of the tokens of a text."""
    tokens = zoo.tokens
    weights = swap_weights(tokens)
    ratio = weights['swapped'] / weights['other']
    title = ('Colours that have to be looked up weigh '
             f'{ratio:.1f} times\nas much as other tokens')
    notes = [{'A stronger colour is a larger weight.': 'words'}]
    lines = [*_lines(tokens[TEXT])]
    most = max(token.weight for token in tokens[TEXT])
    sheet = _sheet(
        theme, title, notes, (1, 1), foot=0.05, row=_TEXT_LINE * len(lines))
    with sheet as (figure, grid, ink):
        colours = LinearSegmentedColormap.from_list('', [ink.ground, ink.blue])
        top = grid[0, 0].get_position().y1
        grid[0, 0].remove()
        for row, line in enumerate(lines):
            y = top + (0.1 - _TEXT_LINE * row) / figure.get_figheight()
            left = _INDENT
            for token in line:
                strength = 0.85 * token.weight / most
                word = token.word.rstrip('\n').replace(' ', '\u00a0')
                figure.text(
                    left / WIDTH,
                    y,
                    word,
                    family='DejaVu Sans Mono',
                    fontsize=_FONT_SIZE,
                    bbox=dict(
                        facecolor=colours(strength), edgecolor='none',
                        pad=1.2))
                left += _width(token)
    return figure


def _lines(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Lines of tokens, broken at line breaks and where a line is full."""
    line: list[Token] = []
    for token in tokens:
        if sum(map(_width, [*line, token])) > WIDTH - 2 * _INDENT:
            yield line
            line = []
        line.append(token)
        if token.word.endswith('\n'):
            yield line
            line = []
    if line:
        yield line


def _width(token: Token) -> float:
    """Inches of a token in a line."""
    return _CHARACTER * len(token.word.rstrip('\n')) + 0.008


FIGURES: dict[str, Callable[[Zoo, str], Figure]] = {
    'paper_1': draw_compute,
    'paper_2': draw_mean_loss,
    'paper_4': draw_capability,
    'paper_5': draw_own_series,
    'paper_6': draw_steps,
    'paper_7': draw_methods,
    'paper_8': draw_texts,
    'paper_9': draw_words,
}


def print_facts(zoo: Zoo) -> None:
    """Print the figures of the page that are in no picture."""
    steps = zoo.training.steps
    print('largest gap of Fig. 1:', largest_gap(zoo))
    print('weights of Fig. 9:', swap_weights(zoo.tokens))
    print('chosen steps:', dict(zip(steps.benchmarks, steps.best_step)))
    for pair, of_pair in zoo.own_series.items():
        print(
            f'series {pair[0]}, step chosen by series {pair[1]}:', {
                exam: round(error, 1)
                for exam, error in errors_at_chosen(of_pair).items()
            })


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('names', nargs='*', help=f'of {", ".join(FIGURES)}')
    parser.add_argument('--out', type=Path, required=True)
    args = parser.parse_args()
    zoo = Zoo.load()
    for name in args.names or FIGURES:
        save_themes(args.out, name, partial(FIGURES[name], zoo))
    if not args.names:
        print_facts(zoo)


if __name__ == '__main__':
    main()
