"""Read, write and join token-loss dumps.

A dump is a file with one model's loss on every token of some texts.

docs/appendix/binary_files.md describes the format. NaN stands for a token that
the model did not score.
"""
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from functools import lru_cache
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TextLosses
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.progress import Progress
from csv_plugin.core.spans import TextSpans
from csv_plugin.core.texts import TextSet
from csv_plugin.io.containers import (errors_name, read_container,
                                      write_container)
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import check_fields
from csv_plugin.io.model_paths import paths_by_model

KIND = 'csv_plugin.dump'

#: Names of the columns that have a number for each token: the first byte of
#: the token and the byte behind its last one, and its loss.
_SPANS, _LOSSES = ('starts', 'ends'), 'losses'
#: Types of fields of `DumpInfo` in JSON; all other fields are texts.
_TYPES = {
    'context': 'a count',
    'stride': 'a count',
    'versions': 'texts by name',
}
_REMEDY = 'Fetch an intact copy, or score the texts again.'


def write_dump(path: FilePath, dump: TokenLossDump) -> None:
    """Write a dump; the file appears completely or not at all.

    Losses are rounded to float32, and texts keep their order. Equal dumps give
    equal files if they are written with the same version of zlib.

    Raises:
        InputError: The folder does not exist, or a number does not fit into 32
            bits.
    """
    texts = TextLosses.of(dump.texts)
    digits = ''.join(texts.hashes)
    hashes = np.frombuffer(bytes.fromhex(digits), np.uint8)
    arrays = {'sha256': hashes.reshape(-1, 32)}
    columns = {
        'n_chars': texts.n_chars,
        'n_bytes': texts.spans.n_bytes,
        'n_tokens': texts.spans.n_tokens,
        'starts': texts.spans.starts,
        'ends': texts.spans.ends,
        _LOSSES: texts.losses
    }
    for name, column in columns.items():
        arrays[name] = _packed(name, column)
    header = asdict(dump.info)
    versions = dump.info.versions
    header['versions'] = {name: versions[name] for name in sorted(versions)}
    header['texts'] = list(texts.ids)
    _info(path, header)
    write_container(path, KIND, header, arrays)


def read_dump(path: FilePath) -> TokenLossDump:
    """Read a dump that `write_dump` wrote.

    Losses are returned as float64, although the file stores float32. They are
    NaN on tokens that the model did not score.
    """
    header, arrays = read_container(path, KIND, _REMEDY)
    info = _info(path, header)
    check_fields(path, 'the header', header, {'texts': 'a list of texts'},
                 _REMEDY)
    names = tuple(header['texts'])
    n_texts = len(names)
    hashes = _bytes_of(path, arrays, 'sha256')
    if hashes.shape != (n_texts, 32):
        raise InputError(f"{path}, 'sha256'", f'{n_texts} hashes',
                         f'the shape {hashes.shape}', _REMEDY)
    n_chars = _unpacked(path, arrays, 'n_chars', n_texts)
    n_bytes = _unpacked(path, arrays, 'n_bytes', n_texts)
    n_tokens = _unpacked(path, arrays, 'n_tokens', n_texts)
    if n_tokens.min(initial=0) < 0:
        raise InputError(f"{path}, 'n_tokens'", 'numbers of 0 or more',
                         f'{n_tokens.min()}', _REMEDY)
    total = int(n_tokens.sum())
    starts = _unpacked(path, arrays, 'starts', total)
    ends = _unpacked(path, arrays, 'ends', total)
    losses = _unpacked(path, arrays, _LOSSES, total)
    with errors_name(path, 'token losses', _REMEDY):
        spans = TextSpans(starts, ends, n_tokens, n_bytes)
        digits = tuple(bytes(row).hex() for row in hashes)
        # Dumps of different models often have equal texts, and in a series
        # also equal tokens, which are then held in memory only once.
        names = _shared(names)
        digits = _shared(digits)
        spans = _shared(spans)
        texts = TextLosses(names, digits, n_chars, spans, losses)
        return TokenLossDump(info, texts)


@lru_cache(maxsize=16)
def _shared(value: Any) -> Any:
    """Return the same object for equal values, so that it is stored once."""
    return value


def read_dumps(paths: Mapping[str, FilePath] | Iterable[FilePath],
               texts: TextSet,
               progress: Progress = iter) -> ModelLosses:
    """Read the dumps of many models on one validation set, losses in nats.

    `paths` maps the name of each model to its file, or is a list of files that
    are named after their models. Every dump must contain all `texts`.
    `progress` wraps the loop over models.

    Raises:
        InputError: Two files are named after the same model, a dump cannot be
            read, or the texts of a dump differ from `texts`.
    """
    files = paths_by_model(paths)
    dumps = {}
    for model in progress(list(files)):
        dump = read_dump(files[model])
        dumps[model] = merge_dumps([dump], texts)
    return ModelLosses(texts, dumps)


