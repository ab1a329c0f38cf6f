"""The paper's figures, drawn from the demonstration's models.

    python -m tools.studies.paper_figures --out docs/pictures

draws the pictures of docs/paper_figures.md, Fig. 1, 2 and 4 to 9, on light and
on dark ground, and prints the figures of that page. Heads are trained by
Algorithm 2 with the learning rate that predicts the validation models best.
Errors are roots of mean squared errors, in points.
"""
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray
from tqdm import tqdm

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.paper_head import PaperTraining
from csv_plugin.lm.head.training_steps import SPLITS, TEST, TrainingSteps
from csv_plugin.lm.loading import load_scoring_lm
from csv_plugin.lm.methods import train_paper
from tools.studies.common import parser_of
from tools.studies.pictures import (WIDTH, Ink, Token, label, save_themes,
                                    sheet, tokens_of, width, write_tokens)
from tools.studies.zoo_study import (BASELINE, FIRST_SERIES, HEAD, LABEL,
                                     PAPER, SALIENCE, TRAIN, VALIDATION,
                                     ZooStudy)

#: The series of Fig. 1, whose mixtures of texts differ most.
TWO_SERIES = ('b', 'c')
#: The exams of Fig. 2.
BY_LOSS = ('chinese', 'scenes')
#: The step of Fig. 6 between the first and the chosen one.
BETWEEN = 10
#: Series that are predicted after their first checkpoints, and those that
#: choose the step (Fig. 5); the first pair is drawn.
PAIRS = ('ab', 'bc', 'cd', 'da')
#: The last of the first checkpoints, in per cent of the training (Fig. 5).
EARLY = 35
#: The text of Fig. 9 and its exam, and points of its words.
TEXT, EXAM, FONT_SIZE = 'swaps-001', 'swaps', 8.2
COLOURS = ('red', 'green', 'blue')
#: Losses are equal if they differ by less than this share.
EQUAL = 0.01
#: Numbers of texts of all kinds (Fig. 8), number of texts of 1 to 5 kinds, and
#: draws of each.
NUMBERS, FIXED, N_DRAWS = (10, 25, 50, 100, 250), 50, 3
BY_SCORE = 'capability score, nats per character (better to the right)'
SPLIT_NOTES = [{
    'training models': 'grey',
    'validation models': 'blue',
    'test models, with their errors': 'orange'
}]

#: Errors by method in points, of each draw of texts, by a number.
ByNumber = Mapping[int, Sequence[Mapping[str, float]]]


@dataclass(frozen=True, eq=False)
class Zoo:
    """The demonstration's models, and trainings by Algorithm 2 on them."""
    study: ZooStudy
    settings: HeadSettings = HEAD

    @cached_property
    def scoring_lm(self) -> tuple[Any, Any]:
        return load_scoring_lm(shipped.SCORING_LM, shipped.SCORING_TOKENIZER)

    @cached_property
    def training(self) -> PaperTraining:
        """Algorithm 2 on the shipped splits."""
        models = self.study.models_in
        return self._train(
            models(TRAIN, VALIDATION), models(VALIDATION), models(TEST))

    def _train(self, fitted: Sequence[str], validation: Sequence[str],
               watched: Sequence[str]) -> PaperTraining:
        whole = self.study.collection
        accuracies = whole.accuracies.select([*fitted, *watched])
        return train_paper(whole.losses, accuracies, whole.families,
                           self.scoring_lm, validation, watched, self.settings,
                           partial(tqdm, desc='steps'))

    @property
    def tokens(self) -> dict[str, list[Token]]:
        """Tokens of the texts of the exam of Fig. 9, by text."""
        texts, predictor = self.study.collection.texts, self.training.predictor
        found = tokens_of(texts, predictor, predictor.token_weights(EXAM))
        return {
            text.text_id: found[text.text_id]
            for text in texts if text.source == EXAM
        }

    @cached_property
    def own_series(self) -> dict[str, TrainingSteps]:
        """Steps of the trainings of Fig. 5, by pair of series."""
        models = [
            model for model in self.study.collection.info
            if model.partition('-')[0] in FIRST_SERIES
        ]
        late = [model for model in models if percent_of(model) > EARLY]
        found = {}
        for pair in PAIRS:
            test = [model for model in late if model[0] == pair[0]]
            validation = [model for model in late if model[0] == pair[1]]
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
        texts, n_all = study.collection.texts, len(study.exams)
        sizes = [(number, n_all) for number in NUMBERS]
        sizes += [(FIXED, n_kinds) for n_kinds in range(1, n_all)]
        found: dict[str, dict[int, list]] = {'texts': {}, 'kinds': {}}
        for n_texts, n_kinds in tqdm(sorted(sizes), desc='texts'):
            # All texts are drawn once.
            n_draws = 1 if n_texts == len(texts) else N_DRAWS
            errors = [
                _errors_of(study, drawn_texts(texts, n_texts, n_kinds, seed))
                for seed in range(n_draws)
            ]
            if n_kinds == n_all:
                found['texts'][n_texts] = errors
            if n_texts == FIXED:
                found['kinds'][n_kinds] = errors
        return found


