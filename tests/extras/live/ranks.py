"""What one rank of several sees of trainings with live predictions.

    torchrun --nproc_per_node 2 -m tests.extras.live.ranks FOLDER

trains a small model on CPUs, by data-parallel training of `Trainer`, without
predictions and with them. Each rank writes what it saw to
`FOLDER/<rank>.json`.
"""
import json
import os
import sys
from pathlib import Path

import torch
from torch import distributed

from csv_plugin.extras.live.trainer_callback import PredictionCallback
from tests.extras.live.training import PREDICTOR, TEXTS, trainer, weights


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


def main(folder):
    folder = Path(folder)
    torch.set_num_threads(1)
    seen = {
        'plain': train(folder / 'plain', False),
        'predicted': train(folder / 'predicted', True)
    }
    (folder / f'{os.environ["RANK"]}.json').write_text(json.dumps(seen))
    distributed.destroy_process_group()


if __name__ == '__main__':
    main(sys.argv[1])
