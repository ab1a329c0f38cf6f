"""The tokens of a predictor as arrays of its file."""
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.targets import TargetTokens

#: Arrays by name, with the letters of their axes: texts, tokens, columns,
#: entries of the matrix.
SHAPES = {
    'tokens.per_text': 'S',
    'tokens.n_bytes': 'S',
    'tokens.starts': 'T',
    'tokens.ends': 'T',
    'matrix.per_column': 'K',
    'matrix.token': 'E',
    'matrix.value': 'E',
}


def pack_tokens(targets: TargetTokens,
                matrix: csc_array) -> dict[str, NDArray]:
    """Target tokens and the matrix of `TokenColumns`, by name."""
    spans = targets.spans
    return {
        'tokens.per_text': np.array([len(tokens) for tokens in spans]),
        'tokens.n_bytes': np.array([tokens.n_bytes for tokens in spans]),
        'tokens.starts': np.concatenate([t.starts for t in spans]),
        'tokens.ends': np.concatenate([t.ends for t in spans]),
        'matrix.per_column': np.diff(matrix.indptr),
        'matrix.token': matrix.indices,
        'matrix.value': matrix.data,
    }


def unpack_tokens(part: Mapping[str, NDArray], texts: Sequence[Sequence[str]],
                  fingerprint: str,
                  n_columns: int) -> tuple[TargetTokens, csc_array]:
    """What `pack_tokens` packed.

    Args:
        part (Mapping): The arrays by name, in the shapes of `SHAPES`.
        texts (Sequence): Id and SHA-256 of each of S texts.
        fingerprint (str): Of the validation set.
        n_columns (int): K.

    Raises:
        InputError: If the tokens do not lie in their texts.
        ValueError: If the parts do not fit each other.
    """
    ends = np.cumsum(part['tokens.per_text'])[:-1]
    spans = tuple(
        TokenSpans(*tokens) for tokens in zip(
            np.split(part['tokens.starts'], ends),
            np.split(part['tokens.ends'], ends), (
                int(n) for n in part['tokens.n_bytes'])))
    pointers = np.append(0, np.cumsum(part['matrix.per_column']))
    matrix = csc_array((part['matrix.value'], part['matrix.token'], pointers),
                       shape=(len(part['tokens.starts']), n_columns))
    matrix.check_format()
    ids, hashes = zip(*texts)
    return TargetTokens(ids, hashes, spans, fingerprint), matrix
