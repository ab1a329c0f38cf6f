"""Token-loss dumps: what one model scored on a validation set, as Parquet.

One row per text with `text_id`, `sha256` of the text, `n_chars`, `n_bytes`
and lists with one number per token: `token_ids`, `starts` and `ends` (UTF-8
bytes), `losses` and `entropy` (nats), `rank`. A null in the last three is an
unscored token; `token_ids`, `entropy` and `rank` are absent where they were
not recorded. The metadata key `csv_plugin.dump` holds JSON: `format_version`
and the fields of `DumpInfo`.
"""
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Optional, Union

import pyarrow.parquet as pq

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable, TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import TextSet, utf8_bytes
from csv_plugin.io.files import atomic_path
from csv_plugin.io.loss_rows import (OPTIONAL, REMEDY, from_table, named_in,
                                     read_table, to_table)
from csv_plugin.io.shards import check_texts, merge_texts

FORMAT = b'csv_plugin.dump'
FORMAT_VERSION = 1

#: Fields of DumpInfo that are no texts.
_COUNT = 'a whole number, 0 or more'
_KINDS = {'context': _COUNT, 'stride': _COUNT, 'versions': 'texts by name'}

_FilePath = Union[str, os.PathLike[str]]


@dataclass(frozen=True)
class DumpInfo:
    """Where the losses of a dump come from.

    Args:
        fingerprint (str): Of the whole validation set, whichever part of it
            the dump holds; see `texts.fingerprint`.
        model (str): Name of the model.
        tokenizer (str): Name of its tokenizer.
        prefix (str): Token in front of every text, such as 'bos 1' or
            'eos 2' with its vocabulary index; 'none' without one.
        dtype (str): Number format of the model's body, such as 'bfloat16'.
        context (int): Longest window in tokens, 0 if unlimited.
        stride (int): Tokens that each window after the first of a text
            scores, with the context before them read again; 0 if unlimited.
        versions (Mapping[str, str]): Of the packages that took part.

    Raises:
        InputError: A field has another type, or a number is negative.
    """
    fingerprint: str
    model: str
    tokenizer: str
    prefix: str
    dtype: str
    context: int
    stride: int
    versions: Mapping[str, str]

    def __post_init__(self) -> None:
        sound = {k: isinstance(v, str) for k, v in vars(self).items()}
        for name in ('context', 'stride'):
            number = getattr(self, name)
            sound[name] = type(number) is int and number >= 0
        sound['versions'] = isinstance(self.versions, Mapping) and all(
            isinstance(text, str) for item in self.versions.items()
            for text in item)
        for name in (name for name in sound if not sound[name]):
            raise InputError(f'DumpInfo.{name}', _KINDS.get(name, 'a text'),
                             repr(getattr(self, name))[:80],
                             'Record how the texts were scored.')
        object.__setattr__(self, 'versions', dict(self.versions))


@dataclass(frozen=True, eq=False)
class TokenLossDump:
    """Losses of one model on some or all texts of a validation set.

    Args:
        info (DumpInfo): Where they come from.
        texts (tuple[TokenLosses, ...]): Of different texts, each with its
            `sha256`. What is optional is recorded for all or for none.

    Raises:
        InputError: A text occurs twice or lacks its hash, UTF-8 cannot
            encode its id, or it alone has or lacks an optional field.
    """
    info: DumpInfo
    texts: tuple[TokenLosses, ...]

    def __post_init__(self) -> None:
        texts = tuple(self.texts)
        object.__setattr__(self, 'texts', texts)
        where = f'dump of {self.info.model!r}'
        seen: set[str] = set()
        for text in texts:
            utf8_bytes(text.text_id, f'{where}, text id {text.text_id!r}')
            if text.text_id in seen:
                raise InputError(where, 'every text once',
                                 f'{text.text_id!r} twice',
                                 'Score every text once.')
            seen.add(text.text_id)
            _check_recorded(where, texts[0], text)


def write_dump(path: _FilePath, dump: TokenLossDump) -> None:
    """Write a dump; the file appears whole or not at all.

    Losses and entropies are rounded to float32. Equal dumps make equal
    files, with one version of pyarrow.

    Args:
        path (str | os.PathLike[str]): The file to create or replace.
        dump (TokenLossDump): Its texts keep their order.

    Raises:
        InputError: The folder does not exist, or a number does not fit
            into 32 bits.
    """
    header = {'format_version': FORMAT_VERSION, **asdict(dump.info)}
    # ASCII whatever the names are, in one order whatever the versions'.
    metadata = {FORMAT: json.dumps(header, sort_keys=True)}
    table = to_table(dump.texts).replace_schema_metadata(metadata)
    with atomic_path(path) as temporary, temporary.open('wb') as file:
        pq.write_table(
            table, file, compression='zstd', write_page_checksum=True)


