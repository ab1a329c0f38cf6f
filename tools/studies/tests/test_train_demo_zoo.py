"""The zoo's trainer as a command."""
import json
from pathlib import Path

import pytest
import torch

from tools.studies import train_demo_zoo
from tools.studies.zoo import zoo_training
from tools.studies.zoo.zoo_files import checkpoint_folder

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]


def command(out, *models, jobs=1, tokens=15_000):
    return [
        '--models', *models, '--tokens',
        str(tokens), '--jobs',
        str(jobs), '--out',
        str(out)
    ]


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob('*') if path.is_file()
    }


def without_times(folder):
    manifest = json.loads((folder / 'manifest.json').read_text('utf-8'))
    for record in manifest['models'].values():
        del record['cpu_seconds']
    return manifest


@pytest.mark.long
def test_a_killed_run_goes_on(tmp_path, monkeypatch, capsys):

    class Killed(BaseException):
        pass

    def save(llama, folder, real=zoo_training._save):
        real(llama, folder)
        if folder == checkpoint_folder(tmp_path / 'killed', 'd-xs', 35):
            raise Killed

    whole = tmp_path / 'whole'
    assert train_demo_zoo.main(command(whole, 'd-s', 'd-xs')) == 0
    broken = tmp_path / 'killed'
    with monkeypatch.context() as patch:
        patch.setattr(zoo_training, '_save', save)
        with pytest.raises(Killed):
            train_demo_zoo.main(command(broken, 'd-s', 'd-xs'))
    assert {p.name
            for p in (broken / 'd' / 'xs').iterdir()} == {'10', '20', '35'}
    kept = checkpoint_folder(broken, 'd-s', 100).stat().st_mtime_ns
    capsys.readouterr()
    assert train_demo_zoo.main(command(broken, 'd-s', 'd-xs')) == 0
    assert '1 models trained, 1 were complete' in capsys.readouterr().out
    assert checkpoint_folder(broken, 'd-s', 100).stat().st_mtime_ns == kept
    resumed_files, whole_files = files(broken), files(whole)
    for zoo in (resumed_files, whole_files):
        del zoo[Path('manifest.json')]
    assert resumed_files == whole_files
    assert without_times(broken) == without_times(whole)
