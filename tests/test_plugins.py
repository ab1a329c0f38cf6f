"""Plug-ins of another package: those that CONTRIBUTING.md shows."""
import configparser
import json

import numpy as np
import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import main
from csv_plugin.demo import shipped
from tests.docs.blocks import ROOT, blocks
from tests.scripts import refusal
from tests.tables import small_tables


def declared(text):
    """Entry points of a setup.cfg, as an installed package has them."""
    config = configparser.ConfigParser()
    config.read_string(text)
    return '\n'.join(
        f'[{group}]\n{lines.strip()}'
        for group, lines in config['options.entry_points'].items())


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The module of the page, in a folder that Python finds."""
    monkeypatch.chdir(tmp_path)
    page = list(blocks(ROOT / 'CONTRIBUTING.md'))
    module = [block.text for block in page if block.kind == 'python']
    config, = (
        block.text for block in page
        if block.text.startswith('[options.entry_points]'))
    site = tmp_path / 'site'
    info = site / 'mine-1.0.dist-info'
    info.mkdir(parents=True)
    (site / 'mine.py').write_text('\n\n'.join(module))
    (info / 'METADATA').write_text('Name: mine\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(declared(config))
    monkeypatch.syspath_prepend(site)
    return info / 'entry_points.txt'


def test_an_engine(installed):
    pytest.importorskip('torch')
    assert main([
        'losses', 'any=none', '--engine', 'uniform', '--texts',
        str(shipped.TEXTS), '--tokenizer',
        str(shipped.ZOO / 'd/tokenizer'), '--out', 'out'
    ]) == 0
    texts = cp.read_texts(shipped.TEXTS)
    dump = cp.read_dumps(['out/any.safetensors'], texts)['any']
    assert dump.info.engine == 'uniform'
    losses = np.concatenate([text.losses for text in dump.texts])
    assert np.allclose(losses, np.log(100_000), atol=0.01)


def test_an_importer(installed, tmp_path):
    for model, nats in (('small', 2.0), ('large', 1.0)):
        row = dict(task='sums', id='q', text='1+1=2', start=4, nats=nats)
        (tmp_path / model).write_text(json.dumps(row) + '\n')
    assert main('import lines small large --out out'.split()) == 0
    header, *rows = (tmp_path / 'out/losses.csv').read_text().splitlines()
    assert [row.split(',') for row in rows] == [['small', '2.0'],
                                                ['large', '1.0']]


def test_a_method(installed):
    tables = small_tables(n_models=8, n_units=2, n_families=4).only('easy')
    data = tables.features, tables.accuracies, tables.families
    found = cp.fit(*data, method='rounded').predict(tables.features)
    usual = cp.fit(*data).predict(tables.features)
    assert np.allclose(found.values, usual.values, atol=0.1)
    assert not np.array_equal(found.values, usual.values)


def test_a_name_that_two_packages_declare(installed, capsys):
    installed.write_text('[csv_plugin.importers]\nlm-eval = mine:read_lines\n')
    error = refusal(capsys, 'import', 'lm-eval', 'x', '--out', 'out')
    assert 'mine:read_lines' in error and 'Uninstall' in error


def test_an_unknown_method():
    tables = small_tables(n_models=8, n_units=2, n_families=4).only('easy')
    with pytest.raises(cp.InputError, match="'saliense'. Did you mean"):
        cp.fit(
            tables.features,
            tables.accuracies,
            tables.families,
            method='saliense')
