"""Sets of runs that are stopped."""
import pytest

from tools.studies.stopping_study import outcome

ENDS = dict(a=.5, b=.7, c=.6)


def test_what_is_lost_and_saved():
    """The best run is stopped after a fifth, another one after a half."""
    stops = {.2: {'b'}, .5: {'a'}}
    found = outcome('abc', ENDS, (.2, .5), lambda names, share: stops[share])
    assert found == pytest.approx([1, .1, (.8 + .5) / 3])


def test_the_last_run_is_not_judged():
    asked = []

    def rule(names, share):
        asked.append(names)
        return {'a', 'c'} if len(asked) == 1 else set()

    assert outcome('abc', ENDS, (.2, .5),
                   rule) == pytest.approx([0, 0, 2 * .8 / 3])
    assert asked == [['a', 'b', 'c']]
