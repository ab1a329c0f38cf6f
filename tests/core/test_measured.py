"""Facts that records of one model state differently."""
import pytest

from csv_plugin.core.measured import Measured, differing


@pytest.mark.parametrize('commits, found', [
    ((None, None), 'main of a, step-9 of b'),
    (('0a', None), 'main of a, step-9 of b'),
    (('0a', '1b'), 'main of a, step-9 of b'),
    (('0a', '0a'), ''),
])
def test_a_branch_and_a_tag_may_be_one_commit(commits, found):
    records = [
        Measured('m', file=file, facts=dict(revision=revision, commit=commit))
        for file, revision, commit in zip('ab', ('main', 'step-9'), commits)
    ]
    assert differing(records, 'revision', 'file') == found
