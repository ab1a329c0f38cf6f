"""What one rank of several sees of trainings with live predictions.

    torchrun --nproc_per_node 2 -m tests.extras.live.ranks FOLDER

trains a small model on CPUs, by data-parallel training of `Trainer`, without
predictions and with them. Then the parameters are shared out among the ranks,
and the first one tries to score them. Each rank writes what it saw to
`FOLDER/<rank>.json`.
"""
import json
import os
import sys
from pathlib import Path

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.live.live_predictions import losses_in_training
from csv_plugin.extras.live.trainer_callback import PredictionCallback
from tests.extras.live.training import (PREDICTOR, TEXTS, TOKENIZER, model,
                                        trainer, weights)


def train(folder, predict):
    """What this rank has seen at the end of a training."""
    steps = []
    callback = PredictionCallback(
        PREDICTOR, TEXTS, folder, 2, logs=[lambda _, step: steps.append(step)])
    learner = trainer(
        folder / 'run', [callback] if predict else [],
        ddp_backend='gloo',
        ddp_timeout=60)
    learner.train()
    return {
        'steps': learner.state.global_step,
        'weights': weights(learner.model).tolist(),
        'logged': steps
    }


def share_out():
    """Why the first rank cannot score a model of which it has a part."""
    learner = model()
    fully_shard(learner, mesh=init_device_mesh('cpu', (2, )))
    reason = ''
    if distributed.get_rank() == 0:
        try:
            losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
        except InputError as error:
            reason = str(error)
    ids = torch.arange(8)[None]
    learner(input_ids=ids, labels=ids).loss.backward()
    return reason


def main(folder):
    folder = Path(folder)
    torch.set_num_threads(1)
    seen = {
        'plain': train(folder / 'plain', False),
        'predicted': train(folder / 'predicted', True),
        'shared out': share_out()
    }
    (folder / f'{os.environ["RANK"]}.json').write_text(json.dumps(seen))
    distributed.destroy_process_group()


if __name__ == '__main__':
    main(sys.argv[1])