def drawn_texts(texts: TextSet, n_texts: int, n_kinds: int,
                seed: int) -> list[Text]:
    """Random texts of random kinds, about as many of each kind.

    Draws with the same seed are nested: a larger one contains the smaller.
    Texts stay in the order of the set.
    """
    by_kind: dict[str, list[Text]] = {}
    for text in texts:
        by_kind.setdefault(text.source, []).append(text)
    rng = Random(seed)
    shuffled = [rng.sample(part, len(part)) for part in by_kind.values()]
    share, rest = divmod(n_texts, n_kinds)
    drawn = set()
    for k, part in enumerate(rng.sample(shuffled, len(shuffled))[:n_kinds]):
        for text in part[:share + (k < rest)]:
            drawn.add(text.text_id)
    return [text for text in texts if text.text_id in drawn]


def percent_of(model: str) -> int:
    """How far a checkpoint is in its training."""
    return int(model.partition('@')[2])


def _errors_of(study: ZooStudy, texts: Sequence[Text]) -> dict[str, float]:
    """Errors of all test models by method, on some texts, in points."""
    part = study.of_texts(texts)
    fitted = part.models_in(TRAIN, VALIDATION)
    rows = np.any([*part.test_models().values()], axis=0)
    return {
        method: points((part.by_method(method, fitted) - part.observed)[rows])
        for method in (BASELINE, PAPER, SALIENCE)
    }


def points(errors: NDArray) -> float:
    """Return the root mean square of fractions, in points."""
    return 100 * float(np.sqrt(np.mean(errors**2)))


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
    title = (f'At equal compute, two series are up to {largest_gap(zoo):.0f} '
             'points apart')
    first, second = TWO_SERIES
    notes = [{f'series {first}': 'blue', f'series {second}': 'orange'}]
    with sheet(theme, title, notes, (2, 3)) as (figure, grid, ink):
        for axes, name in zip(grid.flat, zoo.study.exams):
            for series, colour in ((first, ink.blue), (second, ink.orange)):
                models = [m for m in zoo.compute if m.startswith(f'{series}-')]
                values = accuracies.select(models, [name]).values[:, 0]
                compute = [zoo.compute[model] for model in models]
                axes.plot(compute, 100 * values, 'o', ms=3.5, color=colour)
            axes.set(title=name, xscale='log')
            axes.xaxis.set_major_locator(LogLocator(numticks=4))
            axes.xaxis.set_minor_formatter(NullFormatter())
            _accuracies(axes)
        grid[-1, -1].remove()
        label(figure, 'training compute, floating-point operations',
              'accuracy, %')
    return figure


def largest_gap(zoo: Zoo) -> float:
    """Largest gap of the two series of Fig. 1 in points.

    Compared are checkpoints of one size after one share of the training.
    """
    accuracies = zoo.study.collection.accuracies
    first = [m for m in zoo.compute if m.startswith(f'{TWO_SERIES[0]}-')]
    second = [TWO_SERIES[1] + m[1:] for m in first]
    gaps = accuracies.select(first).values - accuracies.select(second).values
    return 100 * float(np.abs(gaps).max())


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
    with sheet(theme, title, notes, (1, 2), row=2) as (figure, grid, ink):
        for axes, exam in zip(grid.flat, BY_LOSS):
            observed = 100 * steps.accuracies[:, steps.benchmarks.index(exam)]
            for mask, colour in ((~np.isin(series, ['b', 'd']), ink.grey),
                                 (series == 'b', ink.blue), (series == 'd',
                                                             ink.orange)):
                axes.plot(
                    losses[mask], observed[mask], 'o', ms=3.5, color=colour)
            axes.set_title(f'{exam}: up to {gaps[exam]:.0f} points apart')
            _log_scores(axes, losses)
            _accuracies(axes)
        label(figure, 'mean loss, nats per character (better to the right)',
              'accuracy, %')
    return figure


