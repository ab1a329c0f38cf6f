"""List small language models, trained on documents about an invented world.

`held_out_models` are the models that come with the package; no predictor was
fitted to them. `zoo_models(folder)` lists all checkpoints that
tools/demo_maker trains.
"""
from itertools import product
from os.path import abspath, dirname, join

from csv_plugin.oc.perplexities import BatchedBaseModel

shipped_zoo = abspath(join(dirname(abspath(__file__)), '../../demo/zoo'))


def zoo_model(zoo: str, series: str, size: str, percent: int) -> dict:
    """Return the model entry of a checkpoint, with a name such as `a-l@50`.

    `percent` is the finished share of the training.
    """
    folder = join(abspath(zoo), series)
    return dict(
        abbr=f'{series}-{size}@{percent}',
        type=BatchedBaseModel,
        path=join(folder, size, str(percent)),
        tokenizer_path=join(folder, 'tokenizer'),
        # Weights are stored in fp16; on a CPU, fp32 is faster and more exact.
        model_kwargs=dict(torch_dtype='torch.float', trust_remote_code=False),
        tokenizer_kwargs=dict(trust_remote_code=False),
        max_seq_len=512,
        batch_size=240,
        run_cfg=dict(num_gpus=0))


whole_zoo = [
    *product('abcdefgh', ['xs', 's', 'm', 'l']),
    *product(['a2', 'c2'], ['s', 'm']),
]


def zoo_models(zoo: str, models: list = whole_zoo) -> list[dict]:
    """Return the entries of 7 checkpoints of each model in `models`.

    `models` are pairs of series and size, by default all 36 models. `zoo` is
    the folder of the models.
    """
    entries = []
    for series, size in models:
        for percent in [10, 20, 35, 50, 65, 80, 100]:
            entries.append(zoo_model(zoo, series, size, percent))
    return entries


held_out_models = [
    zoo_model(shipped_zoo, 'a', 'l', 100),
    zoo_model(shipped_zoo, 'b', 'l', 50),
    zoo_model(shipped_zoo, 'c', 'l', 80),
    zoo_model(shipped_zoo, 'd', 's', 100),
    zoo_model(shipped_zoo, 'd', 'm', 65),
    zoo_model(shipped_zoo, 'd', 'l', 100),
    zoo_model(shipped_zoo, 'h', 'l', 100),
]
models = held_out_models
