"""docs/tutorial.md: its commands, its code and what it says of the result."""
import numpy as np
import pytest

import csv_plugin as cp
from tests.docs.blocks import ROOT, blocks
from tests.docs.running import run_page
from tests.lm import smollm2

PAGE = ROOT / 'docs/tutorial.md'


def rows(text):
    """Observed and predicted accuracy and interval, by benchmark.

    Marks behind intervals are left out.
    """
    cells = [line.split() for line in text.splitlines()]
    return {
        row[1]:
        [float(cell) for cell in (*row[2:4], *row[4].strip('(?)').split('-'))]
        for row in cells if row and row[0] == 'smollm2-135m' and len(row) == 5
    }


@pytest.mark.long
@pytest.mark.skipif(
    not smollm2.is_installed(),
    reason='SmolLM2 is not installed (see tests/lm/smollm2.py)')
@pytest.mark.filterwarnings('default')
def test_tutorial(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'tools').symlink_to(ROOT / 'tools')
    smollm2.save(tmp_path / 'smollm2-135m')
    names = {}
    run_page(PAGE, names)
    found = rows(capsys.readouterr().out)
    stated, = filter(None, (rows(block.text)
                            for block in blocks(PAGE) if block.kind == 'text'))
    assert [*found] == [*stated]
    # Processors round in different ways.
    np.testing.assert_allclose([*found.values()], [*stated.values()], atol=1)
    words = ' '.join(PAGE.read_text('utf-8').split())
    observed, predicted, low, high = np.array([*stated.values()]).T
    inside = ((low <= observed) & (observed <= high)).sum()
    assert f'{inside} of 12 contain the observed accuracy' in words
    error = np.abs(predicted - observed).mean()
    assert f'mean absolute error is {error:.1f} points' in words
    mean_loss = cp.fit(
        names['losses'],
        names['accuracies'],
        names['tables'].families,
        method='mean-loss')
    off = mean_loss.predict(names['mine']).values[0, :,
                                                  0] - names['observed'].values
    assert f'that of the mean loss is {100 * np.abs(off).mean():.1f}' in words
