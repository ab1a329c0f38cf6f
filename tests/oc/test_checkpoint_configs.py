"""Checkpoint folders as models of a config, after a dump and in a run."""
from pathlib import Path

from mmengine.config import Config

from csv_plugin.demo import shipped
from tools.demo_maker.building import HELD_OUT, abbr

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / 'configs' / 'eval_csv_losses_only.py'
MINE = '''
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.models.checkpoints import checkpoint_models

models = checkpoint_models('runs/*/checkpoint-*', batch_size=3,
                           run_cfg=dict(num_gpus=2))
del checkpoint_models
'''


def after_dump(path):
    """A config as the processes of the host read it."""
    config = Config.fromfile(str(path), format_python_code=False)
    config.dump('dumped.py')
    return Config.fromfile('dumped.py', format_python_code=False)


def test_models_of_a_config(tmp_path):
    for step in (200, 1000):
        (tmp_path / f'runs/mix/checkpoint-{step}').mkdir(parents=True)
    Path('mine.py').write_text(MINE, 'utf-8')
    config = after_dump('mine.py')
    assert 'checkpoint_models' not in config
    assert [model.abbr for model in config.models] == ['mix@200', 'mix@1000']
    first = config.models[0]
    assert first.path == str(tmp_path / 'runs/mix/checkpoint-200')
    assert first.batch_size == 3 and first.run_cfg.num_gpus == 2
    assert str(first.type).endswith('HuggingFaceBaseModel')
    assert first.max_seq_len == 2048


def test_the_shipped_config():
    config = after_dump(CONFIG)
    assert [model.abbr for model in config.models
            ] == sorted(abbr(*checkpoint) for checkpoint in HELD_OUT)
    for model in config.models:
        assert Path(model.path).is_relative_to(shipped.ZOO)
        assert Path(model.tokenizer_path, 'tokenizer.json').is_file()
    [texts] = config.datasets
    assert texts.abbr.startswith('salience_texts-')
    assert 'checkpoint_models' not in config
