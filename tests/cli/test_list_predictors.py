"""The shelf of predictors: the package, folders, and a hub."""
import json
import re
import shutil
from dataclasses import replace
from functools import partial

import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import main
from csv_plugin.demo import shipped
from csv_plugin.extras.sharing.predictor_cards import predictor_card
from tests.hub import running_hub
from tests.tables import small_tables


@pytest.fixture(scope='module')
def predictor():
    tables = small_tables()
    families = dict(zip(tables.accuracies.models, tables.groups))
    return cp.fit(tables.features, tables.accuracies, families, 'ridge')


@pytest.fixture
def shelf(predictor, tmp_path):
    """Two predictors, one in a folder of its own, and other files."""
    (tmp_path / 'shelf/deep').mkdir(parents=True)
    cp.save(predictor, tmp_path / 'shelf/a.safetensors')
    cp.save(predictor, tmp_path / 'shelf/deep/b.safetensors')
    shutil.copy(shipped.SCORING_LM / 'model.safetensors', tmp_path / 'shelf')
    (tmp_path / 'shelf/notes.txt').write_text('x')
    return tmp_path / 'shelf'


def listed(capsys, *options):
    assert main(['predictors', *map(str, options), '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_those_of_the_package_are_listed(capsys):
    assert main(['predictors']) == 0
    assert re.search('demo/predictor .* census.* 250 texts .* 172 ',
                     capsys.readouterr().out)


def test_those_of_a_folder_are_listed(shelf, predictor, capsys):
    rows = listed(capsys, shelf)
    assert [row['name'] for row in rows] == ['a', 'deep/b']
    assert rows[0]['benchmarks'] == list(predictor.names)
    assert rows[0]['version'] == cp.__version__


def test_a_file_is_a_shelf_of_one(shelf, tmp_path, capsys):
    row, = listed(capsys, shelf / 'deep/b.safetensors', '--out',
                  tmp_path / 'out')
    assert row['name'] == 'b'
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == [
        'README.md', 'b.md', 'b.safetensors'
    ]
    assert main(['predictors', str(shelf / 'notes.txt')]) == 2
    assert 'found no folder' in capsys.readouterr().err


def test_damaged_files_are_told_of(shelf, capsys):
    path = shelf / 'a.safetensors'
    path.write_bytes(path.read_bytes()[:-9])
    assert main(['predictors', str(shelf)]) == 0
    out, err = capsys.readouterr()
    assert 'deep/b' in out and 'warning: ' in err and 'a.safetensors' in err


def test_copies_come_with_their_cards(shelf, predictor, tmp_path, capsys):
    rows = listed(capsys, shelf, '--out', tmp_path / 'copy')
    assert listed(capsys, tmp_path / 'copy') == rows
    card = (tmp_path / 'copy/deep/b.md').read_text('utf-8')
    assert card == predictor_card('deep/b', predictor)
    assert card in (tmp_path / 'copy/README.md').read_text('utf-8')
    assert main(['predictors', str(shelf), '--cards']) == 0
    assert card in capsys.readouterr().out


def test_copies_lie_in_another_folder(shelf, capsys):
    assert main(['predictors', str(shelf), '--out', f'{shelf}/deep/..']) == 2
    assert 'another folder than that of PLACE' in capsys.readouterr().err


def test_any_error_of_the_network_is_told(shelf, monkeypatch, capsys):

    class Refused(Exception):
        """That of a library for the network."""

    def create_repo(*_, **__):
        raise Refused('no connection')

    package = pytest.importorskip('huggingface_hub')
    monkeypatch.setattr(package.hf_api.HfApi, 'create_repo', create_repo)
    assert main(['predictors', str(shelf), '--upload', 'lab/shelf']) == 2
    assert 'found Refused: no connection' in capsys.readouterr().err


@pytest.mark.parametrize('place', ['none', 'shelf/deep/empty', 'hub:a b'])
def test_places_without_predictors_are_errors(shelf, monkeypatch, capsys,
                                              place):
    (shelf / 'deep/empty').mkdir()
    monkeypatch.chdir(shelf.parent)
    assert main(['predictors', place]) == 2
    assert f'error: {place}' in capsys.readouterr().err


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub in place of that of Hugging Face, with an empty cache."""
    package = pytest.importorskip('huggingface_hub')
    with running_hub() as hub:
        monkeypatch.setattr(
            package, 'HfApi',
            partial(package.HfApi, endpoint=hub.url, token='hf_test'))
        monkeypatch.setattr(package.constants, 'HF_HUB_CACHE',
                            str(tmp_path / 'cache'))
        yield hub


def test_up_to_the_hub_and_down_again(shelf, predictor, hub, capsys, tmp_path):
    rows = listed(capsys, shelf, '--upload', 'lab/shelf')
    files = hub.files['lab/shelf']
    assert sorted(files) == [
        'README.md', 'a.md', 'a.safetensors', 'deep/b.md', 'deep/b.safetensors'
    ]
    assert files['README.md'].startswith(b'---\nlibrary_name: csv_plugin\n')
    assert listed(capsys, 'hub:lab/shelf') == rows
    assert listed(capsys, 'hub:lab/shelf@main', '--out',
                  tmp_path / 'copy') == rows
    copy = tmp_path / 'copy/a.safetensors'
    assert copy.read_bytes() == (shelf / 'a.safetensors').read_bytes()
    assert main(['predictors', 'hub:lab/none']) == 2
    assert 'error: hub:lab/none: expected a repository' in (
        capsys.readouterr().err)


def test_a_damaged_download_is_told_of(shelf, hub, capsys):
    listed(capsys, shelf, '--upload', 'lab/shelf')
    files = hub.files['lab/shelf']
    damaged = bytearray(files['a.safetensors'])
    damaged[-1] ^= 1
    files['a.safetensors'] = bytes(damaged)
    assert main(['predictors', 'hub:lab/shelf']) == 0
    assert 'the file is damaged' in capsys.readouterr().err


def test_licences_that_forbid_a_use_are_told_of(shelf, predictor, capsys,
                                                recwarn):
    cp.save(
        replace(predictor, licences={'ceval': 'CC BY-NC-SA 4.0'}),
        shelf / 'a.safetensors')
    assert main(['predictors', str(shelf), '--cards']) == 0
    warned, = recwarn
    assert 'which forbids commercial use' in str(warned.message)
    assert ('ceval under CC BY-NC-SA 4.0, which forbids commercial use'
            in capsys.readouterr().out)
