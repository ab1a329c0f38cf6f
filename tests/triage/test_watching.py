"""Every file is read once, and again if it was half written."""
import os

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs import run_dumps
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.triage.watching import TriageJob, watch
from tests.runs import train
from tests.triage.pretraining import EARLIER, write_checkpoint, write_runs


@pytest.fixture(scope='module')
def predictor():
    return train()


@pytest.fixture
def job(predictor, tmp_path):
    new = write_runs(tmp_path / 'new', {'good': 1.8}, 2)
    old = write_runs(tmp_path / 'old', EARLIER)
    return TriageJob(predictor, [new], [old])


@pytest.fixture
def reads(monkeypatch):
    names = []
    read = run_dumps.read_dump

    def count(path):
        names.append(path.name.removesuffix('.safetensors'))
        return read(path)

    monkeypatch.setattr(run_dumps, 'read_dump', count)
    return names


def test_every_dump_is_read_once_and_a_refused_one_again(job, reads):
    assert job.update().runs[0].checkpoints == ('good@10', 'good@20')
    assert len(reads) == 2 + 7 * len(EARLIER)
    reads.clear()
    whole = write_checkpoint(job.dumps[0], 'good@35', 1.0).read_bytes()
    path = job.dumps[0] / 'good@35.safetensors'
    path.write_bytes(whole[:100])
    assert len(job.update().runs[0].checkpoints) == 2 and reads == ['good@35']
    path.write_bytes(whole)
    triage = job.update()
    assert triage.runs[0].checkpoints[-1] == 'good@35'
    assert not any('is left out' in note for note in triage.notes)
    job.update()
    assert reads == ['good@35'] * 2


def test_a_dump_that_is_written_anew_is_read_again(job, reads):
    worse = job.update().predictions.at('good@20', 'easy').value
    reads.clear()
    write_checkpoint(job.dumps[0], 'good@20', 3.0)
    better = job.update().predictions.at('good@20', 'easy').value
    assert reads == ['good@20'] and better > worse + .1


def test_a_dump_in_a_run_that_is_written_anew_is_read_again(
        predictor, tmp_path, reads):
    folder = tmp_path / 'run/predictions/good@20'
    folder.mkdir(parents=True)
    again = TriageJob(predictor, [tmp_path / 'run'])
    values = []
    for skill in (1.0, 1.8):
        path = write_checkpoint(tmp_path, 'dump', skill)
        name = dataset_abbr(predictor.columns.fingerprint)
        path.rename(folder / f'{name}.safetensors')
        values.append(again.update().predictions.at('good@20', 'easy').value)
    assert len(reads) == 2 and values[1] > values[0] + .1


def test_a_name_in_both_places_stands_for_the_file_that_stays(job):
    first = job.update()
    copy = write_checkpoint(job.history[0], 'good@20', 0.1)
    for _ in range(2):
        with pytest.raises(InputError, match="run 'good'.*not in the history"):
            job.update()
    copy.unlink()
    again = TriageJob(job.predictor, job.dumps, job.history)
    copy = write_checkpoint(again.history[0], 'good@20', 0.1)
    again.read_history()
    with pytest.raises(InputError, match="run 'good'.*not in the history"):
        again.update()
    copy.unlink()
    np.testing.assert_array_equal(again.update().predictions.values,
                                  first.predictions.values)


def test_a_history_without_a_usable_dump_is_refused(job):
    *rest, last = job.history[0].iterdir()
    for path in rest:
        path.write_bytes(b'half')
    assert job.read_history() == {*EARLIER}
    last.write_bytes(b'half')
    with pytest.raises(
            InputError,
            match=r'history: .*finished runs, found .*[^.]\. Give'):
        TriageJob(job.predictor, [], job.history).read_history()
    assert not TriageJob(job.predictor, []).read_history()


def test_watch_complains_of_each_error_once(job, tmp_path):
    """Of a missing folder, and of one that cannot be read; after success, too.
    """
    shown, complaints = [], []
    places, job.dumps = job.dumps, [tmp_path / 'later']
    looks = iter(range(7))

    def look():
        number = next(looks)
        if number in (2, 5):
            raise PermissionError(13, 'Permission denied', 'runs/a')
        if number == 3:
            os.rename(places[0], tmp_path / 'later')
        if number == 4:
            return None
        if number == 6:
            raise KeyboardInterrupt
        return job.update()

    watch(look, shown.append, complaints.append, interval=0.001)
    assert len(shown) == 1 and shown[0] and not [*looks]
    assert 'later' in complaints[0]
    assert complaints[1:] == ["[Errno 13] Permission denied: 'runs/a'"] * 2
