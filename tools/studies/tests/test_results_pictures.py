"""Which predictions the pictures of results count, and their titles."""
import numpy as np

from tools.studies.results_pictures import Panel, draw


def panel(name, predicted):
    real = np.array([40.0, 50.0])
    return Panel(name, real, np.array(predicted), real - 1, real + [1, -0.5])


PANELS = [panel('a', [41, 52]), panel('b', [41, 53]), panel('c', [42, 54])]


def test_title_says_what_was_found():
    assert draw('Two models', PANELS, 'dark').texts[0].get_text() == (
        'Two models:\noff by 2.2 points, 3 of 6 in their intervals')


def test_collections_have_their_own_errors_and_counts():
    figure = draw('Two models', PANELS, 'light', together=True)
    assert 'off by 1.5 to 3.0 points,' in figure.texts[0].get_text()
    assert figure.axes[0].get_title() == 'a\n1.5 points, 1 of 2'
