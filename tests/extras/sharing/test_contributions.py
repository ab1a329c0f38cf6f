"""Contributions: what they keep, and what they notice."""
import json
import warnings
import zipfile

import pytest

from csv_plugin.core.input_error import InputError
from csv_plugin.core.texts import TextSet
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
    path = tmp_path / 'mine.zip'
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
    with zipfile.ZipFile(packed) as archive:
        assert TEXTS not in archive.namelist()


def contents(path):
    given = read_contribution(path, dump_files.TEXTS)
    models = given.collection
    return (given.giver, given.licence, given.benchmarks, models.info,
            models.accuracies.to_dict(), dump_files.losses_in(models.losses))


def test_damage_is_noticed_or_changes_nothing(packed, tmp_path):
    """A date of a file, for example, may change."""
    before, path = contents(packed), tmp_path / 'damaged.zip'
    for damaged in mutations(packed.read_bytes(), 100):
        path.write_bytes(damaged)
        with warnings.catch_warnings(action='ignore'):
            try:
                assert contents(path) == before
            except InputError as error:
                assert 'damaged.zip' in str(error)
                assert str(tmp_path) not in str(error).replace(str(path), '')


def test_other_texts_are_refused(packed):
    for texts in (dump_files.OTHER_TEXTS, TextSet(dump_files.TEXTS.texts[:1])):
        with pytest.raises(InputError, match='expected losses on the texts'):
            read_contribution(packed, texts)


@pytest.mark.parametrize('giver, licence', [('', 'MIT'), ('A', ' '),
                                            ('A\nB', 'MIT')])
def test_giver_and_licence_are_lines(collection, tmp_path, giver, licence):
    with pytest.raises(InputError, match='expected a line of text'):
        write_contribution(tmp_path / 'a.zip', collection, giver, licence)
    assert not (tmp_path / 'a.zip').exists()


def forged(packed, name, data, how=zipfile.ZIP_STORED, **changes):
    """The file with one member more, or another one."""
    with zipfile.ZipFile(packed) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(files['contribution.json']) | changes
    files |= {'contribution.json': json.dumps(header), name: data}
    with zipfile.ZipFile(packed, 'w', how) as archive:
        for key, content in files.items():
            archive.writestr(key, content)


@pytest.mark.parametrize('name', ['../a', '/tmp/a', '.a', 'a/b'])
def test_no_name_leads_elsewhere(packed, name):
    forged(packed, name, b'x')
    with pytest.raises(InputError, match='a name without slashes'):
        read_contribution(packed, dump_files.TEXTS)


@pytest.mark.parametrize(
    'changes', [dict(giver='a\nb'),
                dict(licence=''),
                dict(format_version=99)])
def test_headers_are_checked(packed, changes):
    forged(packed, 'a', b'', **changes)
    with pytest.raises(InputError, match='mine.zip'):
        read_contribution(packed, dump_files.TEXTS)


def test_files_that_expand_are_refused(packed):
    forged(packed, 'a', bytes(10**6), zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match='more content than there is'):
        read_contribution(packed, dump_files.TEXTS)
