"""These tests run in temporary folders."""
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # For processes that tests start, should the package not be installed.
    monkeypatch.setenv(
        'PYTHONPATH',
        os.pathsep.join([str(ROOT),
                         os.environ.get('PYTHONPATH', '')]))


@pytest.fixture(scope='session')
def model_folder(tmp_path_factory):
    from . import tiny
    return tiny.save_model(tmp_path_factory.mktemp('models') / 'tiny')
