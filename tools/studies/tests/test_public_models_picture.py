"""The figures in the title of the README's picture."""
import pytest

from tools.studies.public_models_picture import draw, fit


@pytest.mark.slow
def test_title_says_what_was_found(tmp_path):
    rows = fit(str(tmp_path))
    assert sum(map(len, rows.values())) == 218
    title = draw(rows, 'light').texts[0].get_text()
    assert title == ('28 public models, predicted from three losses: 3.3 '
                     'points off')
