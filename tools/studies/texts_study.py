"""How many texts, and of how many kinds, a prediction needs.

Predictors are fitted to the zoo on draws of the validation set: more and more
texts of all sources, or a fixed number of texts of more and more sources.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tabulate import tabulate

from csv_plugin.core import metrics
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_groups, group_columns, text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Ridge, Solver, Uniform
from csv_plugin.core.study import geometric_mean
from csv_plugin.core.texts import Text, TextSet
from tools.studies.errors_by_texts import TextsStudyRow
from tools.studies.zoo_study import BASELINE, TRAIN, VALIDATION, ZooStudy

#: Columns and solver of each method; 'groups' are the means of each source's
#: answers and of the rest of its texts.
METHODS: dict[str, tuple[str, Solver]] = {
    'groups, ridge': ('groups', Ridge()),
    'texts, ridge': ('texts', Ridge()),
    BASELINE: ('groups', Uniform()),
}


@dataclass(frozen=True)
class Draw:
    """Texts that a predictor is fitted on.

    Args:
        series (str): As in `TextsStudyRow`.
        n_sources (int): Sources they come from.
        seed (int): Of the draw.
        texts (tuple[Text, ...]): In the order of the whole set.
    """
    series: str
    n_sources: int
    seed: int
    texts: tuple[Text, ...]


def draw(texts: TextSet, n_texts: int, n_sources: int,
         seed: int) -> tuple[Text, ...]:
    """Random texts of random sources, about as many of each source.

    Draws with the same seed are nested: a larger one holds the smaller.

    Args:
        texts (TextSet): To draw from.
        n_texts (int): Number of texts to draw.
        n_sources (int): Number of sources to draw them from.
        seed (int): Of the draw.

    Returns:
        tuple[Text, ...]: In the order of the set.

    Raises:
        InputError: The set has fewer sources, or the number of texts is
            below that of the sources or above what they all can give in
            equal parts.
    """
    by_source: dict[str, list[Text]] = {}
    for text in texts:
        by_source.setdefault(text.source, []).append(text)
    if not 1 <= n_sources <= len(by_source):
        raise InputError('number of sources', f'1 to {len(by_source)}',
                         str(n_sources), 'Draw from sources that exist.')
    most = n_sources * min(map(len, by_source.values()))
    if not n_sources <= n_texts <= most:
        raise InputError('number of texts',
                         f'{n_sources} to {most} of {n_sources} sources',
                         str(n_texts), 'Draw another number of texts.')
    rng = Random(seed)
    shuffled = [rng.sample(part, len(part)) for part in by_source.values()]
    chosen = rng.sample(shuffled, len(shuffled))[:n_sources]
    share, rest = divmod(n_texts, n_sources)
    counts = [share + (place < rest) for place in range(n_sources)]
    drawn = {
        text.text_id
        for count, source in zip(counts, chosen)
        for text in source[:count]
    }
    return tuple(text for text in texts if text.text_id in drawn)


def draws(texts: TextSet, numbers: Sequence[int], n_fixed: int,
          seeds: Sequence[int]) -> list[Draw]:
    """All draws of a study.

    Args:
        texts (TextSet): To draw from.
        numbers (Sequence[int]): Numbers of texts, of all sources.
        n_fixed (int): Number of texts of the draws from one source, two
            sources and so on.
        seeds (Sequence[int]): One draw each; the draw of all texts is made
            only with the first.

    Raises:
        InputError: As in `draw`.
    """
    n_all = len({text.source for text in texts})
    by_texts = [
        Draw('texts', n_all, seed, draw(texts, n, n_all, seed))
        for n in numbers for seed in (seeds[:1] if n == len(texts) else seeds)
    ]
    by_sources = [
        Draw('sources', n, seed, draw(texts, n_fixed, n, seed))
        for n in range(1, n_all + 1) for seed in seeds
    ]
    return by_texts + by_sources


def texts_study(study: ZooStudy,
                drawn: Sequence[Draw],
                progress: Progress = iter) -> list[TextsStudyRow]:
    """Errors on the zoo's test models, by draw, method and `test_models`.

    Args:
        study (ZooStudy): The zoo; its hidden states are not used.
        drawn (Sequence[Draw]): The texts to fit on, in turn.
        progress (Progress): Wraps the draws.

    Returns:
        list[TextsStudyRow]: Mean squared errors, geometric means over the
        exams.
    """
    return [
        TextsStudyRow(part.series, len(part.texts), part.n_sources, part.seed,
                      method, models, error) for part in progress(drawn)
        for method in METHODS
        for models, error in _errors(study, part.texts, method).items()
    ]


def _errors(study: ZooStudy, texts: tuple[Text, ...],
            method: str) -> dict[str, float]:
    """Geometric means of the exams' MSE by kind of test models."""
    name, solver = METHODS[method]
    part = TextSet(texts)
    spans = dict(zip(study.targets.text_ids, study.targets.spans))
    targets = TargetTokens.of(part, [spans[text.text_id] for text in texts])
    collection = study.collection.select_texts(part)
    losses = targets.table({
        model: dump.texts
        for model, dump in collection.losses.items()
    })
    source = text_columns(losses) if name == 'texts' else group_columns(
        losses, answer_groups(texts, targets.spans))
    features = source.features(losses)
    fitted = collection.models_in(TRAIN, VALIDATION)
    predictor = fit_predictor(
        features.select(fitted), collection.accuracies.select(fitted),
        [collection.families[model] for model in fitted], solver)
    predicted = predictor.predict(features).values[:, :, 0]
    real = collection.accuracies.values
    return {
        kind: geometric_mean(
            metrics.mse(real[rows, b], predicted[rows, b])
            for b in range(real.shape[1]))
        for kind, rows in study.test_models().items()
    }  # yapf: disable


def table(rows: Sequence[TextsStudyRow]) -> str:
    """Errors x 1e-3 in Markdown: geometric means over the draws (and ranges).

    Args:
        rows (Sequence[TextsStudyRow]): From `texts_study`.
    """
    kinds = dict.fromkeys(row.models for row in rows)
    methods = dict.fromkeys(row.method for row in rows)
    columns = [(kind, method) for kind in kinds for method in methods]
    errors: dict[tuple, dict[tuple, list[float]]] = {}
    for row in rows:
        cells = errors.setdefault((row.series, row.n_texts, row.n_sources), {})
        cells.setdefault((row.models, row.method), []).append(1e3 * row.mse)
    header = [
        'texts', 'sources',
        *(f'{models}: {method}' for models, method in columns)
    ]
    lines = [[n_texts, n_sources, *(_cell(cells[key]) for key in columns)]
             for (_, n_texts, n_sources), cells in errors.items()]
    return tabulate(lines, header, tablefmt='pipe', disable_numparse=True,
                    colalign=['right'] * len(header))  # yapf: disable


def _cell(errors: Sequence[float]) -> str:
    spread = f' ({min(errors):.1f}-{max(errors):.1f})' if errors[1:] else ''
    return f'{geometric_mean(errors):.1f}{spread}'
