"""Token-loss dumps on disk: round trip, layout, damaged files."""
import dataclasses
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import Text
from csv_plugin.io.digests import PLACEHOLDER, sealed
from csv_plugin.io.dumps import (read_dump, read_dump_info, read_dumps,
                                 write_dump)
from tests.core.loss_dumps import (INFO, LOSSES, NAN, SPANS, TEXTS,
                                   assert_same, bare, dump, dumps, row, whole)

KEY = b'csv_plugin.dump'
LONG = TokenSpans([0, 0], [0, 2**31], 2**31)


@given(dumps())
@settings(deadline=None)
@pytest.mark.slow
def test_round_trip(tmp_path_factory, given_dump):
    path = tmp_path_factory.getbasetemp() / 'dump.parquet'
    write_dump(path, given_dump)
    assert_same(read_dump(path), given_dump)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'dump.parquet'


def test_losses_and_entropies_are_rounded_to_float32(path):
    write_dump(path, dump(row('zh', losses=[1 / 3], entropy=[2 / 3])))
    text, = read_dump(str(path)).texts
    assert text.losses.dtype == text.entropy.dtype == np.float64
    assert text.losses == [float(np.float32(1 / 3))] != [1 / 3]
    assert text.entropy == [float(np.float32(2 / 3))]


def digest_in(path):
    text = path.read_bytes().rpartition(b'csv_plugin sha256:')[2][:64]
    return f'csv_plugin sha256:{text.decode()}'


def test_layout(path):
    write_dump(path, whole())
    table = pq.ParquetFile(path).read()
    lists = dict.fromkeys(['token_ids', 'starts', 'ends'], pa.int32())
    lists |= {'losses': pa.float32(), 'entropy': pa.float32()}
    lists['rank'] = pa.int32()
    assert dict(zip(table.schema.names, table.schema.types)) == {
        'text_id': pa.string(),
        'sha256': pa.string(),
        'n_chars': pa.int64(),
        'n_bytes': pa.int64(),
        **{
            name: pa.list_(kind)
            for name, kind in lists.items()
        }
    }
    assert table.to_pylist()[1] == {
        'text_id': 'en',
        'sha256': Text('en', 'a cat').sha256,
        'n_chars': 5,
        'n_bytes': 5,
        'token_ids': [5, 2**31 - 1],
        'starts': [0, 1],
        'ends': [1, 5],
        'losses': [None, 0.125],
        'entropy': [None, 0.125],
        'rank': [None, 7],
    }
    info = dataclasses.asdict(INFO)
    assert info.pop('folder') == ''  # absent outside of a run
    assert json.loads(pq.read_metadata(path).metadata[KEY]) == {
        'format_version': 2,
        'digest': digest_in(path),
        **info
    }
    # Nowhere else, such as in a copy of the schema.
    assert path.read_bytes().count(digest_in(path).encode()) == 1


def test_columns_are_absent_when_not_recorded(path):
    expected = dump(*map(bare, TEXTS.ids))
    write_dump(path, expected)
    assert pq.read_schema(path).names == [
        'text_id', 'sha256', 'n_chars', 'n_bytes', 'starts', 'ends', 'losses'
    ]
    assert_same(read_dump(path), expected)


def test_equal_dumps_make_equal_files_with_zstd(tmp_path):
    paths = tmp_path / 'a.parquet', tmp_path / 'b.parquet'
    # Another NaN and another order of the versions say the same.
    same = dump(
        row('zh'),
        row('en', losses=-np.array(LOSSES['en']) * [1, -1]),
        row('empty'),
        versions=dict(reversed(INFO.versions.items())))
    for path, written in zip(paths, (whole(), same)):
        write_dump(path, written)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    group = pq.ParquetFile(paths[0]).metadata.row_group(0)
    assert {group.column(i).compression
            for i in range(group.num_columns)} == {'ZSTD'}


