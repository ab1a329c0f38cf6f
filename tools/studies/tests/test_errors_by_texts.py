"""The picture of errors by number of texts and sources."""
from dataclasses import replace

import numpy as np
import pytest

from tests.extras.pictures.layout import assert_readable, drawn_ticks
from tools.studies.errors_by_texts import TextsStudyRow, texts_picture

pytestmark = pytest.mark.slow


def some_rows() -> list[TextsStudyRow]:
    return [
        TextsStudyRow(series, n if series == 'texts' else 50,
                      5 if series == 'texts' else n, draw, method, models,
                      (1 + draw) / n * (0.1 if method == 'ridge' else 0.2))
        for series, numbers in (('texts', (10, 25, 250)),
                                ('sources', (1, 2, 5))) for n in numbers
        for draw in (0, 1) for method in ('ridge', 'all-token loss')
        for models in ('unseen series', 'larger sizes')
    ]


def test_texts_picture():
    figure = texts_picture(some_rows())
    assert_readable(figure)
    assert [axes.get_title() for axes in figure.axes] == [
        'unseen series', 'unseen series', 'larger sizes', 'larger sizes'
    ]
    assert [axes.get_xlabel() for axes in figure.axes
            ] == ['', '', 'texts of 5 sources', 'sources of 50 texts']
    for axes, numbers in zip(figure.axes, [(10, 25, 250), (1, 2, 5)] * 2):
        ticks = [text.get_text() for text in drawn_ticks(axes.xaxis)]
        assert ticks == list(map(str, numbers))
        for line, bars, part in zip(axes.lines, axes.collections, (0.1, 0.2)):
            np.testing.assert_allclose(line.get_ydata(),
                                       2**0.5 * part / np.array(numbers))
            ends = np.array(bars.get_segments())[:, :, 1]
            np.testing.assert_allclose(
                ends, np.outer(part / np.array(numbers), [1, 2]))
            assert np.abs(line.get_xdata() - np.arange(3)).max() < 0.2
    larger = [
        replace(r, mse=30 * r.mse) if r.models == 'larger sizes' else r
        for r in some_rows()
    ]
    limits = [axes.get_ylim() for axes in texts_picture(larger).axes]
    assert limits[0] == limits[1] != limits[2] == limits[3]
    for kind, (low, high) in zip(('unseen series', 'larger sizes'),
                                 limits[::2]):
        errors = [row.mse for row in larger if row.models == kind]
        assert min(errors) / 2 < low < min(errors)
        assert max(errors) < high < 2 * max(errors)
