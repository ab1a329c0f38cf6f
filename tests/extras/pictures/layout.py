"""Where the parts of a picture lie, in pixels."""
from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: Pixels by which boxes may meet: glyphs do not fill their boxes.
SLACK = 1.0


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """All words that are drawn, with their boxes."""
    renderer = figure.canvas.get_renderer()
    ticks = {
        id(label)
        for axes in figure.axes
        for axis in _both(axes)
        for label in axis.get_ticklabels(which='both')
    }
    words = [t for t in figure.findobj(Text) if id(t) not in ticks]
    words += [
        label for axes in figure.axes for axis in _both(axes)
        for label in drawn_ticks(axis)
    ]
    unique = {id(text): text for text in words}.values()
    return [(text.get_text(), text.get_window_extent(renderer))
            for text in unique if text.get_visible() and text.get_text()]


def drawn_ticks(axis) -> list[Text]:
    """Labels of the ticks inside the limits of an axis."""
    low, high = sorted(axis.get_view_interval())
    room = 0 if axis.get_scale() == 'log' else 1e-9 * (high - low)
    return [
        tick.label1 for tick in axis.get_major_ticks()
        if low - room <= tick.get_loc() <= high + room
    ]


def _both(axes):
    return axes.xaxis, axes.yaxis


def overlap(a: Bbox, b: Bbox) -> bool:
    return (min(a.x1, b.x1) - max(a.x0, b.x0) > SLACK
            and min(a.y1, b.y1) - max(a.y0, b.y0) > SLACK)


def assert_readable(figure: Figure) -> None:
    """Nothing is cut off, no words cover others, the legend no panel."""
    boxes = texts(figure)
    for words, box in boxes:
        assert figure.bbox.x0 - SLACK <= box.x0 <= box.x1 <= (figure.bbox.x1 +
                                                              SLACK), (words,
                                                                       box)
        assert figure.bbox.y0 - SLACK <= box.y0 <= box.y1 <= (figure.bbox.y1 +
                                                              SLACK), (words,
                                                                       box)
    for (words, box), (more_words, next_box) in combinations(boxes, 2):
        assert not overlap(box, next_box), (words, more_words)
    renderer = figure.canvas.get_renderer()
    for legend in figure.legends:
        for axes in figure.axes:
            assert not overlap(
                legend.get_window_extent(renderer),
                axes.get_tightbbox(renderer))
    for axes in figure.axes:
        box = axes.get_window_extent(renderer)
        assert box.width / figure.dpi > 1, box
        assert box.height / figure.dpi > 0.4, box
