"""Contributions: what they keep, and what they notice."""
import json
import tarfile
import warnings

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.sharing import contributions
from csv_plugin.extras.sharing.contributions import (read_contribution,
                                                     write_contribution)
from csv_plugin.io.collection import TEXTS, write_collection
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo
from tests.io import dump_files
from tests.io.mutations import mutations

BENCHMARKS = {'exam': BenchmarkInfo(.25, 40, True, 'accuracy')}


@pytest.fixture
def collection(tmp_path):
    write_collection(tmp_path / 'mine', dump_files.TEXTS, {
        'm@1': dump_files.dump('m@1', 1.5),
        'é' * 60: dump_files.dump('long', 2.5)
    }, {
        'm@1': ModelInfo('m', 'train', .5, 1e9),
        'é' * 60: ModelInfo('é', '', 7)
    }, {'m@1': {
        'exam': 1 / 3
    }}, BENCHMARKS)
    return tmp_path / 'mine'


@pytest.fixture
def packed(collection, tmp_path):
    path = tmp_path / 'mine.tar'
    write_contribution(path, collection, 'A Lab', 'CC BY 4.0')
    return path


def test_all_but_the_texts_is_kept(packed):
    given = read_contribution(packed, dump_files.TEXTS)
    assert (given.giver, given.licence) == ('A Lab', 'CC BY 4.0')
    assert given.benchmarks == BENCHMARKS
    models = given.collection
    assert list(models.losses) == ['m@1', 'é' * 60]
    assert models.losses['m@1'].info.dtype == 'float32'
    assert dump_files.losses_in(models.losses) == {'m@1': 1.5, 'é' * 60: 2.5}
    assert models.info['m@1'] == ModelInfo('m', 'train', .5, 1e9)
    assert models.accuracies.to_dict()['m@1'] == {'exam': 1 / 3}
    with tarfile.open(packed) as tar:
        assert TEXTS not in tar.getnames()


def test_equal_collections_make_equal_files(collection, packed, tmp_path):
    write_contribution(tmp_path / 'again.tar', collection, 'A Lab',
                       'CC BY 4.0')
    assert (tmp_path / 'again.tar').read_bytes() == packed.read_bytes()


def test_every_damage_is_noticed(packed, tmp_path):
    data = packed.read_bytes()
    path = tmp_path / 'damaged.tar'
    for damaged in mutations(data, 100):
        path.write_bytes(damaged)
        if damaged != data:
            with pytest.raises(InputError, match='damaged.tar'):
                read_contribution(path, dump_files.TEXTS)


def test_damage_that_the_digest_does_not_see_is_an_error_too(
        packed, tmp_path, monkeypatch):
    """Whoever damages a file may give it a digest of its own."""
    monkeypatch.setattr(contributions, 'check_seal', lambda *_: None)
    path = tmp_path / 'damaged.tar'
    for damaged in mutations(packed.read_bytes(), 60, seed=1):
        path.write_bytes(damaged)
        with warnings.catch_warnings(action='ignore'):
            try:
                read_contribution(path, dump_files.TEXTS)
            except InputError as error:
                assert 'damaged.tar' in str(error)
                assert str(tmp_path) not in str(error).replace(str(path), '')


def test_other_texts_are_refused(packed):
    with pytest.raises(InputError, match='expected losses on the texts'):
        read_contribution(packed, dump_files.OTHER_TEXTS)
    with pytest.raises(InputError, match='expected losses on the texts'):
        read_contribution(packed, TextSet(dump_files.TEXTS.texts[:1]))


@pytest.mark.parametrize('giver, licence', [('', 'MIT'), ('A', ' '),
                                            ('A\nB', 'MIT')])
def test_giver_and_licence_are_lines(collection, tmp_path, giver, licence):
    with pytest.raises(InputError, match='expected a line of text'):
        write_contribution(tmp_path / 'a.tar', collection, giver, licence)
    assert not (tmp_path / 'a.tar').exists()


def test_a_damaged_dump_is_not_packed(collection, tmp_path):
    data = bytearray((collection / 'm@1.parquet').read_bytes())
    data[len(data) // 2] ^= 1
    (collection / 'm@1.parquet').write_bytes(data)
    with pytest.raises(InputError, match='m@1.parquet'):
        write_contribution(tmp_path / 'a.tar', collection, 'A', 'MIT')
    assert not (tmp_path / 'a.tar').exists()


def forged(packed, monkeypatch, name, data, **changes):
    """The file with one member more, as if it had been written so."""
    with tarfile.open(packed) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    header = json.loads(files.pop('contribution.json')) | changes
    files[name] = data
    if 'files' not in changes:
        header['files'][name] = contributions._sha256(data)
    monkeypatch.setattr(contributions, 'check_seal', lambda *_: None)
    packed.write_bytes(
        contributions._tar({'contribution.json': json.dumps(header).encode()}
                           | files))


@pytest.mark.parametrize('name', ['../a', '/tmp/a', '.a', 'a/b'])
def test_no_name_leads_elsewhere(packed, monkeypatch, name):
    forged(packed, monkeypatch, name, b'x')
    with pytest.raises(InputError, match='a name without slashes'):
        read_contribution(packed, dump_files.TEXTS)


@pytest.mark.parametrize('changes', [
    dict(files={}),
    dict(files=[]),
    dict(giver=1),
    dict(giver='a\nb'),
    dict(format='other'),
    dict(format_version=99),
])
def test_headers_are_checked(packed, monkeypatch, changes):
    forged(packed, monkeypatch, 'models.csv', b'model,family\n', **changes)
    with pytest.raises(InputError, match='mine.tar'):
        read_contribution(packed, dump_files.TEXTS)


def test_errors_in_tables_name_the_file(packed, monkeypatch):
    forged(packed, monkeypatch, 'scores.csv', b'model,exam\nm@1,7\n')
    with pytest.raises(InputError) as error:
        read_contribution(packed, dump_files.TEXTS)
    assert 'mine.tar: expected a sound contribution, found scores.csv, ' in (
        str(error.value))


@pytest.mark.parametrize('kind, target', [
    (tarfile.SYMTYPE, '/etc/passwd'), (tarfile.SYMTYPE, 'a'),
    (tarfile.DIRTYPE, ''), (tarfile.FIFOTYPE, ''),
    (tarfile.GNUTYPE_SPARSE, '')])  # yapf: disable
def test_only_plain_files_are_read(packed, kind, target):
    member = tarfile.TarInfo('a')
    member.type, member.linkname = kind, target
    with tarfile.open(packed, 'a') as tar:
        tar.addfile(member)
    with pytest.raises(InputError, match='a tar file with plain files'):
        read_contribution(packed, dump_files.TEXTS)


def test_nested_headers_are_refused(packed):
    member = tarfile.TarInfo('a')
    member.type = tarfile.GNUTYPE_LONGNAME
    packed.write_bytes(member.tobuf(tarfile.GNU_FORMAT) * 10000)
    with pytest.raises(InputError, match='a tar file with plain files'):
        read_contribution(packed, dump_files.TEXTS)
