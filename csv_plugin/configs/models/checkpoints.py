"""Checkpoints of pretraining runs as models, named `run@step`.

    with read_base():
        from csv_plugin.configs.models.checkpoints import checkpoint_models
    models = checkpoint_models('runs/*/checkpoint-*', max_seq_len=4096)
    del checkpoint_models
"""
from opencompass.models import HuggingFaceBaseModel


def checkpoint_models(pattern: str,
                      levels: int = 1,
                      **entry: object) -> list[dict]:
    """Entries of all checkpoints, each run's in the order of its steps.

    Args:
        pattern (str): Folders whose names end with a step, such as
            `runs/*/checkpoint-*`; a relative pattern starts where OpenCompass
            is started.
        levels (int): How many of the folders above name the run.
        entry (object): Further keys of the entries, such as `tokenizer_path`,
            and keys with other values, such as `run_cfg`.
    """
    # Imports at the top of a config are lazy: they give names, not modules.
    io = __import__('csv_plugin.io.checkpoint_folders', fromlist=['io'])
    return [{
        'abbr': abbr,
        'type': HuggingFaceBaseModel,
        'path': str(path),
        'max_seq_len': 2048,
        'batch_size': 8,
        'run_cfg': dict(num_gpus=1),
        **entry
    } for abbr, path in io.checkpoint_folders(pattern, levels).items()]