def read_dump(path: _FilePath) -> TokenLossDump:
    """Read what `write_dump` wrote.

    Args:
        path (str | os.PathLike[str]): The file.

    Returns:
        TokenLossDump: Texts in the order of the file; losses and entropies
        are float64 that hold the file's float32.

    Raises:
        InputError: The file is missing, truncated, damaged, not a dump or
            of a later format, lacks a column or holds one of another type,
            or the values of a text do not fit each other.
    """
    where = os.fspath(path)
    table = read_table(where)
    info = _info(where, table.schema.metadata or {})
    texts = from_table(where, table)
    with named_in(where):
        return TokenLossDump(info, texts)


def merge_dumps(dumps: Iterable[TokenLossDump],
                expected: Optional[TextSet] = None) -> TokenLossDump:
    """Join the shards that one model's dump was scored in.

    The order of the shards does not matter, and a text may be in several
    of them as long as all say the same of it, bit by bit.

    Args:
        dumps (Iterable[TokenLossDump]): At least one.
        expected (Optional[TextSet]): The validation set, all of which must be
            there; None to take the texts that there are.

    Returns:
        TokenLossDump: In the order of the validation set, or else sorted by
        text id.

    Raises:
        InputError: There is no shard, shards are of different origin or
            contradict each other on a text, or their texts are not those
            of the validation set.
    """
    shards = list(dumps)
    if not shards:
        raise InputError('shards of a dump', 'at least one', 'none',
                         'Give all files that scoring wrote.')
    info = shards[0].info
    for shard in shards:
        _check_same_info(info, shard.info)
    where = f'dump of {info.model!r}'
    merged = merge_texts(where, [shard.texts for shard in shards])
    if expected is None:
        order: Sequence[str] = sorted(merged)
    else:
        check_texts(where, merged, expected)
        _check_fingerprint(where, info.fingerprint, expected.fingerprint)
        order = expected.ids
    return TokenLossDump(info, tuple(merged[text_id] for text_id in order))


def load_loss_table(paths: Mapping[str, _FilePath],
                    target: Sequence[TokenSpans], texts: TextSet) -> LossTable:
    """Losses of many models on one tokenization, from their dumps.

    Scored: the target tokens all of whose bytes the model scored.

    Args:
        paths (Mapping): Dump of each of M models, by the model's name.
        target (Sequence[TokenSpans]): The common tokens of each text.
            Length S.
        texts (TextSet): The validation set, all of which every dump holds.

    Returns:
        LossTable: Models in the order of the mapping, texts in that of the
        set.

    Raises:
        InputError: There is no model, a dump cannot be read or is not of
            these texts, or the target is not.
    """
    losses = {
        model: merge_dumps([read_dump(path)], texts).texts
        for model, path in paths.items()
    }
    return LossTable.from_models(losses, target, texts.ids, texts.fingerprint)


def _check_recorded(where: str, first: TokenLosses, text: TokenLosses) -> None:
    """Refuse a text without its hash, or with other fields than the first."""
    if not text.sha256:
        raise InputError(f'{where}, text {text.text_id!r}',
                         'the sha256 of the text', 'none',
                         'Take it from the text that was scored.')
    for name in OPTIONAL:
        has, first_has = (
            getattr(losses, name) is not None for losses in (text, first))
        if has != first_has:
            raise InputError(
                f'{where}, text {text.text_id!r}',
                f'{name} as of {first.text_id!r}, '
                f'{"recorded" if first_has else "not recorded"}',
                'recorded' if has else 'none',
                'Score all texts with the same settings.')


def _info(where: str, metadata: Mapping[bytes, bytes]) -> DumpInfo:
    try:
        header = json.loads(metadata[FORMAT])
        version = header.pop('format_version')
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(where, 'a token-loss dump of csv_plugin',
                         'another Parquet file',
                         'Give the file that scoring wrote.') from error
    if version != FORMAT_VERSION:
        raise InputError(
            where, f'format version {FORMAT_VERSION}', f'version {version!r}',
            'Install the version of csv_plugin that wrote it: '
            f'{header.get("versions")}.')
    names = [field.name for field in fields(DumpInfo)]
    if sorted(header) != sorted(names):
        raise InputError(where, f'the metadata {", ".join(names)}',
                         ', '.join(header) or 'none', REMEDY)
    with named_in(where):
        return DumpInfo(**header)


def _check_same_info(first: DumpInfo, other: DumpInfo) -> None:
    for field in fields(DumpInfo):
        one, two = getattr(first, field.name), getattr(other, field.name)
        if one != two:
            raise InputError(f'shards of the dump of {first.model!r}',
                             f'one {field.name}', f'{one!r} and {two!r}',
                             'Merge only shards that one run wrote.')


def _check_fingerprint(where: str, found: str, expected: str) -> None:
    if found != expected:
        raise InputError(
            where, f'the validation set with fingerprint {expected}',
            f'that with fingerprint {found}',
            'Read the validation set that was scored, in its order.')
