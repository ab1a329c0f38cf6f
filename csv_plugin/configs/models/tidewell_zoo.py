"""Small language models that were trained on the documents of Tidewell.

`held_out_models` ship with the package; no predictor was fitted to them.
`zoo_models(folder)` lists all checkpoints that tools/demo_maker trains.
"""
from itertools import product
from os.path import abspath, dirname, join

from csv_plugin.oc.perplexities import BatchedBaseModel

shipped_zoo = abspath(join(dirname(abspath(__file__)), '../../demo/zoo'))


def zoo_model(zoo: str, series: str, size: str, percent: int) -> dict:
    """Return the entry of a checkpoint, named such as `a-l@50`."""
    return dict(
        abbr=f'{series}-{size}@{percent}',
        type=BatchedBaseModel,
        path=join(abspath(zoo), series, size, str(percent)),
        tokenizer_path=join(abspath(zoo), series, 'tokenizer'),
        # Stored in fp16; fp32 is faster and more exact on a CPU.
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
    """Return entries of 7 checkpoints of each model, by default of all 36."""
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
