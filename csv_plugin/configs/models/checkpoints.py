"""Make model entries of checkpoints of pretraining runs, named `run@step`.

    with read_base():
        from csv_plugin.configs.models.checkpoints import checkpoint_models
    models = checkpoint_models('runs/*/checkpoint-*', max_seq_len=4096)
    del checkpoint_models

Python code in the folders of checkpoints does not run. For checkpoints that
need their own code, pass also

    model_kwargs=dict(trust_remote_code=True),
    tokenizer_kwargs=dict(trust_remote_code=True)
"""
from opencompass.models import HuggingFaceBaseModel


def checkpoint_models(pattern: str,
                      levels: int = 1,
                      **entry: object) -> list[dict]:
    """Return the model entries of all checkpoints, sorted by run and step.

    Args:
        pattern (str): Glob pattern of the folders of checkpoints, relative to
            the folder where OpenCompass is started. The name of such a folder
            ends with its step.
        levels (int): The number of parent folders of a checkpoint that make up
            the name of its run.
        entry (object): Keys to add to all entries, such as `tokenizer_path`,
            or to replace, such as `run_cfg`.

    Raises:
        InputError: There are no such folders, or a checkpoint comes with
            code that is not allowed to run.
    """
    # In a config, mmengine replaces imports at the top by lazy objects, which
    # cannot be called here.
    io = __import__('csv_plugin.io.model_paths', fromlist=['io'])
    oc = __import__('csv_plugin.oc.models', fromlist=['oc'])
    models = []
    for abbr, path in io.checkpoint_folders(pattern, levels).items():
        model = {
            'abbr': abbr,
            'type': HuggingFaceBaseModel,
            'path': str(path),
            'max_seq_len': 2048,
            'batch_size': 8,
            'run_cfg': dict(num_gpus=1),
            **entry
        }
        models.append(oc.without_own_code(model))
    return models
