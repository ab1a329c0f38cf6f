"""Salience weights laid over the text that they belong to."""
import html
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, utf8_bytes
from csv_plugin.core.escaping import visible
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.spans import TokenSpans, char_bounds
from csv_plugin.core.texts import Text, TextSet


@dataclass(frozen=True)
class Piece:
    """A stretch of a text and its salience weight, NaN if none was counted."""
    text: str
    weight: float


@dataclass(frozen=True, eq=False)
class HeatMap:
    """One text in pieces; joined, they are the text.

    Notebooks show it in colours: blue for weights above 0, orange for those
    below, stronger for larger ones.
    """
    text: Text
    pieces: list[Piece]

    def _repr_html_(self) -> str:
        weights = [piece.weight for piece in self.pieces]
        full = full_weight(np.array(weights))
        words = ''.join(_coloured(piece, full) for piece in self.pieces)
        # Jupyter reads no formulas in these classes.
        return ('<div class="tex2jax_ignore mathjax_ignore">'
                f'<p>{html.escape(visible(self.text.text_id))}</p>'
                f'<p style="white-space: pre-wrap">{words}</p></div>')


def heat_map(text: Text, spans: TokenSpans, weights: NDArray) -> list[Piece]:
    """Cut a text where its tokens meet.

    Tokens that meet inside a character stay together, with the mean weight, by
    bytes, of those that were counted. Bytes that no token covers form a piece
    without a weight. Weights are one per token, NaN if it was not counted.
    """
    data = utf8_bytes(text.text)
    edges = np.concatenate([spans.starts, spans.ends, [0, len(data)]])
    cuts = np.intersect1d(edges, char_bounds(text.text))
    # That of the token which each byte belongs to, NaN in gaps.
    by_byte = np.full(spans.n_bytes, np.nan)
    for start, end, weight in zip(spans.starts, spans.ends, weights):
        by_byte[start:end] = weight
    pieces = []
    for start, end in zip(cuts[:-1], cuts[1:]):
        weight = _counted(by_byte[start:end], np.mean, math.nan)
        pieces.append(Piece(data[start:end].decode('utf-8'), weight))
    return pieces


def strongest_maps(predictor: Predictor,
                   benchmark: str,
                   texts: TextSet,
                   limit: int = 3) -> list[HeatMap]:
    """Return heat maps of the texts whose weights vary most, those first.

    `texts` are those of the training, of which up to `limit` are taken. An
    `InputError` if the predictor was not made from tokens or was made from
    other texts, or there is no such benchmark.
    """
    weights = predictor.token_weights(benchmark)
    targets = predictor.targets
    if targets is None or targets.fingerprint != texts.fingerprint:
        raise InputError(
            'texts', 'the validation set of the predictor, '
            f'{predictor.columns.fingerprint}', texts.fingerprint,
            'Give the file that the predictor was trained on.')
    first_tokens = np.cumsum(targets.spans.n_tokens)[:-1]
    by_text = np.split(weights, first_tokens)
    rows = list(zip(texts, targets.spans, by_text))
    # Stable: equal texts keep their order.
    rows.sort(key=lambda row: -_counted(row[2], np.std, 0.0))
    maps = []
    for text, spans, of_text in rows[:limit]:
        maps.append(HeatMap(text, heat_map(text, spans, of_text)))
    return maps


def full_weight(weights: NDArray) -> float:
    """Return the 99th percentile of sizes above 0, or 1 if there are none.

    A weight of this size is shown in full colour.
    """
    sizes = np.abs(weights[np.isfinite(weights)])
    sizes = sizes[sizes > 0]
    return float(np.quantile(sizes, 0.99)) if sizes.size else 1.0


def _coloured(piece: Piece, full: float) -> str:
    """Return a piece as HTML, in full colour from the weight `full` on."""
    words = html.escape(visible(piece.text))
    if math.isnan(piece.weight):
        return words
    colour = '0, 114, 178' if piece.weight > 0 else '213, 94, 0'
    opacity = 0.7 * min(abs(piece.weight) / full, 1)
    return (f'<span title="{piece.weight:+.3g}" style="background-color: '
            f'rgba({colour}, {opacity:.2f})">{words}</span>')


def _counted(weights: NDArray, measure: Callable[[NDArray], float],
             otherwise: float) -> float:
    """A measure of the weights that were counted, if there are any."""
    counted = weights[~np.isnan(weights)]
    return float(measure(counted)) if counted.size else otherwise