def merge_dumps(dumps: Iterable[TokenLossDump],
                expected: Optional[TextSet] = None) -> TokenLossDump:
    """Join one or more dumps of one model, each of a part of the texts.

    The order of the dumps does not matter. A text may occur in several dumps
    if its losses in these dumps are equal. If a validation set is `expected`,
    all of its texts must occur, and the result has the texts in its order.
    Otherwise the texts are sorted by text id.
    """
    shards = list(dumps)
    info = shards[0].info
    where = f'dump of {info.model!r}'
    for shard in shards:
        info = _shared_info(info, shard.info)
    parts = [TextLosses.of(shard.texts) for shard in shards]
    texts = TextLosses.concatenate(parts)
    first_row: dict[str, int] = {}
    for row, text_id in enumerate(texts.ids):
        first = first_row.setdefault(text_id, row)
        if first != row and not _same(texts, first, row):
            raise InputError(where, 'the same losses of a text in all shards',
                             f'different losses on {text_id!r}',
                             'Remove the shards of an earlier run.')
    if expected is None:
        sorted_rows = [first_row[text_id] for text_id in sorted(first_row)]
        texts = texts.select(sorted_rows)
    else:
        if info.fingerprint != expected.fingerprint:
            raise InputError(
                where,
                f'the validation set with fingerprint {expected.fingerprint}',
                f'the validation set with fingerprint {info.fingerprint}',
                'Read the validation set that was scored, in its order.')
        texts = texts.in_order(where, expected.ids, expected.hashes)
    return TokenLossDump(info, texts)


def _shared_info(first: DumpInfo, info: DumpInfo) -> DumpInfo:
    """Return the record of two shards, which must be the same in both.

    Only their folders may differ; the folder in the result is then empty.
    """
    if first.folder != info.folder:
        first = replace(first, folder='')
        info = replace(info, folder='')
    # Names and values of the fields of the record.
    for name, value in vars(first).items():
        other = getattr(info, name)
        if other != value:
            raise InputError(f'shards of the dump of {first.model!r}',
                             f'the same {name} in all shards',
                             f'{value!r} and {other!r}',
                             'Merge only shards that one run wrote.')
    return first


def _same(texts: TextLosses, first: int, other: int) -> bool:
    """Return whether two entries have the same text, tokens and losses.

    NaN counts as equal to NaN.
    """
    one = texts[first]
    two = texts[other]
    if one.sha256 != two.sha256 or one.n_chars != two.n_chars:
        return False
    if one.spans != two.spans:
        return False
    return np.array_equal(one.losses, two.losses, equal_nan=True)


def _info(where: FilePath, header: Mapping[str, Any]) -> DumpInfo:
    """Read from a header how the losses were measured, and check the types."""
    types = {}
    for field in fields(DumpInfo):
        types[field.name] = _TYPES.get(field.name, 'a text')
    check_fields(where, 'the header', header, types, _REMEDY)
    values = {name: header[name] for name in types}
    return DumpInfo(**values)


def _packed(name: str, values: NDArray) -> NDArray[np.uint8]:
    """Compress the numbers of a column, which must fit into 32 bits."""
    limit = float(np.iinfo('i4').max)
    if name == _LOSSES:
        limit = float(np.finfo('f4').max)
    beyond = values[np.abs(values) > limit]
    if len(beyond):
        raise InputError(f'{name} of a dump', f'at most {limit:g}',
                         f'{beyond[0]}',
                         'Shorten the text, or score it in higher precision.')
    if name in _SPANS:
        # Differences are small, so they compress better.
        values = np.diff(values, prepend=0)
    if name == _LOSSES:
        # NaN has many bit patterns. All are replaced by the same pattern, so
        # that equal dumps give equal files.
        is_unscored = np.isnan(values)
        values = np.where(is_unscored, np.nan, values)
    numbers = values.astype(_dtype(name))
    all_bytes = numbers.view(np.uint8)
    by_number = all_bytes.reshape(-1, 4)
    # All first bytes of the numbers come first, then all second bytes, and so
    # on, because bytes in this order compress better.
    by_byte = by_number.T.tobytes()
    compressed = zlib.compress(by_byte)
    return np.frombuffer(compressed, np.uint8)


def _unpacked(where: FilePath, arrays: Mapping[str, NDArray], name: str,
              count: int) -> NDArray:
    """Decompress a column that `_packed` made of `count` numbers."""
    packed = _bytes_of(where, arrays, name).tobytes()
    inflater = zlib.decompressobj()
    size = 4 * count
    try:
        # A small file may decompress to gigabytes, so at most one byte more
        # than expected is decompressed.
        data = inflater.decompress(packed, size + 1)
    except (zlib.error, OverflowError) as error:
        raise InputError(f'{where}, {name!r}', 'a compressed column',
                         f'the error {str(error)!r}', _REMEDY) from error
    if len(data) != size or not inflater.eof:
        raise InputError(f'{where}, {name!r}', f'{count} numbers',
                         'another count', _REMEDY)
    all_bytes = np.frombuffer(data, np.uint8)
    by_byte = all_bytes.reshape(4, count)
    by_number = np.ascontiguousarray(by_byte.T)
    values = by_number.view(_dtype(name))[:, 0]
    if name in _SPANS:
        return np.cumsum(values, dtype=np.int64)
    if name == _LOSSES:
        return values
    return values.astype(np.int64)


def _dtype(name: str) -> str:
    """Return the type of numbers that a column is stored as."""
    return '<f4' if name == _LOSSES else '<i4'


def _bytes_of(where: FilePath, arrays: Mapping[str, NDArray],
              name: str) -> NDArray:
    """Return an array of a file, which must consist of bytes."""
    expected = f'an array {name!r} of bytes'
    if name not in arrays:
        raise InputError(where, expected, 'none', _REMEDY)
    array = arrays[name]
    if array.dtype != np.uint8:
        raise InputError(where, expected, f'{array.dtype}', _REMEDY)
    return array
