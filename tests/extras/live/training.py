"""A small model that trains, and a predictor fitted on its texts."""
import torch
from transformers import Trainer, TrainingArguments

from csv_plugin.extras.live.trainer_callback import PredictionCallback
from tests.lm.models import make, tokenizer
from tests.runs import TEXTS, train

TOKENIZER = tokenizer()
PREDICTOR = train()


def model():
    """Dropout while it trains, so that random numbers count."""
    return make('gpt2').train()


def batches(n=32):
    """Rows of the texts themselves, which it soon knows."""
    ids = TOKENIZER('abcdef' * 3)['input_ids']
    return [{'input_ids': ids, 'labels': ids}] * n


def trainer(folder, callbacks=(), learner=None, **settings):
    arguments = TrainingArguments(
        str(folder), **{
            'max_steps': 6,
            'per_device_train_batch_size': 2,
            'save_strategy': 'no',
            'report_to': [],
            'use_cpu': True,
            'disable_tqdm': True,
            'learning_rate': 6e-3,
            'logging_strategy': 'no',
            'dataloader_pin_memory': False,
            **settings
        })
    return Trainer(
        learner or model(),
        arguments,
        train_dataset=batches(),
        processing_class=TOKENIZER,
        callbacks=list(callbacks))


def predicting_trainer(folder, every, **settings):
    """A trainer whose own log gets the predictions, as in docs/live.md."""
    learner = trainer(folder / 'run', **settings)
    learner.add_callback(
        PredictionCallback(
            PREDICTOR,
            TEXTS,
            folder,
            every,
            logs=[lambda curves, step: learner.log(curves)]))
    return learner


def logged(learner, name):
    """The logged values of a curve by their steps."""
    return {
        row['step']: row[name]
        for row in learner.state.log_history if name in row
    }


def weights(learner):
    return torch.cat(
        [p.detach().flatten().clone() for p in learner.parameters()])


__all__ = [
    'PREDICTOR', 'TEXTS', 'TOKENIZER', 'logged', 'model', 'predicting_trainer',
    'trainer', 'weights'
]