@pytest.mark.parametrize('changes, message', [
    (dict(losses=[NAN, 1e39]), "losses of text 'en': .* 1e.39 at token 1"),
    (dict(entropy=[NAN, 1e39]), "entropy of text 'en': .* 1e.39 at token 1"),
    (dict(token_ids=[2**31, 0]), "token_ids of text 'en': .*48 at token 0"),
    (dict(rank=[-1, 2**31]), "rank of text 'en': .* at most 2147483647"),
    (dict(spans=LONG, n_chars=2**30), "ends of text 'en': .*48 at token 1"),
])
def test_numbers_beyond_32_bits_leave_the_old_file(path, changes, message):
    write_dump(path, whole())
    before = path.read_bytes()
    with pytest.raises(InputError, match=message):
        write_dump(path, dump(row('zh'), row('en', **changes)))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_breaks_off_leaves_the_old_file(path, monkeypatch):
    write_dump(path, whole())
    before = path.read_bytes()

    def break_off(self, data):
        with self.open('wb') as file:
            file.write(data[:len(data) // 2])
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Path, 'write_bytes', break_off)
    with pytest.raises(InputError, match='No space .*Make room on the disk'):
        write_dump(path, dump(row('zh')))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_writing_needs_a_folder(path):
    with pytest.raises(InputError, match='an existing folder'):
        write_dump(path.parent / 'none' / 'dump.parquet', whole())


def test_missing_files_and_folders_are_refused(path):
    with pytest.raises(InputError, match="dump.parquet: .*'No such file"):
        read_dump(path)
    with pytest.raises(InputError, match="'Is a directory'"):
        read_dump(path.parent)


def test_truncated_files_are_refused(path):
    write_dump(path, whole())
    data = path.read_bytes()
    for size in (0, 1, 4, 11, 12, len(data) // 2, len(data) - 8,
                 len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(InputError, match='an intact Parquet') as error:
            read_dump(path)
        assert str(error.value).startswith(f'{path}: ')


def test_damaged_values_are_noticed(path):
    # Random bits can hardly be compressed: most of their bytes lie in the
    # file as they are, the first bytes of all losses first.
    bits = np.random.default_rng(0).integers(0, 2**31, 2000, np.uint32)
    losses = bits.view(np.float32)
    losses = losses[np.isfinite(losses)].astype(float)
    n = len(losses)
    spans = TokenSpans(range(n), range(1, n + 1), n)
    write_dump(path, dump(TokenLosses('x', losses, spans, n, sha256='0' * 64)))
    data = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(0).column(
        pq.ParquetFile(path).schema_arrow.names.index('losses'))
    data[column.data_page_offset + column.total_compressed_size // 3] ^= 1
    path.write_bytes(data)
    # Parquet would not mind.
    values = pq.ParquetFile(path).read()['losses'][0].values
    assert np.count_nonzero(values.to_numpy() != losses)
    with pytest.raises(InputError, match='file is damaged'):
        read_dump(path)


def test_damaged_names_of_columns_are_noticed(path):
    write_dump(path, whole())
    path.write_bytes(path.read_bytes().replace(b'n_bytes', b'n_byte\xff'))
    with pytest.raises(InputError, match='an intact Parquet file'):
        read_dump(path)


def rewrite(path, change=lambda table: table, header=None, **options):
    """Write a dump whose table someone else has changed.

    It gets the digest of its new content, as a forger would give it.
    """
    write_dump(path, whole())
    table = change(pq.ParquetFile(path).read())
    if header is None:
        header = header_of()
    forge(path, table, header, **options)


def forge(path, table, header, **options):
    file = io.BytesIO()
    with pq.ParquetWriter(
            file,
            table.schema,
            store_schema=False,
            write_page_checksum=True,
            **options) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata({KEY: header})
    data = file.getvalue()
    path.write_bytes(
        sealed(str(path), data) if PLACEHOLDER in str(header) else data)


@pytest.mark.parametrize(
    'metadata',
    [None, {
        b'pandas': b'{}'
    }, {
        KEY: b'[1]'
    }, {
        KEY: b'3'
    }, {
        KEY: b'{}'
    }])
def test_foreign_parquet_is_refused(path, metadata):
    table = pa.table({'x': [1]}).replace_schema_metadata(metadata)
    pq.write_table(table, path)
    with pytest.raises(InputError, match='found another Parquet') as error:
        read_dump(path)
    assert str(error.value).startswith(f'{path}: ')


@pytest.mark.parametrize('text', ['{', b'\xff', '[' * 10**5, '{"a":1,"a":2}'])
def test_metadata_that_are_no_strict_json(path, text):
    forge(path, pa.table({'x': [1]}), text)
    with pytest.raises(InputError, match=f'{path}: expected JSON in UTF-8'):
        read_dump(path)


def header_of(**changes):
    fields = {
        'format_version': 2,
        'digest': PLACEHOLDER,
        **dataclasses.asdict(INFO),
        **changes
    }
    return json.dumps({k: v for k, v in fields.items() if v is not None})


@pytest.mark.parametrize('changes, message', [
    (dict(format_version=3), "to 2, found version 3. .*'torch': '2.1'"),
    (dict(format_version='1'), "to 2, found version '1'"),
    (dict(format_version=True), 'to 2, found version True'),
    (dict(digest='x'), "the digest of the file .*, found 'x'"),
    (dict(digest=PLACEHOLDER[:-1] + '1'), 'the file is damaged'),
    (dict(engine=None), 'cache_dtype, found '),
    (dict(cache_dtype=8), 'DumpInfo.cache_dtype: expected a text, found 8'),
    (dict(prefix=None), 'model, tokenizer, prefix, dtype.* found '
     'fingerprint, model, tokenizer, dtype'),
    (dict(more=1), 'expected the metadata .* cache_dtype, more'),
    (dict(context='long'), "DumpInfo.context: .* found 'long'"),
])
def test_bad_metadata_are_refused(path, changes, message):
    rewrite(path, header=header_of(**changes))
    with pytest.raises(InputError, match=message) as error:
        read_dump(path)
    assert str(error.value).startswith(f'{path}: ')


@pytest.mark.parametrize(
    'name', ['text_id', 'sha256', 'n_chars', 'n_bytes', 'ends', 'losses'])
def test_missing_columns_are_refused(path, name):
    rewrite(path, lambda table: table.drop_columns([name]))
    with pytest.raises(InputError, match=f"a column '{name}', found") as error:
        read_dump(path)
    assert str(error.value).startswith(f'{path}: ')


def replaced(name, values, kind=None):
    """A change that gives a column other values."""

    def change(table):
        index = table.column_names.index(name)
        column = pa.array(values, kind or table.column(name).type)
        return table.set_column(index, name, column)

    return change


@pytest.mark.parametrize('change, message', [
    (replaced('losses', [[1.0], [1.0] * 2, []], pa.list_(pa.float64())),
     ", column 'losses': expected list<item: float>, found list<.*: double>"),
    (replaced('losses', [[2.5], [None, -.01], []]),
     ", text 'en': .* losses of 0 or more, -log p, found -0.0"),
    (replaced('entropy', [[2.5], [None, -.01], []]),
     ", text 'en': .* entropies of 0 or more, found -0.0"),
    (lambda table: table.append_column('ends', table['ends']),
     ": expected a column 'ends', found text_id, .*ends, .*ends"),
    (replaced('n_chars', ['1', '5', '0'], pa.string()),
     ", column 'n_chars': expected int64, found string"),
    (replaced('text_id', [None, 'en', 'empty']),
     ", column 'text_id': expected a value in every row, found 1 nulls"),
    (replaced('ends', [[3], None, []]), ", column 'ends': .* found 1 nulls"),
    (replaced('ends', [[3], [1, None], []]),
     ", text 'en': expected a number for every token in 'ends', found 1 nulls"
     ),
    (replaced('losses', [[2.5], [0.125], []]),
     r", text 'en': .*losses on .* shape \(2,\), found \(1,\)"),
    (replaced('token_ids', [[1], [1, 2, 3], []]),
     r", text 'en': .*token ids .* shape \(2,\), found \(3,\)"),
    (replaced('entropy', [[1.0, 2.0], [1.0, 2.0], []]),
     r", text 'zh': .*entropy on .* shape \(1,\), found \(2,\)"),
    (replaced('rank', [[1], [None, 2], [1]]),
     r", text 'empty': .*rank on .* shape \(0,\), found \(1,\)"),
    (replaced('starts', [[0], [0], []]), r", text 'en': .*\(1,\) and \(2,\)"),
    (replaced('ends', [[3], [1, 6], []]),
     ", text 'en': .*token 1: .* from 0 to 5 .*found 5 after 6"),
    (replaced('n_bytes', [3, 4, 0]),
     ", text 'en': .*token 1: .* from 0 to 4 .*found 4 after 5"),
    (replaced('n_bytes', [3, -5, 0]), ", text 'en': .*at least 0 bytes"),
    (replaced('n_chars', [1, 6, 0]), ", text 'en': .*6 characters and 5 b"),
    (replaced('losses',
              [[np.inf], [None, 1.0], []]), ", text 'zh': .* found inf"),
    (replaced('entropy', [[None], [None, 1.0], []]),
     ", text 'zh': .*entropy on .* found nan at token 0"),
    (replaced('rank', [[1], [2, 2], []]),
     ", text 'en': .*rank on .* found 2 at token 0"),
    (replaced('sha256', ['x', 'y', 'z']), ", text 'zh': .*sha256 .* 'x'"),
    (replaced('sha256',
              ['', '0' * 64, '0' * 64]), ": .*text 'zh': expected the sha256"),
    (replaced('text_id', ['zh', 'en', 'zh']), ": .*'zh' twice"),
    (replaced('text_id', [b'zh', b'\xff', b''], pa.binary()),
     ", column 'text_id': expected string, found binary"),
    (replaced('text_id',
              pa.array([b'zh', b'\xff', b''], pa.binary()).view(
                  pa.string())), ': expected an intact Parquet file, .*UTF8'),
])
def test_bad_rows_are_refused_with_the_text(path, change, message):
    rewrite(path, change)
    with pytest.raises(InputError, match=message) as error:
        read_dump(path)
    assert re.match(re.escape(str(path)) + message[:5], str(error.value))


def test_other_columns_and_row_groups_are_read(path):
    rewrite(path, lambda table: table.append_column('note', [['', '', '']]))
    table = pq.ParquetFile(path).read()
    table = table.select(table.column_names[::-1])
    groups = pa.Table.from_batches(
        [batch for i in range(3) for batch in table[i:i + 1].to_batches()])
    forge(path, groups, header_of(), compression='snappy')
    expected = whole()
    write_dump(path.with_name('b'), expected)
    assert_same(read_dump(path), read_dump(path.with_name('b')))


def test_dumps_of_many_models(tmp_path):
    paths = {'x': tmp_path / 'a.parquet', 'y': tmp_path / 'b.parquet'}
    write_dump(paths['x'], whole())
    chars = bare(
        'en', spans=TokenSpans(range(5), range(1, 6), 5), losses=[0.5] * 5)
    write_dump(paths['y'], dump(bare('empty'), chars, bare('zh')))
    losses = read_dumps(paths, TEXTS)
    assert (list(losses), losses.texts) == (['x', 'y'], TEXTS)
    assert_same(losses['x'], whole())
    assert [text.text_id for text in losses['y'].texts] == list(TEXTS.ids)
    table = TargetTokens.of(TEXTS, SPANS).table(
        {model: losses[model].texts
         for model in losses})
    assert (table.models, table.text_ids) == (('x', 'y'), TEXTS.ids)
    assert table.fingerprint == TEXTS.fingerprint
    np.testing.assert_array_equal(table.losses,
                                  [[2.5, NAN, 0.125], [2.5, 0.5, 2.0]])

    write_dump(paths['y'], whole(fingerprint='0' * 64))
    with pytest.raises(
            InputError, match=f'{TEXTS.fingerprint}, .* {"0" * 64}'):
        read_dumps(paths, TEXTS)


def test_dumps_of_files_that_are_named_after_their_models(tmp_path):
    paths = [tmp_path / 'm@2.parquet', tmp_path / 'm@1.parquet']
    for path in paths:
        write_dump(path, whole())
    wrapped = []
    losses = read_dumps(iter(paths), TEXTS, lambda models: wrapped.extend(
        models) or models)  # yapf: disable
    assert list(losses) == wrapped == ['m@2', 'm@1']
    (tmp_path / 'more').mkdir()
    paths.append(tmp_path / 'more' / 'm@1.parquet')
    with pytest.raises(InputError, match="every name once, found 'm@1' twice"):
        read_dumps(paths, TEXTS)


def assert_flips_are_noticed(path, bits):
    with path.open('r+b', buffering=0) as file:
        for bit in bits:
            byte, = os.pread(file.fileno(), 1, bit // 8)
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit % 8]), bit // 8)
            for read in (read_dump, read_dump_info):
                with pytest.raises(InputError, match=f'^{path}'):
                    read(path)
            os.pwrite(file.fileno(), bytes([byte]), bit // 8)
    assert_same(read_dump(path), whole())


def test_any_flipped_bit_is_noticed(path):
    """A sample, and bits of the digest."""
    write_dump(path, whole())
    n_bits = 8 * path.stat().st_size
    start = 8 * path.read_bytes().index(b'sha256:')
    sample = np.random.default_rng(0).integers(n_bits, size=100)
    assert_flips_are_noticed(path,
                             [*map(int, sample), *range(start, start + 200)])


@pytest.mark.long
def test_every_flipped_bit_is_noticed(path):
    write_dump(path, whole())
    assert_flips_are_noticed(path, range(8 * path.stat().st_size))


def test_how_a_dump_was_made_without_its_losses(path):
    write_dump(path, whole())
    assert read_dump_info(path) == INFO
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match='the file is damaged'):
        read_dump_info(path)


def test_version_1_is_read_with_a_note(path):
    old = Path(__file__).with_name('version_1') / 'dump.parquet'
    with pytest.warns(
            UserWarning,
            match=f'{old} has format version 1, .*'
            'write_dump, renews it'):
        assert_same(read_dump(old), whole())


def test_rounding_may_make_a_loss_negative(path):
    write_dump(path, dump(row('zh', losses=[-1e-4], entropy=[-1e-4])))
    text, = read_dump(path).texts
    assert text.losses == text.entropy == np.float32(-1e-4)


def test_texts_whose_losses_are_all_equal_are_read(path):
    """No dump of real losses expands nearly as much."""
    n = 1000
    spans = TokenSpans(range(n), range(1, n + 1), n)
    text = bare('en', losses=np.ones(n), spans=spans, n_chars=n)
    expected = dump(*(dataclasses.replace(text, text_id=str(i))
                      for i in range(200)))
    write_dump(path, expected)
    assert 4 * 3 * 200 * n > 100 * path.stat().st_size
    assert_same(read_dump(path), expected)
