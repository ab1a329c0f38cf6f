"""Make heat maps: texts whose tokens are coloured by their salience weight."""
import html
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError, utf8_bytes
from csv_plugin.core.escaping import visible
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.spans import TokenSpans, char_bounds
from csv_plugin.core.texts import Text, TextSet


@dataclass(frozen=True)
class Piece:
    """A piece of a text and its salience weight.

    The weight is NaN if the predictor counts no token of the piece.
    """
    text: str
    weight: float


@dataclass(frozen=True, eq=False)
class HeatMap:
    """A text that is cut into pieces.

    Notebooks show the pieces in colours: blue for weights above 0, orange for
    weights below 0, and stronger colours for larger weights.
    """
    text: Text
    pieces: list[Piece]

    def _repr_html_(self) -> str:
        weights = [piece.weight for piece in self.pieces]
        full = full_weight(np.array(weights))
        words = ''
        for piece in self.pieces:
            words += _coloured(piece, full)
        title = html.escape(visible(self.text.text_id))
        # In elements of these classes, Jupyter leaves dollar signs as they
        # are and typesets no formulas.
        return ('<div class="tex2jax_ignore mathjax_ignore">'
                f'<p>{title}</p>'
                f'<p style="white-space: pre-wrap">{words}</p></div>')


def heat_map(text: Text, spans: TokenSpans, weights: NDArray) -> list[Piece]:
    """Cut a text into pieces at the boundaries of its tokens.

    `weights` has one weight per token, NaN for tokens that are not counted.
    Neighbouring tokens whose boundary is inside a character form one piece,
    whose weight is the mean over the bytes of its counted tokens. Bytes that
    no token covers form a piece without a weight.
    """
    data = utf8_bytes(text.text)
    starts = spans.starts
    ends = spans.ends
    ends_of_text = [0, len(data)]
    edges = np.concatenate([starts, ends, ends_of_text])
    cuts = np.intersect1d(edges, char_bounds(text.text))
    # The weight of the token that each byte belongs to, NaN in gaps.
    by_byte = np.full(spans.n_bytes, np.nan)
    for start, end, weight in zip(starts, ends, weights):
        by_byte[start:end] = weight
    pieces = []
    for start, end in zip(cuts[:-1], cuts[1:]):
        words = data[start:end].decode('utf-8')
        counted = _counted(by_byte[start:end])
        weight = math.nan
        if len(counted):
            weight = float(np.mean(counted))
        pieces.append(Piece(words, weight))
    return pieces


def strongest_maps(predictor: Predictor,
                   benchmark: str,
                   texts: TextSet,
                   limit: int = 3) -> list[HeatMap]:
    """Return heat maps of the texts whose weights vary most.

    The text with the largest standard deviation of its weights comes first.
    `texts` are the texts that the predictor was fitted on; up to `limit` of
    them are returned. An `InputError` if the predictor was not fitted to
    token losses, was fitted on other texts, or has no such benchmark.
    """
    weights = predictor.token_weights(benchmark)
    targets = predictor.targets
    if targets is None or targets.fingerprint != texts.fingerprint:
        expected = predictor.columns.fingerprint
        raise InputError(
            'texts', 'the validation set of the predictor, with the '
            f'fingerprint {expected}', f'the fingerprint {texts.fingerprint}',
            'Give the file of texts that the predictor was trained on.')
    end_tokens = np.cumsum(targets.spans.n_tokens)
    by_text = np.split(weights, end_tokens[:-1])
    deviations = np.zeros(len(by_text))
    for row, of_text in enumerate(by_text):
        counted = _counted(of_text)
        if len(counted):
            deviations[row] = np.std(counted)
    # The sort is stable: texts whose weights vary equally keep their order.
    most_varied = np.argsort(-deviations, kind='stable')
    maps = []
    for row in most_varied[:limit].tolist():
        text = texts.texts[row]
        pieces = heat_map(text, targets.spans[row], by_text[row])
        maps.append(HeatMap(text, pieces))
    return maps


def full_weight(weights: NDArray) -> float:
    """Return the smallest absolute weight that is shown in full colour.

    It is the 99th percentile of the absolute weights above 0, or 1 if all
    weights are 0 or NaN.
    """
    known = weights[np.isfinite(weights)]
    sizes = np.abs(known)
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return 1.0
    return float(np.quantile(sizes, 0.99))


def _coloured(piece: Piece, full: float) -> str:
    """Return a piece as HTML, in full colour if `|weight| >= full`."""
    words = html.escape(visible(piece.text))
    if math.isnan(piece.weight):
        return words
    colour = '0, 114, 178' if piece.weight > 0 else '213, 94, 0'
    share = min(abs(piece.weight) / full, 1)
    opacity = 0.7 * share
    return (f'<span title="{piece.weight:+.3g}" style="background-color: '
            f'rgba({colour}, {opacity:.2f})">{words}</span>')


def _counted(weights: NDArray) -> Floats:
    """Return the weights that are not NaN; only their tokens count."""
    return weights[~np.isnan(weights)]
