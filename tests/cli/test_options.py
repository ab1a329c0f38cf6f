"""Progress bars of verbs."""
import time

import pytest

from csv_plugin.cli.options import bar


def test_quick_loops_show_no_bar(capsys):
    assert list(bar('dumps')(['a', 'b'])) == ['a', 'b']
    assert capsys.readouterr().err == ''


@pytest.mark.slow
def test_loops_of_some_seconds_show_a_bar(capsys):
    seen = []
    for item in bar('dumps')(range(3)):
        seen.append(item)
        time.sleep(1.1)
    assert seen == [0, 1, 2]
    shown = capsys.readouterr().err
    assert 'dumps:  67%' in shown
    assert '3/3' in shown