def gap_at_equal_loss(steps: TrainingSteps, exam: str) -> float:
    """Largest gap between two models of equal mean loss, in points."""
    losses = np.log(steps.scores[0, :, 0])
    observed = steps.accuracies[:, steps.benchmarks.index(exam)]
    equal = np.abs(losses[:, None] - losses) < EQUAL
    gaps = np.abs(observed[:, None] - observed)
    return 100 * float(gaps[equal].max())


def _draw_steps(axes: Axes, steps: TrainingSteps, step: int, exam: str,
                ink: Ink) -> None:
    """Accuracies by capability score at a step, and the curve."""
    b = steps.benchmarks.index(exam)
    scores = steps.scores[step, :, b]
    for split, colour in zip(SPLITS, (ink.grey, ink.blue, ink.orange)):
        mask = steps.splits == split
        observed = 100 * steps.accuracies[mask, b]
        axes.plot(scores[mask], observed, 'o', ms=3, color=colour)
    grid = np.geomspace(*_log_scores(axes, scores), 200)
    curve = 100 * steps.curve[step, b].accuracies(grid)
    axes.plot(grid, curve, color=ink.words, lw=1)
    _accuracies(axes)


def error_at(steps: TrainingSteps, exam: str, step: int) -> float:
    """Root mean squared error of test models at a step, in points."""
    b = steps.benchmarks.index(exam)
    return 100 * float(np.sqrt(steps.mse(TEST)[step, b]))


def chosen_step(steps: TrainingSteps, exam: str) -> int:
    """The step at which the validation models are predicted best."""
    return int(steps.best_step[steps.benchmarks.index(exam)])


def errors_at_chosen(steps: TrainingSteps) -> dict[str, float]:
    """Errors on the test models by exam, in points."""
    return {
        exam: error_at(steps, exam, chosen_step(steps, exam))
        for exam in steps.benchmarks
    }


def _capability_figure(steps: TrainingSteps, theme: str, title: str,
                       notes: Sequence[Mapping[str, str]]) -> Figure:
    """Test models at the chosen step, one panel per exam."""
    with sheet(theme, title, notes, (2, 3)) as (figure, grid, ink):
        for axes, exam in zip(grid.flat, steps.benchmarks):
            step = chosen_step(steps, exam)
            _draw_steps(axes, steps, step, exam, ink)
            axes.set_title(f'{exam}: {error_at(steps, exam, step):.1f} points')
        for axes in grid.flat[len(steps.benchmarks):]:
            axes.remove()
        label(figure, BY_SCORE, 'accuracy, %')
    return figure


def draw_capability(zoo: Zoo, theme: str) -> Figure:
    """Fig. 4: all series against the capability score."""
    steps = zoo.training.steps
    errors = errors_at_chosen(steps)
    worst = max(errors, key=errors.__getitem__)
    most = max(value for exam, value in errors.items() if exam != worst)
    title = (f'One curve holds for all series within {most:.0f} points,\n'
             f'but not on {worst}')
    return _capability_figure(steps, theme, title, SPLIT_NOTES)


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
    with sheet(
            theme, title, SPLIT_NOTES, (4, 3),
            gap=0.62) as (figure, grid, ink):
        for column, exam in zip(grid.T, exams):
            for axes, step in zip(column,
                                  (0, BETWEEN, chosen_step(steps, exam))):
                _draw_steps(axes, steps, step, exam, ink)
                axes.set_title(f'step {step}: '
                               f'{error_at(steps, exam, step):.1f} points')
            column[0].set_title(f'{exam}\n{column[0].get_title()}')
            _draw_errors(column[-1], steps, exam, ink)
        grid[-1, 0].set_ylabel('error, points')
        grid[-1, 1].set_xlabel('step')
        for axes in grid[:-1, 0]:
            axes.set_ylabel('accuracy, %')
        grid[2, 1].set_xlabel(BY_SCORE)
    return figure


