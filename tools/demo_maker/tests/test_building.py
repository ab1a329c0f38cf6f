"""Runs of the zoo's evaluation as a collection."""
import numpy as np
import pytest

from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.collection import read_collection
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.runs.run_dumps import dataset_abbr
from tools.demo_maker import building, world
from tools.demo_maker.recipes import MODELS, recipe_of

TEXTS = TextSet((Text('a', 'one'), ))
SIZES = dict.fromkeys(MODELS, 50_000)


def evaluate(run, which, loss, accuracy):
    """Write the files that OpenCompass writes."""
    for model, percent in which:
        name = building.abbr(model, percent)
        folder = run / 'predictions' / name
        folder.mkdir(parents=True)
        spans = TokenSpans.from_token_bytes([b'one'], 'one')
        info = DumpInfo(TEXTS.fingerprint, 'x/y', 'x/z', 'none', 'float32', 0,
                        0, {})
        losses = TokenLosses(
            'a', [loss], spans, 3, sha256=TEXTS.texts[0].sha256)
        write_dump(folder / f'{dataset_abbr(TEXTS.fingerprint)}.safetensors',
                   TokenLossDump(info, (losses, )))
        results = run / 'results' / name
        results.mkdir(parents=True)
        for kind in world.KINDS:
            (results /
             f'{kind}.json').write_text(f'{{"accuracy": {accuracy}}}')
            (results / f'{kind}-label_loss.json'
             ).write_text(f'{{"label_byte_loss": {loss}}}')
    return run


def test_the_last_of_several_runs_counts(tmp_path):
    everything = building.checkpoints()
    runs = [
        evaluate(tmp_path / '20260101', everything, 2., 25.),
        evaluate(tmp_path / '20260102', everything[:2], 1., 75.)
    ]
    building.write_collection(tmp_path / 'c', runs, TEXTS, SIZES)
    collection = read_collection(tmp_path / 'c')
    names = tuple(building.abbr(*which) for which in everything)
    assert tuple(collection.losses) == names
    assert [collection.losses[name].texts[0].losses[0]
            for name in names[:3]] == [1, 1, 2]
    np.testing.assert_array_equal(collection.accuracies.values[:3, 0],
                                  [.75, .75, .25])
    assert collection.info[names[0]].params_b == pytest.approx(5e-5)


def test_splits():
    splits = {
        which: building.split_of(*which)
        for which in building.checkpoints()
    }
    assert all(splits[which] == 'test' for which in building.HELD_OUT)
    families = {
        split: {recipe_of(model)[0].family
                for (model, _), found in splits.items() if found == split}
        for split in splits.values()
    }  # yapf: disable
    assert families['train'] == families['validation'] == set('abcefg')
    assert splits['a2-s', 100] == splits['a-l', 35] == 'train'
    assert splits['c2-m', 65] == 'validation'
    assert splits['h-xs', 10] == splits['d-m', 20] == 'test'
