"""What one rank of several sees of trainings with live predictions.

    torchrun --nproc_per_node 2 -m tests.extras.live.ranks FOLDER

trains a small model on CPUs, by data-parallel training of `Trainer`, without
predictions and with them, which go to the log of the trainer. Each rank writes
what it saw to `FOLDER/<rank>.json`.
"""
import json
import os
import sys
from functools import partial
from pathlib import Path

import torch
from torch import distributed

from tests.extras.live.training import (logged, predicting_trainer, trainer,
                                        weights)


def train(folder, make):
    """What this rank has seen at the end of a training."""
    learner = make(
        folder,
        ddp_backend='gloo',
        ddp_timeout=60,
        logging_strategy='steps',
        logging_steps=2)
    learner.train()
    return {
        'steps': learner.state.global_step,
        'weights': weights(learner.model).tolist(),
        'losses': logged(learner, 'loss'),
        'predicted': logged(learner, 'predicted/hard')
    }


def main(folder):
    folder = Path(folder)
    torch.set_num_threads(1)
    plain = train(folder / 'plain', trainer)
    predicted = train(folder / 'predicted',
                      partial(predicting_trainer, every=2))
    seen = {'plain': plain, 'predicted': predicted}
    (folder / f'{os.environ["RANK"]}.json').write_text(json.dumps(seen))
    distributed.destroy_process_group()


if __name__ == '__main__':
    main(sys.argv[1])