def _draw_errors(axes: Axes, steps: TrainingSteps, exam: str,
                 ink: Ink) -> None:
    """Errors by step, on an axis that is logarithmic from step 1 on."""
    b = steps.benchmarks.index(exam)
    for split, colour in zip(SPLITS, (ink.grey, ink.blue, ink.orange)):
        axes.plot(100 * np.sqrt(steps.mse(split)[:, b]), color=colour, lw=1.3)
    axes.axvline(steps.best_step[b], color=ink.words, lw=0.8, ls=':')
    axes.set_xscale('symlog', linthresh=1)
    axes.set(xlim=(0, len(steps.scores)), ylim=(0, None))
    axes.set_xticks((0, 1, 10, 100))
    axes.xaxis.set_major_formatter('{x:g}')


def _by_chosen_steps(zoo: Zoo) -> NDArray:
    """Accuracies of all models by Eq. 2 of the chosen steps, `(M, B)`."""
    steps = zoo.training.steps
    predicted = steps.predicted()[steps.best_step, :,
                                  range(len(steps.benchmarks))].T
    order = [steps.models.index(model) for model in zoo.study.table.models]
    columns = [steps.benchmarks.index(exam) for exam in zoo.study.exams]
    return predicted[np.ix_(order, columns)]


def draw_methods(zoo: Zoo, theme: str) -> Figure:
    """Fig. 7: predicted against observed accuracies by method."""
    study = zoo.study
    rows = np.any([*study.test_models().values()], axis=0)
    fitted = study.models_in(TRAIN, VALIDATION)
    observed = study.observed[rows]
    predicted = {PAPER: _by_chosen_steps(zoo)[rows]}
    for method in (BASELINE, LABEL, SALIENCE):
        predicted[method] = study.by_method(method, fitted)[rows]
    errors = {
        method: points(values - observed)
        for method, values in predicted.items()
    }
    title = (f'Salience is off by {errors[SALIENCE]:.0f} points, label tokens '
             f'by {errors[LABEL]:.0f},\ncapability scores by '
             f'{errors[PAPER]:.0f}, the mean loss by {errors[BASELINE]:.0f}')
    notes = [{'80 test models on five exams': 'words'}]
    names = {
        BASELINE: 'mean loss (all tokens)',
        LABEL: 'label-token loss',
        PAPER: "capability score (the paper's method)",
        SALIENCE: 'salience (the default here)'
    }
    with sheet(
            theme, title, notes, (2, 2), row=2.3,
            gap=0.36) as (figure, grid, ink):
        for axes, (method, name) in zip(grid.flat, names.items()):
            axes.plot((0, 100), (0, 100), color=ink.lines, lw=1)
            axes.plot(
                100 * observed.ravel(),
                100 * predicted[method].ravel(),
                'o',
                ms=2.5,
                alpha=0.5,
                mew=0,
                color=ink.blue)
            axes.set_title(f'{name}:\n{errors[method]:.1f} points')
            axes.set(xlim=(-4, 104), xticks=(0, 50, 100))
            _accuracies(axes)
        label(figure, 'observed accuracy, %', 'predicted accuracy, %')
    return figure


def draw_texts(zoo: Zoo, theme: str) -> Figure:
    """Fig. 8: errors by kinds of texts, and by number of texts."""
    return texts_figure(zoo.by_texts, theme)


def texts_figure(by_texts: Mapping[str, ByNumber], theme: str) -> Figure:
    """The picture of `Zoo.by_texts`."""
    kinds = by_texts['kinds']
    first = np.mean(_of(kinds[min(kinds)], SALIENCE))
    last = np.mean(_of(kinds[max(kinds)], SALIENCE))
    title = ('From one kind of texts to five, the error of\n'
             f'salience falls from {first:.0f} to {last:.0f} points')
    colours = {BASELINE: 'grey', PAPER: 'orange', SALIENCE: 'blue'}
    with sheet(
            theme, title, [colours], (1, 2), row=2.2) as (figure, grid, ink):
        left, right = grid.flat
        for axes, name in ((left, 'kinds'), (right, 'texts')):
            for method, colour in colours.items():
                _draw_draws(axes, by_texts[name], method, getattr(ink, colour))
            axes.set_xlabel(name)
        right.sharey(left)
        left.set(
            ylim=(0, None),
            title=f'{FIXED} texts',
            xlabel='kinds of texts',
            ylabel='error, points')
        right.set(title='of all five kinds', xscale='log')
        right.set_xticks(NUMBERS)
        right.xaxis.set_major_formatter('{x:g}')
        right.minorticks_off()
    return figure


def _of(drawn: Sequence[Mapping[str, float]], method: str) -> list[float]:
    return [errors[method] for errors in drawn]


def _draw_draws(axes: Axes, by_number: ByNumber, method: str,
                colour: str) -> None:
    """Mean errors of a method with their range, by number."""
    numbers, means, low, high = list(by_number), [], [], []
    for part in by_number.values():
        errors = _of(part, method)
        means.append(np.mean(errors))
        low.append(min(errors))
        high.append(max(errors))
    axes.fill_between(numbers, low, high, color=colour, alpha=0.2, lw=0)
    axes.plot(numbers, means, 'o-', ms=3.5, lw=1.3, color=colour)


def swap_weights(tokens: Mapping[str, Sequence[Token]]) -> dict[str, float]:
    """Mean weights of three kinds of tokens of the texts of swaps.

    Colours that a step swaps have to be looked up in the step before; those
    that come out of it follow from these.
    """
    kinds: dict[str, list[float]] = {'swapped': [], 'result': [], 'other': []}
    for of_text in tokens.values():
        for token in of_text:
            kind = 'other'
            if token.word.strip() in COLOURS and 'Steps: ' in token.before:
                step = token.before.rpartition('\n')[2].removeprefix('Steps: ')
                kind = 'result' if ': ' in step + ' ' else 'swapped'
            kinds[kind].append(token.weight)
    return {kind: float(np.mean(part)) for kind, part in kinds.items()}


def draw_words(zoo: Zoo, theme: str) -> Figure:
    """Fig. 9: the weights of the tokens of a text."""
    tokens = zoo.tokens
    weights = swap_weights(tokens)
    title = ('Colours that have to be looked up weigh '
             f'{weights["swapped"] / weights["other"]:.1f} times\n'
             'as much as other tokens')
    notes = [{'A stronger colour is a larger weight.': 'words'}]
    lines = [*_lines(tokens[TEXT])]
    most = max(token.weight for token in tokens[TEXT])
    row = 0.21
    with sheet(
            theme, title, notes, (1, 1),
            row=row * (len(lines) - 2)) as (figure, grid, ink):
        top = grid[0, 0].get_position().y1
        grid[0, 0].remove()
        for k, line in enumerate(lines):
            y = top + (0.1 - row * k) / figure.get_figheight()
            write_tokens(figure, line, y, most, (ink.ground, ink.blue),
                         FONT_SIZE)
    return figure


def _lines(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Lines of tokens, broken at line breaks and where a line is full."""
    line: list[Token] = []
    for token in tokens:
        if sum(width(one, FONT_SIZE) for one in [*line, token]) > WIDTH - 0.3:
            yield line
            line = []
        line.append(token)
        if token.word.endswith('\n'):
            yield line
            line = []
    if line:
        yield line


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
    print('weights of Fig. 9:', swap_weights(zoo.tokens))
    print('chosen steps:', dict(zip(steps.benchmarks, steps.best_step)))
    for (test, chooser), of_pair in zoo.own_series.items():
        errors = errors_at_chosen(of_pair)
        print(f'series {test}, step chosen by series {chooser}:', {
            exam: round(error, 1)
            for exam, error in errors.items()
        })


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('names', nargs='*', help=f'of {", ".join(FIGURES)}')
    parser.add_argument('--out', type=Path, required=True)
    args = parser.parse_args()
    zoo = Zoo(ZooStudy.load())
    for name in args.names or FIGURES:
        save_themes(args.out, name, partial(FIGURES[name], zoo))
    if not args.names:
        print_facts(zoo)


if __name__ == '__main__':
    main()
